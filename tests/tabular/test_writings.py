"""How numbers are written is recognised by all cells, and read in one way or not at all."""

import pytest

from drurank.errors import InputError
from drurank.tabular.writings import Marks, writing_of

WRITTEN = [
    (["1,234", "12", "NA"], ("thousands", ",")),
    (["-1,234,567.5", "7.25"], ("thousands", ",")),
    (["12,34,567"], ("thousands", ",")),
    (["1'234", "99"], ("thousands", "'")),
    (["1\u00a0234", "99"], ("thousands", " ")),
    (["1.234,5", "2"], ("thousands", ".")),
    (["1,5", "2", "-0,25"], ("decimal", ",")),
    (["36.2%", " 4 %", ""], ("percent", "%")),
    (["2021-03-04", "2021-3-5"], ("date", "-")),
    (["2021-03-04 05:06:07", "2021-03-04T05:06Z"], ("date", "-")),
    (["3/4/2021", "13/4/21"], ("date", "-")),
    (["04.03.2021 7:05"], ("date", "-")),
    (["1,234", "word"], None),
    (["12%", "12"], None),
    (["2021-03-04", "unknown"], None),
    (["1.234", "5.678"], None),
    (["1", "2.5", "1e3"], None),
    (["a", "b"], None),
    (["", "NA"], None),
    ([], None),
]


@pytest.mark.parametrize(("texts", "expected"), WRITTEN, ids=str)
def test_writing_is_that_of_all_cells(texts, expected):
    assert writing_of(texts) == expected


@pytest.mark.parametrize(
    ("options", "text", "expected"),
    [
        ({"thousands": ","}, "1,234.5", 1234.5),
        ({"thousands": ","}, "-12,345,678", -12345678),
        ({"thousands": ","}, "12", 12),
        ({"thousands": ","}, "1,23", None),
        ({"thousands": ","}, "1,2345", None),
        ({"thousands": "."}, "1.234,5", 1234.5),
        ({"thousands": "."}, "1.5", None),
        ({"thousands": " "}, "1\u202f234", 1234),
        ({"thousands": " ", "decimal": ","}, "1 234,5", 1234.5),
        ({"decimal": ","}, "1,5", 1.5),
        ({"decimal": ","}, "1.5", None),
        ({"decimal": ","}, ",5", 0.5),
        ({}, "1e3", 1000),
        ({}, "1,5", None),
    ],
)
def test_numbers_are_read_by_their_marks(options, text, expected):
    assert Marks(**options).read(text) == expected


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"thousands": ";"}, "thousands is ';'"),
        ({"decimal": "-"}, "decimal is '-'; give ',' or '.'"),
        ({"thousands": ",", "decimal": ","}, "thousands and decimal are both ','"),
    ],
)
def test_marks_that_cannot_be(options, said):
    with pytest.raises(InputError, match=said):
        Marks(**options)
