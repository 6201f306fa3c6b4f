"""Columns that number the rows are told by their names and their cells."""

import pyarrow as pa
import pytest

from drurank.tabular.indices import is_index, split_columns


@pytest.mark.parametrize(
    ("name", "cells", "expected"),
    [
        ("Unnamed: 0", [0, 1, 2], True),
        ("Unnamed: 0", ["0", "1", "2"], True),
        ("Unnamed: 0.1", [1, 2, 3], True),
        ("Unnamed: 0", [7, 3, 12], True),
        ("Unnamed: 0", [0, 1, 0, 1, 2], True),
        ("Unnamed: 12", ["5", "6", "7"], True),
        ("Unnamed: 0", [3, 3, 1], False),
        ("Unnamed: 0", ["0", "1", "b"], False),
        ("Unnamed: 0", ["0", "1", None], False),
        ("Unnamed: 0", ["0.5", "1", "2"], False),
        ("Unnamed: 0", [-1, 0, 1], False),
        ("Unnamed: 0", [0.0, 1.0, 2.0], False),
        ("index", [0, 1, 2], False),
        ("Unnamed", [0, 1, 2], False),
    ],
)
def test_an_index_has_no_name_of_its_own_and_numbers_rows(name, cells, expected):
    assert is_index(name, pa.chunked_array([cells])) == expected


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["train", "id_val", None, "train"], ["part"]),
        (["train", "id_val", "other"], []),
        (["id_val", "ood_test"], []),
        ([1, 2], []),
    ],
)
def test_an_earlier_split_is_told_by_its_words(cells, expected):
    assert split_columns(pa.table({"x": ["a"] * len(cells), "part": cells})) == expected
