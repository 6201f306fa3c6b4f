"""Which features determine the label."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drurank.errors import InputError
from drurank.tabular.rules.leaks import determines
from small_tables import X, fitted, parquet, written


@pytest.mark.parametrize(
    ("value", "label", "leaks"),
    [
        ([1, 1, 2, 2], [0, 0, 1, 1], True),
        ([1, 1, 2, 2], [0, 0, 1, 0], False),
        ([5, 5, 5, 5], [0, 0, 1, 1], False),
        ([1, 2, 3, 4], [0, 0, 1, 1], False),
        ([1, 1, 3, 4], [0, 0, 1, 1], True),
        ([1, 1, 3, 4, 5], [0, 0, 1, 1, 1], False),
        ([1, 1, 2, 2, 5, 6, 7, 8], [0, 0, 1, 1, 1, 0, 1, 0], True),
        ([math.nan, math.nan, 1.0, 1.0], [0, 0, 1, 1], True),
        ([math.nan, math.nan, 1.0, 1.0], [0, 1, 1, 1], False),
        ([-1, -1, 0, 0], [2, 2, 0, 0], True),
    ],
    ids=[
        "each value one label",
        "a value with two",
        "constant",
        "all distinct",
        "half of the rows repeat",
        "less than half",
        "half of eight",
        "missing is a value",
        "missing has two labels",
        "codes with missing",
    ],
)
def test_a_leak_is_a_value_with_one_label_in_half_of_the_rows(value, label, leaks):
    assert determines(np.array(value), np.array(label)) is leaks


@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 2)), min_size=1, max_size=15))
def test_the_rule_of_leaks_as_written_in_the_specification(rows):
    value, label = zip(*rows, strict=True)
    labels_of = {v: {y for w, y in rows if w == v} for v in value}
    repeated = sum(value.count(v) >= 2 for v in value)
    expected = all(len(found) == 1 for found in labels_of.values()) and repeated >= len(rows) / 2
    assert determines(np.array(value), np.array(label)) is expected


def test_a_leak_is_looked_for_in_training_alone_and_may_be_allowed(tmp_path):
    leak = ["n", "y", "n", "y", "y", "n", "n", "n"]
    with pytest.raises(InputError, match="column 'c' determines the label 'label'"):
        fitted(parquet(tmp_path, x=X, c=leak))
    assert fitted(parquet(tmp_path, x=X, c=leak), allow_leaks="c").sizes.in_features == 4
    leak[0] = "y"
    assert fitted(parquet(tmp_path, x=X, c=leak)).sizes.in_features == 4


def test_numbers_leak_by_value_not_by_spelling(tmp_path):
    text = "x,label,group,split\n1,no,g,train\n1.0,yes,g,train\n2,no,g,train\n2,no,g,train\n3,no,g,val\n"
    assert fitted(written(tmp_path, text)).sizes.in_features == 1
