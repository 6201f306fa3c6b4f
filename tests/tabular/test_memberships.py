"""Which rows are in which groups, where groups overlap."""

import pyarrow as pa
import pytest

from drurank.errors import InputError
from drurank.tabular.memberships import read_members


def members(lists):
    return read_members("t", pa.table({"g": lists}), ["g"])


def test_names_in_lists_are_read_as_those_of_columns_are():
    found = members([["b ", "a"], [], ["\u0065\u0301", "b", "b"], ["\u00e9"]])
    assert found.groups == ["a", "b", "\u00e9"]
    pairs = sorted(zip(found.row.tolist(), found.code.tolist(), strict=True))
    assert pairs == [(0, 0), (0, 1), (2, 1), (2, 2), (3, 2)]


@pytest.mark.parametrize(
    ("lists", "said"),
    [
        ([["a"], None, None], "row 1 (the first is 0) has no list of groups, one of 2 such rows; write [] for a row"),
        ([["a"], ["b", None]], "row 1 (the first is 0) has a blank name in its list of groups; take it out"),
        ([["a", " "]], "row 0 (the first is 0) has a blank name in its list"),
    ],
)
def test_lists_that_lack_something_are_refused(lists, said):
    with pytest.raises(InputError) as refused:
        members(lists)
    assert said in str(refused.value)
