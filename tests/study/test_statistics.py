"""Whether a difference is more than chance, and how well a criterion chooses."""

import numpy as np
import pytest
from scipy import stats

from drurank.errors import InputError
from drurank.study.statistics import bootstrapped_t, concordance, paired_difference
from simulations import simulated


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
    # A test that calls 13 % of equals different passes here in 4 of 100 cases, one that calls 5 % in 87.
    rng = np.random.default_rng(5)
    pairs = (simulated(rng, seeds, groups, 50, by_seed=by_seed) for _ in range(100))
    found = [paired_difference(*pair, name, draws=100) for pair in pairs]
    assert np.mean([difference.is_distinguishable for difference in found]) <= 0.07


def test_a_difference_of_five_points_is_found_in_most_cases():
    # A test that finds 65 % of such differences passes here in 2 of 100 cases.
    rng = np.random.default_rng(5)
    pairs = (simulated(rng, 3, 60, 50, apart=0.05) for _ in range(50))
    found = [paired_difference(*pair, "average", draws=100) for pair in pairs]
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
        (first, np.full_like(first, 50_000)), (second, np.full_like(first, 50_000)), "worst", draws=1000
    )
    assert found.value == pytest.approx(0.4)
    assert found.p < 0.05
    assert 0 < found.low < 0.4 < found.high


def test_two_draws_are_the_fewest():
    one = (np.ones((2, 3)), np.full((2, 3), 2))
    with pytest.raises(InputError, match="draws is 1; give a whole number of 2 or more"):
        paired_difference(one, one, "average", draws=1)
