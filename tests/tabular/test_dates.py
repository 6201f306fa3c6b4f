"""The form of dates is the only one that fits all cells, and they are read by it or not at all."""

import pytest

from drurank.tabular.dates import DAY, date_reader, days_of, either_form, form_of, forms_of_cell

MARCH_4 = 18690
"""Days from 1970-01-01 to 2021-03-04: 51 years with 13 leap days, and 62 days."""
DATES = [
    (["2021-03-04"], "%Y-%m-%d", [MARCH_4]),
    (["2021/3/4 6:00"], "%Y/%m/%d", [MARCH_4 + 0.25]),
    (["2021-03-04T00:00:00+06:00"], "%Y-%m-%d", [MARCH_4 - 0.25]),
    (["2021-03-04 12:00:00.5"], "%Y-%m-%d", [MARCH_4 + 0.5 + 0.5 / DAY]),
    (["4/3/2021", "13/3/2021"], "%d/%m/%Y", [MARCH_4, MARCH_4 + 9]),
    (["3/4/2021", "3/13/2021"], "%m/%d/%Y", [MARCH_4, MARCH_4 + 9]),
    (["04.03.2021 06:00", "31.03.2021"], "%d.%m.%Y", [MARCH_4 + 0.25, MARCH_4 + 27]),
    (["2021-03-04", "3-14-2021"], "%m-%d-%Y", [MARCH_4, MARCH_4 + 10]),
    (["3/4/2021", "5/6/2021"], None, [None, None]),
    (["13/4/2021", "3/14/2021"], None, [None, None]),
    (["2021-02-30", "word"], "%Y-%m-%d", [None, None]),
    (["word"], None, [None]),
    (["13/4/21"], "%d/%m/%y", [None]),
]


@pytest.mark.parametrize(("texts", "form", "expected"), DATES, ids=str)
def test_dates_are_days_where_they_can_be_read_in_one_way_only(texts, form, expected):
    assert form_of(texts) == form
    assert [date_reader(form)(text) for text in texts] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        ("4/3/2021", "%d/%m/%Y", MARCH_4),
        ("4/3/2021", "%m.%d.%Y", MARCH_4 + 31 - 1 - 1 + 2 - 1),  # 3 April is 30 days later
        ("4/13/2021", "%d/%m/%Y", None),
        ("4/3/2021", "%Y-%m-%d", None),
        ("2021-03-04", "%d/%m/%Y", MARCH_4),
    ],
)
def test_cells_are_read_in_the_order_of_another_column(text, form, expected):
    assert date_reader(form)(text) == expected


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [("3/4/2021", "%d/%m/%Y", MARCH_4 + 30), ("4 Mar 2021", "%d %b %Y", MARCH_4), ("20210304", "%Y%m%d", MARCH_4)],
)
def test_a_whole_form_is_that_of_strptime(text, form, expected):
    assert days_of(text, form) == expected


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("3/4/2021", ["%d/%m/%Y", "%m/%d/%Y"]),
        ("3-14-2021", ["%m-%d-%Y"]),
        ("13.4.21", ["%d.%m.%y"]),
        ("3.4.2021 7:05", ["%d.%m.%Y %H:%M", "%m.%d.%Y %H:%M"]),
        ("13/4/2021 7:05:06 PM", ["%d/%m/%Y %I:%M:%S %p"]),
        ("2021-03-04T07:05:06.5+01:00", ["%Y-%m-%dT%H:%M:%S.%f%z"]),
        ("word", []),
        ("32.32.2021", []),
    ],
)
def test_forms_of_a_cell_read_it(text, forms):
    assert forms_of_cell(text) == forms
    assert all(days_of(text, form) is not None for form in forms)


def test_either_form_has_the_separator_of_the_cells():
    assert either_form(["3-4-2021"]) == ("%d-%m-%Y", "%m-%d-%Y")
    assert either_form(["2021-03-04"]) is None
