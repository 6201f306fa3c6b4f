"""Which criterion chooses well, on the candidates of a study."""

import numpy as np
import pytest

from drurank.cli import main
from drurank.errors import InputError
from drurank.study import Study, criteria_concordance
from drurank.study.choosing import _compared, _less
from drurank.study.statistics import Concordance, concordance


def test_concordance_is_shown(results, capsys):
    main(["study", "concordance", "--folder", str(results)])
    said = capsys.readouterr().out
    assert "qdcg10" in said
    assert "12 candidates" in said


def test_concordance_of_a_study_is_that_of_its_candidates(results):
    study = Study.load(results)
    (found,) = criteria_concordance(study, ["worst"], draws=20)
    chosen = np.array([result.validation("worst") for result in study])
    tested = np.array([result.counts("worst", "ood_test").value("worst") for result in study])
    expected = concordance(chosen, tested)
    for name in ("distance", "cosine", "ndcg", "ties", "regret"):
        assert getattr(found.value, name) == pytest.approx(getattr(expected, name))
    for name in ("distance", "cosine", "ndcg"):
        assert getattr(found.low, name) < getattr(found.high, name)


def test_differences_from_a_criterion_are_those_of_the_same_draws(results):
    study = Study.load(results)
    plain = {one.criterion: one for one in criteria_concordance(study, draws=40)}
    (found,) = criteria_concordance(study, draws=40, against="worst")
    assert found.criterion == "qdcg10"
    for name in ("distance", "ndcg", "ties", "regret"):
        expected = getattr(plain["qdcg10"].value, name) - getattr(plain["worst"].value, name)
        assert getattr(found.value, name) == pytest.approx(expected)
    with pytest.raises(InputError, match="against is 'p10', which is not among the criteria"):
        criteria_concordance(study, draws=2, against="p10")


def test_a_criterion_against_itself_in_other_words_differs_by_nothing():
    counts = (np.array([[20, 40], [30, 35], [40, 50]]), np.full((3, 2), 100))
    both, every = {"average": counts, "overall": counts}, np.arange(3)
    found = _less(_compared(both, both, every, np.arange(2), np.arange(2)), "overall")
    assert found == {"average": Concordance(0, 0, 0, 0, 0, 0)}


def test_a_candidate_that_is_drawn_twice_is_no_tie_with_itself():
    counts = {"average": (np.array([[1, 2, 3], [3, 3, 4], [2, 4, 4]]), np.full((3, 3), 5))}
    every = np.arange(3)
    found = _compared(counts, counts, np.array([0, 0, 1]), every, every)["average"]
    assert found.ties == 0
    assert found.tau == pytest.approx(1)


def test_regret_is_counted_from_the_best_of_all_checkpoints():
    """Each criterion orders its own checkpoints perfectly, but one kept better ones."""
    size, every = np.full((3, 1), 100), np.arange(3)
    counts = {"average": (np.array([[20], [30], [40]]), size), "worst": (np.array([[60], [65], [70]]), size)}
    found = _compared(counts, counts, every, np.array([0]), np.array([0]))
    assert found["worst"].regret == pytest.approx(0)
    assert found["average"].regret == pytest.approx(0.70 - 0.40)
