"""Whether a difference is real, and how well a criterion chooses."""

import numpy as np
import pytest
from scipy import stats

from drurank.errors import InputError
from drurank.study import Study
from drurank.study.choosing import _compared, _less, criteria_concordance
from drurank.study.statistics import Concordance, bootstrapped_t, concordance, paired_difference
from drurank.study.tables import _column


def simulated(rng, seeds, groups, size, apart=0.0, by_seed=0.005):
    """Counts of two methods on the same groups, of which the second is worse by ``apart``."""
    true = np.clip(rng.normal(0.8, 0.05, groups), 0.05, 0.95)
    size = np.full((seeds, groups), size)
    # Of one seed, chance in training cannot be told from a difference.
    of_seed = rng.normal(0, by_seed if seeds > 1 else 0, (2, seeds, 1))
    shifts = (of_seed[0], of_seed[1] - apart)
    return [(rng.binomial(size, np.clip(true + shift, 0, 1)), size) for shift in shifts]


@pytest.mark.parametrize(
    ("name", "seeds", "groups", "by_seed"),
    [
        *((name, 3, 60, 0.005) for name in ("average", "p10", "worst", "qdcg10")),
        *((name, 1, 60, 0) for name in ("average", "p10", "worst", "qdcg10")),
        ("average", 3, 60, 0.02),
        ("average", 2, 40, 0.02),
        ("average", 5, 40, 0.02),
        ("worst", 2, 40, 0.02),
    ],
)
def test_equals_are_called_different_in_at_most_7_percent(name, seeds, groups, by_seed):
    rng = np.random.default_rng(5)
    pairs = (simulated(rng, seeds, groups, 50, by_seed=by_seed) for _ in range(200))
    found = [paired_difference(*pair, name, draws=200) for pair in pairs]
    assert np.mean([difference.is_distinguishable for difference in found]) <= 0.07


def test_a_difference_of_five_points_is_found_in_most_cases():
    rng = np.random.default_rng(5)
    pairs = (simulated(rng, 3, 60, 50, apart=0.05) for _ in range(100))
    found = [paired_difference(*pair, "average", draws=200) for pair in pairs]
    assert np.mean([difference.is_distinguishable for difference in found]) >= 0.8


def test_a_difference_that_is_real_is_found():
    rng = np.random.default_rng(0)
    one, other = simulated(rng, 3, 200, 100, apart=0.05)
    found = paired_difference(one, other, "average")
    assert found.is_distinguishable
    assert found.low < 0.05 < found.high
    expected = np.mean(one[0] / one[1]) - np.mean(other[0] / other[1])
    assert found.value == pytest.approx(expected)


def test_the_standard_error_of_one_seed_is_that_of_the_mean_over_groups():
    rng = np.random.default_rng(0)
    one, other = simulated(rng, 1, 300, 40)
    found = paired_difference(one, other, "average", draws=4000)
    each = (one[0] / one[1] - other[0] / other[1])[0]
    error = each.std(ddof=1) / np.sqrt(len(each))
    expected = stats.t.ppf(0.975, len(each) - 1) * error
    assert (found.high - found.low) / 2 == pytest.approx(expected, rel=0.05)


def test_the_bootstrapped_t_test_of_a_mean_is_the_paired_t_test():
    rng = np.random.default_rng(0)
    one, other = simulated(rng, 1, 300, 40, apart=0.01)
    found = bootstrapped_t(one, other, "average", draws=4000)
    test = stats.ttest_rel((one[0] / one[1])[0], (other[0] / other[1])[0])
    assert found.value == pytest.approx(np.mean(one[0] / one[1] - other[0] / other[1]))
    assert stats.t.isf(found.p / 2, 299) == pytest.approx(abs(test.statistic), rel=0.05)
    interval = test.confidence_interval()
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), abs=0.001)


def test_concordance_by_hand():
    # Validation 3 > 2 > 1, test 1 > 3 > 2: ranks (3, 2, 1) and (1, 3, 2).
    found = concordance(np.array([0.1, 0.2, 0.3]), np.array([0.9, 0.5, 0.7]))
    assert found.distance == pytest.approx(np.sqrt(4 + 1 + 1))
    assert found.cosine == pytest.approx((3 * 1 + 2 * 3 + 1 * 2) / 14)
    # Gains by test rank 1, 2, 3 are 2, 1, 0; in the criterion's order 1, 0, 2.
    assert found.ndcg == pytest.approx((1 + 0 + 2 / 2) / (2 + 1 / np.log2(3)))
    assert found.tau == pytest.approx(-1 / 3)
    assert found.ties == 0
    assert found.regret == pytest.approx(0.9 - 0.7)


def test_concordance_of_the_same_order_and_of_a_criterion_that_is_better_low():
    found = concordance(np.array([3.0, 2.0, 1.0]), np.array([0.1, 0.2, 0.3]), higher_is_better=False)
    assert (found.distance, found.tau, found.regret) == (0, pytest.approx(1), 0)
    assert found.cosine == pytest.approx(1)
    assert found.ndcg == pytest.approx(1)


def test_concordance_of_ties_by_hand():
    # The criterion ties the first two: mean rank 1.5; test ranks 1, 3, 2 (gains 2, 0, 1).
    found = concordance(np.array([0.5, 0.5, 0.1]), np.array([0.9, 0.5, 0.7]))
    assert found.distance == pytest.approx(np.sqrt(0.25 + 2.25 + 1))
    mean = (2 + 0) / 2
    assert found.ndcg == pytest.approx((mean + mean / np.log2(3) + 1 / 2) / (2 + 1 / np.log2(3)))
    assert found.ties == pytest.approx(1 / 3)
    assert found.regret == pytest.approx(0.9 - (0.9 + 0.5) / 2)
    assert found.tau == pytest.approx(stats.kendalltau([0.5, 0.5, 0.1], [0.9, 0.5, 0.7]).statistic)


def test_counts_are_compared_like_with_like():
    with pytest.raises(InputError, match="compare like with like"):
        paired_difference((np.ones((2, 3)), np.ones((2, 3))), (np.ones((2, 4)), np.ones((2, 4))), "average")


def test_bold_is_only_what_is_distinguishable():
    rng = np.random.default_rng(0)
    for apart, bold in ((0.1, True), (0.0, False)):
        one, other = simulated(rng, 2, 100, 50, apart=apart)
        counts = {"A": one, "B": other}
        values = {name: tuple((correct / count).mean(axis=1)) for name, (correct, count) in counts.items()}
        cells = _column("average", values, counts, "paired")
        assert cells[max(values, key=lambda name: np.mean(values[name]))].is_distinguishable == bold


def test_bold_is_told_from_every_other_and_not_from_the_second_alone():
    rng = np.random.default_rng(0)
    one, other = simulated(rng, 3, 100, 50, apart=0.1)
    right, size = one[0].copy(), one[1]
    right[0], right[1], right[2] = right[0] * 0.2, right[1] * 0.9, right[2]  # last, and by one seed
    counts = {"A": one, "B": other, "C": (right, size)}
    values = {name: tuple((correct / count).mean(axis=1)) for name, (correct, count) in counts.items()}
    cells = _column("average", values, counts, "paired")
    assert [cells[name].rank for name in "ABC"] == [1, 2, 3]
    assert not cells["A"].is_distinguishable
    assert not cells["B"].is_like_best
    assert cells["C"].is_like_best
    assert not any(cell.is_second for cell in cells.values())
    del counts["C"], values["C"]
    cells = _column("average", values, counts, "paired")
    assert cells["A"].is_distinguishable
    assert cells["B"].is_second


def test_nothing_of_one_seed_is_bold():
    one, other = simulated(np.random.default_rng(0), 1, 100, 50, apart=0.2)
    counts = {"A": one, "B": other}
    values = {name: tuple((correct / count).mean(axis=1)) for name, (correct, count) in counts.items()}
    assert not _column("average", values, counts, "paired")["A"].is_distinguishable


def test_concordance_of_a_study_is_that_of_its_candidates(undisturbed):
    results = list(Study.load(undisturbed))
    (found,) = criteria_concordance(Study.load(undisturbed), ["worst"], draws=20)
    chosen = np.array([result.validation("worst") for result in results])
    tested = np.array([result.counts("worst", "ood_test").value("worst") for result in results])
    expected = concordance(chosen, tested)
    for name in ("distance", "cosine", "ndcg", "ties", "regret"):
        assert getattr(found.value, name) == pytest.approx(getattr(expected, name))
    for name in ("distance", "cosine", "ndcg"):
        assert getattr(found.low, name) < getattr(found.high, name)


def test_differences_from_a_criterion_are_those_of_the_same_draws(undisturbed):
    study = Study.load(undisturbed)
    plain = {one.criterion: one for one in criteria_concordance(study, draws=40)}
    (found,) = criteria_concordance(study, draws=40, against="worst")
    assert found.criterion == "qdcg10"
    for name in ("distance", "ndcg", "ties", "regret"):
        expected = getattr(plain["qdcg10"].value, name) - getattr(plain["worst"].value, name)
        assert getattr(found.value, name) == pytest.approx(expected)
    with pytest.raises(InputError, match="against is 'p10', which is none of the criteria"):
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


def test_the_last_digit_of_a_sum_makes_no_order():
    values = np.array([0.1 + 0.2, 0.3, 0.6])
    assert values[0] != values[1]
    assert concordance(values, values).ties == pytest.approx(1 / 3)


def test_one_group_of_one_seed_tells_nothing_and_seeds_that_agree_do():
    one, other = ((np.array([[right]]), np.array([[100]])) for right in (90, 50))
    assert paired_difference(one, other, "average").p == 1
    # The same group is the worst with each of ten seeds: exchanged by lot it is so in 2 of 1,024 cases.
    right = np.full((10, 100), 45_000)
    first, second = right.copy(), right.copy()
    first[:, 7], second[:, 7] = 30_000, 10_000
    found = paired_difference(
        (first, np.full_like(first, 50_000)), (second, np.full_like(first, 50_000)), "worst", draws=5000
    )
    assert found.value == pytest.approx(0.4)
    assert found.p < 0.05
    assert 0 < found.low < 0.4 < found.high


def test_two_draws_are_the_fewest():
    one = (np.ones((2, 3)), np.full((2, 3), 2))
    with pytest.raises(InputError, match="draws is 1; give a whole number of 2 or more"):
        paired_difference(one, one, "average", draws=1)
