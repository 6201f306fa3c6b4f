"""The power of Fisher's exact test, against scipy's own test and binomials, pair by pair."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import binom, fisher_exact

from drurank.tabular import power
from drurank.tabular.power import approximate_difference, fisher_rejects, smallest_difference


@cache
def rejected(n):
    """The pairs of counts that scipy's test calls different at 5 %."""
    return np.array(
        [[fisher_exact([[a, n - a], [b, n - b]]).pvalue <= 0.05 for b in range(n + 1)] for a in range(n + 1)]
    )


def power_of(pairs, better, worse):
    n = len(pairs) - 1
    return binom.pmf(range(n + 1), n, better) @ pairs @ binom.pmf(range(n + 1), n, worse)


@pytest.mark.parametrize("count", [1, 3, 4, 10, 17])
def test_what_is_rejected_is_what_scipy_rejects(count):
    assert fisher_rejects(count).tolist() == rejected(count).tolist()


def test_ten_rows_do_not_show_fifty_points():
    assert power_of(fisher_rejects(10), 0.8, 0.3) == pytest.approx(0.43, abs=0.005)
    assert smallest_difference(10, 0.8) > 0.5


@pytest.mark.parametrize("count", [8, 10, 30])
@pytest.mark.parametrize("accuracy", [0.8, 0.895, 0.99])
def test_the_difference_has_the_power_that_is_said(count, accuracy):
    difference, pairs = smallest_difference(count, accuracy), rejected(count)
    assert power_of(pairs, accuracy, accuracy - difference) == pytest.approx(0.8, abs=1e-4)
    assert power_of(pairs, accuracy, accuracy - difference - 0.001) > 0.8
    assert power_of(pairs, accuracy, accuracy - difference + 0.001) < 0.8


@pytest.mark.parametrize(("count", "accuracy"), [(1, 0.8), (3, 0.99), (4, 0.8), (6, 0.8), (7, 0.5)])
def test_tiny_groups_show_nothing(count, accuracy):
    assert power_of(rejected(count), accuracy, 0.0) < 0.8
    assert smallest_difference(count, accuracy) is None


@pytest.mark.parametrize("accuracy", [0.5, 0.8, 0.95, 0.99, 0.999])
def test_the_approximation_errs_by_what_its_text_says(monkeypatch, accuracy):
    most = 0.0005 if accuracy <= 0.99 else 0.0015
    for count in (1000, 1500):
        monkeypatch.setattr(power, "EXACT", count)
        exact = smallest_difference.__wrapped__(count, accuracy)
        assert abs(approximate_difference(count, accuracy) - exact) <= most + 5e-5


def test_very_large_groups_follow_the_normal():
    # (1.959964 + 0.841621) sqrt(2 0.8 0.2 / 10^6), but for terms of the order of the difference itself.
    assert smallest_difference(10**6, 0.8) == pytest.approx(0.00158482, rel=0.005)
