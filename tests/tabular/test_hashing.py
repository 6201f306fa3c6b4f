"""Copies of a row are one unit, unless chance makes them."""

import numpy as np
import pyarrow as pa

from drurank.tabular.hashing import copies_as_one, hash_rows


def units(columns, group, aside=()):
    """The unit of each row of a table that is in the order of its groups."""
    rows = pa.table({"g": group, **columns})
    order, first, unit = copies_as_one(rows, group, np.zeros_like(group), hash_rows(rows, 0), aside=["g", *aside])
    np.testing.assert_array_equal(unit[first], np.arange(len(first)))
    np.testing.assert_array_equal(group[order], np.sort(group))
    of_row = np.empty_like(unit)
    of_row[order] = unit
    return of_row


def test_copies_within_a_group_are_one():
    x = np.random.default_rng(0).normal(size=40)
    x[1], x[25] = x[0], x[2]
    unit = units({"x": x, "z": -x}, np.repeat([0, 1], 20))
    assert unit[0] == unit[1]
    assert len(np.unique(unit)) == 39  # row 25 is a copy of row 2 in another group


def test_a_column_set_aside_tells_no_copies_apart():
    x = np.random.default_rng(0).normal(size=40)
    x[1] = x[0]
    columns = {"x": x, "number": np.arange(40)}
    group = np.repeat([0, 1], 20)
    assert len(np.unique(units(columns, group))) == 40
    unit = units(columns, group, aside=["number"])
    assert (unit[0] == unit[1], len(np.unique(unit))) == (True, 39)


def test_pairs_that_chance_makes_are_different_rows():
    group = np.repeat(np.arange(4), 100)
    x = np.random.default_rng(0).integers(0, 5, 400)
    assert len(np.unique(units({"x": x}, group))) == 400
