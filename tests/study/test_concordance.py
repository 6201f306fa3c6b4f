"""How well a criterion chooses, by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from drurank.errors import InputError
from drurank.study.concordance import concordance


def test_concordance_by_hand():
    # Validation 3 > 2 > 1, test 1 > 3 > 2: ranks (3, 2, 1) and (1, 3, 2).
    found = concordance(np.array([0.1, 0.2, 0.3]), np.array([0.9, 0.5, 0.7]))
    assert found.distance == pytest.approx(np.sqrt(4 + 1 + 1))
    assert found.cosine == pytest.approx((3 * 1 + 2 * 3 + 1 * 2) / 14)
    # Gains by test rank 1, 2, 3 are 2, 1, 0; in the criterion's order 1, 0, 2.
    assert found.ndcg == pytest.approx((1 + 0 + 2 / 2) / (2 + 1 / np.log2(3)))
    assert found.tau == pytest.approx(-1 / 3)
    assert (found.tied_pairs, found.tied_models) == (0, 0)
    assert found.regret == pytest.approx(0.9 - 0.7)


def test_concordance_of_the_same_order_and_of_a_criterion_that_is_better_low():
    found = concordance(np.array([3.0, 2.0, 1.0]), np.array([0.1, 0.2, 0.3]), higher_is_better=False)
    assert (found.distance, found.tau, found.regret) == (0, pytest.approx(1), 0)
    assert found.cosine == pytest.approx(1)
    assert found.ndcg == pytest.approx(1)


def test_concordance_of_ties_by_hand():
    # The criterion ties the first two: ranks 1, 1, 3; test ranks 1, 3, 2 (gains 2, 0, 1).
    found = concordance(np.array([0.5, 0.5, 0.1]), np.array([0.9, 0.5, 0.7]))
    assert found.distance == pytest.approx(np.sqrt(0 + 4 + 1))
    assert found.cosine == pytest.approx((1 + 3 + 6) / np.sqrt(11 * 14))
    mean = (2 + 0) / 2
    assert found.ndcg == pytest.approx((mean + mean / np.log2(3) + 1 / 2) / (2 + 1 / np.log2(3)))
    assert found.tied_pairs == pytest.approx(1 / 3)
    assert found.tied_models == pytest.approx(2 / 3)
    assert found.regret == pytest.approx(0.9 - (0.9 + 0.5) / 2)
    assert found.tau == pytest.approx(stats.kendalltau([0.5, 0.5, 0.1], [0.9, 0.5, 0.7]).statistic)


def test_the_last_digit_of_a_sum_makes_no_order():
    values = np.array([0.1 + 0.2, 0.3, 0.6])
    assert values[0] != values[1]
    assert concordance(values, values).tied_pairs == pytest.approx(1 / 3)


def test_the_share_of_models_that_are_tied_is_the_papers():
    """7 of 16, its 43.75 % for the 10th percentile: a triple and two pairs, which are 5 of 120 pairs."""
    values = np.array([1, 1, 1, 2, 2, 3, 3, *range(4, 13)])
    found = concordance(values, np.arange(16.0))
    assert found.tied_models == 0.4375
    assert found.tied_pairs == pytest.approx(5 / 120)


@pytest.mark.parametrize(
    ("chosen_by", "tested", "named"), [([1, math.nan], [1, 2], "chosen_by"), ([1, 2], [1, math.inf], "tested")]
)
def test_candidate_without_a_value_is_refused(chosen_by, tested, named):
    with pytest.raises(InputError, match=f"{named} of candidate 1 is"):
        concordance(np.array(chosen_by), np.array(tested))
