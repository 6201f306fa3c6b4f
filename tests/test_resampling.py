"""Rows drawn again."""

import numpy as np

from drurank.resampling import LEAST, MOST, across, draws_of, within

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
