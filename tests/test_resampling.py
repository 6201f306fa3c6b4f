"""Rows drawn again."""

import numpy as np
import pytest

from drurank.resampling import LEAST, MOST, across, draws_of, variances, within

STRATA = np.array([2, 0, 2, 2, 0, 5])


def test_within_draws_each_row_of_a_stratum_alike():
    drawn = np.array(list(within(STRATA, 6000, np.random.default_rng(0))))
    assert (STRATA[drawn] == STRATA).all()
    for place, stratum in enumerate(STRATA):
        rows = np.flatnonzero(stratum == STRATA)
        share = np.bincount(drawn[:, place], minlength=6)[rows] / len(drawn)
        assert abs(share - 1 / len(rows)).max() < 0.03


def test_across_only_changes_the_places_of_rows():
    drawn = np.array(list(across(None, 6, 6000, np.random.default_rng(0))))
    assert (np.sort(drawn, axis=1) == np.arange(6)).all()
    assert abs(np.bincount(drawn[:, 2], minlength=6) / 6000 - 1 / 6).max() < 0.03


def test_across_within_classes_leaves_the_class_at_each_place():
    classes = np.array([True, False, True, True, False, False])
    drawn = np.array(list(across(classes, 6, 6000, np.random.default_rng(0))))
    assert (np.sort(drawn, axis=1) == np.arange(6)).all()
    assert (classes[drawn] == classes).all()
    assert abs(np.bincount(drawn[:, 1], minlength=6)[[1, 4, 5]] / 6000 - 1 / 3).max() < 0.03


def test_of_many_rows_there_are_fewer_draws():
    assert draws_of(1000, 10) == MOST
    assert draws_of(10**9, 10) == LEAST
    assert draws_of(1000, 10**9) == LEAST
    assert LEAST < draws_of(200_000, 10) < MOST


def test_variance_of_large_groups_is_their_own():
    rng = np.random.default_rng(0)
    rows = rng.normal(0, [[1.0], [3.0]], (2, 4000))
    draws = np.array([[one[rng.integers(0, 4000, 4000)].mean() for one in rows] for _ in range(2000)])
    assert variances(draws, np.array([4000, 4000])) == pytest.approx(rows.var(axis=1, ddof=1) / 4000, rel=0.1)


def test_variance_of_a_single_row_is_that_of_all():
    # Two groups of 101 rows with a variance of 2 / 101 * 100 / 101, as the bootstrap has it, and one of a single row.
    draws = np.random.default_rng(0).standard_normal((40000, 2)) * np.sqrt(200 / 101**2)
    found = variances(np.column_stack([draws, np.full(40000, 7.0)]), np.array([101, 101, 1]))
    assert found == pytest.approx([2 / 101, 2 / 101, 2.0], rel=0.05)


def test_of_single_rows_nothing_is_known():
    assert np.isnan(variances(np.zeros((5, 3)), np.ones(3))).all()
