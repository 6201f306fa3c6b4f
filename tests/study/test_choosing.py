"""Which criterion chooses well, on the candidates of a study."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from drurank.cli import main
from drurank.errors import InputError
from drurank.study import Study, criteria_concordance
from drurank.study.choosing import _compared, _less
from drurank.study.concordance import Concordance, concordance
from studies import table_of


def test_concordance_is_shown(results, capsys):
    main(["study", "concordance", "--folder", str(results)])
    said = capsys.readouterr().out
    assert "qdcg10" in said
    assert "12 candidates" in said
    assert "the same models: of each candidate the best checkpoint by qdcg10" in " ".join(said.split())
    assert "Ties have no interval, since redrawing groups breaks them." in " ".join(said.split())
    main(["study", "concordance", "--folder", str(results), "--checkpoints", "own"])
    assert "Each criterion orders its own best checkpoints." in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("checkpoints", "kept"), [("own", "worst"), ("same", "qdcg10")])
def test_concordance_of_a_study_is_that_of_its_candidates(results, checkpoints, kept):
    study = Study.load(results)
    (found,) = criteria_concordance(study, ["worst"], checkpoints=checkpoints, draws=20)
    chosen = np.array([result.counts(kept, "ood_val").value("worst") for result in study])
    tested = np.array([result.counts(kept, "ood_test").value("worst") for result in study])
    expected = concordance(chosen, tested)
    for name in ("distance", "cosine", "ndcg", "tied_pairs", "tied_models", "regret"):
        assert getattr(found.value, name) == pytest.approx(getattr(expected, name))
    for name in ("distance", "cosine", "ndcg"):
        assert getattr(found.low, name) < getattr(found.high, name)
    for name in ("tied_pairs", "tied_models"):
        assert np.isnan([getattr(found.low, name), getattr(found.high, name)]).all()


def test_the_same_models_are_ordered_by_every_criterion_by_hand(results, tmp_path):
    """Three models, of which each criterion kept another checkpoint; 10 rows a group."""
    counts = {  # by the criterion that kept it and the split: rows that are right, by model and group
        ("qdcg10", "ood_val"): [[5, 9, 9, 9], [6, 6, 9, 9], [6, 7, 7, 7]],
        ("qdcg10", "ood_test"): [[7, 9, 9, 9], [4, 9, 9, 9], [5, 9, 9, 9]],
        ("worst", "ood_val"): [[9, 9, 9, 9], [8, 8, 8, 8], [7, 7, 7, 7]],
        ("worst", "ood_test"): [[1, 9, 9, 9], [2, 9, 9, 9], [9, 9, 9, 9]],
    }
    shutil.copytree(results, tmp_path / "study")
    study = Study.load(tmp_path / "study")
    for model, result in enumerate(study.results[:3]):
        tables = [table_of(*which, np.array(right[model]), 10) for which, right in counts.items()]
        pa_parquet.write_table(pa.concat_tables(tables), result.folder / "groups.parquet")
    study = Study(study.folder, Study.load(study.folder).results[:3])
    same = {one.criterion: one.value for one in criteria_concordance(study, ["worst", "average"], draws=2)}
    # On test the worst groups are .7, .4 and .5: ranks 1, 3, 2. Worst on validation .5, .6, .6: ranks 3, 1, 1.
    assert same["worst"].distance == pytest.approx(np.sqrt(4 + 4 + 1))
    assert same["worst"].cosine == pytest.approx((3 + 3 + 2) / np.sqrt(11 * 14))
    assert same["worst"].tied_pairs == pytest.approx(1 / 3)
    assert same["worst"].tied_models == pytest.approx(2 / 3)
    assert same["worst"].regret == pytest.approx(0.7 - (0.4 + 0.5) / 2)
    # The average on validation is .8, .75 and .675: ranks 1, 2, 3.
    assert same["average"].distance == pytest.approx(np.sqrt(0 + 1 + 1))
    assert same["average"].tied_models == 0
    # Of the checkpoints kept by worst the order is upside down, on validation 1, 2, 3 and on test 3, 2, 1.
    by_worst, own = (
        criteria_concordance(study, ["worst"], draws=2, **how)[0].value
        for how in ({"by": "worst"}, {"checkpoints": "own"})
    )
    assert by_worst.distance == own.distance == pytest.approx(np.sqrt(8))
    assert own.regret == pytest.approx(0.9 - 0.1)


def test_checkpoints_that_cannot_be_compared(results):
    study = Study.load(results)
    for options, said in (
        ({"checkpoints": "other"}, "checkpoints is 'other'; give one of 'same', 'own'"),
        ({"checkpoints": "own", "by": "worst"}, "by='worst' goes with checkpoints='same'; leave it out"),
        ({"checkpoints": "own", "names": ["p10"]}, "has no checkpoint by 'p10'"),
        ({"by": "p10"}, "has no checkpoint by 'p10'"),
        ({"names": ["wrost"]}, "wrost"),
    ):
        with pytest.raises(InputError, match=said):
            criteria_concordance(study, draws=2, **options)


def test_differences_from_a_criterion_are_those_of_the_same_draws(results):
    study = Study.load(results)
    plain = {one.criterion: one for one in criteria_concordance(study, draws=40)}
    (found,) = criteria_concordance(study, draws=40, against="worst")
    assert found.criterion == "qdcg10"
    for name in ("distance", "ndcg", "tied_pairs", "tied_models", "regret"):
        expected = getattr(plain["qdcg10"].value, name) - getattr(plain["worst"].value, name)
        assert getattr(found.value, name) == pytest.approx(expected)
    with pytest.raises(InputError, match="against is 'p10', which is not among the criteria"):
        criteria_concordance(study, draws=2, against="p10")


def compared(counts, kept_by=None):
    """Each criterion on counts ``[n, m]`` of validation, which are those of test too; 100 rows a group."""
    first = next(iter(counts.values()))
    every = {name: (correct, np.full(correct.shape[1], 100)) for name, correct in counts.items()}
    candidates, groups = (np.arange(size) for size in first.shape)
    kept_by = kept_by or {name: name for name in counts}
    return _compared(kept_by, every, every, 1, candidates, groups, groups)


def test_a_criterion_against_itself_in_other_words_differs_by_nothing():
    correct = np.array([[20, 40], [30, 35], [40, 50]])
    found = _less(compared({"one": correct}, kept_by={"average": "one", "overall": "one"}), "overall")
    assert found == {"average": Concordance(0, 0, 0, 0, 0, 0, 0)}


def test_regret_is_counted_from_the_best_of_all_checkpoints():
    """Each criterion orders its own checkpoints perfectly, but one kept better ones."""
    found = compared({"average": np.array([[20], [30], [40]]), "worst": np.array([[60], [65], [70]])})
    assert found["worst"].regret == pytest.approx(0)
    assert found["average"].regret == pytest.approx(0.70 - 0.40)
