"""Columns of text that an option makes numbers of, and cells that keep them from it."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from drurank.errors import InputError
from drurank.tabular.converting import Reading
from drurank.tabular.writings import Marks


def converted(cells, kept=(), marks=None, name="t.csv", trained=None, **options):
    table = pa.table({"x": cells, "code": ["1,000"] * len(cells), "code 2": ["1%"] * len(cells)})
    reading = Reading(Marks(**(marks or {})), **options)
    kept = ["code", "code 2", *kept] if "code 2" not in options.get("percents", ()) else ["code", *kept]
    made = reading.convert(name, table, kept, trained=trained and {"x": trained}).table
    assert made["code"].to_pylist() == table["code"].to_pylist()
    return made["x"]


@pytest.mark.parametrize(
    ("cells", "options", "expected"),
    [
        (["1,234", "7", None, "n/a"], {"marks": {"thousands": ","}}, [1234, 7, None, None]),
        (["1.000", "2.000", "3"], {"marks": {"thousands": "."}}, [1000, 2000, 3]),
        (["1,5", "", "2"], {"marks": {"decimal": ","}}, [1.5, None, 2]),
        (["36.2%", " 4 %"], {"percents": ["x"]}, [36.2, 4]),
        (["36,2%"], {"percents": ["x"], "marks": {"decimal": ","}}, [36.2]),
        (["1970-01-02", None], {"dates": ["x"]}, [1, None]),
        ([datetime.datetime(1970, 1, 2, 12), None], {"dates": ["x"]}, [1.5, None]),
        ([datetime.datetime(1970, 1, 2, 12, tzinfo=datetime.UTC)], {"dates": ["x"]}, [1.5]),
        (pa.array(np.array(["1970-01-02T00:00:00.000000001"], "M8[ns]")), {"dates": ["x"]}, [1]),
        ([datetime.date(1970, 1, 3)], {"dates": ["x"]}, [2]),
        ([19700103, 19700104], {"dates": ["x"], "date_format": "%Y%m%d"}, [2, 3]),
    ],
    ids=str,
)
def test_cells_become_numbers(cells, options, expected):
    made = converted(cells, **options)
    assert made.type == pa.float64()
    assert made.to_pylist() == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("cells", [["a", "b"], ["1", "2"], ["1,000", "a", "b"], [1, 2]], ids=str)
def test_columns_of_other_cells_stay_as_they_are(cells):
    assert converted(cells, marks={"thousands": ","}).to_pylist() == cells


@pytest.mark.parametrize(
    ("cells", "options", "said"),
    [
        (
            ["1,000", "2,000", "3;0"],
            {"marks": {"thousands": ","}},
            r"row 2 .*'3;0' is not .*; write one as 1,234",
        ),
        (["1%", "2"], {"percents": ["x"]}, r"row 1 .*'2' is not a percentage, as '36.2%'; write 2%$"),
        (
            ["1%", "x"],
            {"percents": ["x"]},
            r"'x' is not a percentage, as '36.2%'; write a number and %, or leave it",
        ),
        (
            [0.5, 0.25],
            {"percents": ["x"]},
            r"row 0 .*: 0.5 is not a percentage, as '36.2%'; write 0.5%, or, to take the numbers of this column as "
            r"they are, give percents=None$",
        ),
        (
            ["36.2", "4"],
            {"percents": ["code 2", "x"], "name": "t.csv"},
            r"'36.2' is not a percentage, .* as they are, give percents='code 2'$",
        ),
        (["2021-01-01", "soon"], {"dates": ["x"]}, r"row 1 .*'soon' is not a date .*date_format="),
        (
            ["1-2-2021 7:00"],
            {"dates": ["x"]},
            r"row 0 .*'1-2-2021 7:00' is not a date that can be read in one way only; give "
            r"date_format='%d-%m-%Y %H:%M' if the day is first, or date_format='%m-%d-%Y %H:%M' if the month is",
        ),
        (["13.1.21"], {"dates": ["x"]}, r"'13.1.21' is not a date .*, or give date_format='%d.%m.%y'"),
        (["2023-02-28", "2023-02-30"], {"dates": ["x"]}, r"row 1 .*'2023-02-30' is a day or time that does not exist"),
        (["31.4.2023"], {"dates": ["x"]}, r"row 0 .*'31.4.2023' is a day or time that does not exist; correct it"),
        (
            ["2023-02-30"],
            {"dates": ["x"], "date_format": "%Y-%m-%d"},
            r"'2023-02-30' is a day or time that does not exist",
        ),
        (
            ["2023-02-30"],
            {"dates": ["x"], "date_format": "%d.%m.%Y"},
            r"'2023-02-30' is not a date of the form '%d.%m.%Y'",
        ),
        (["1"], {"dates": ["z"]}, "no column 'z'"),
        (["1"], {"dates": ["code"]}, "dates names the column 'code', which is no number"),
    ],
    ids=str,
)
def test_cells_that_cannot_be_read_are_named(cells, options, said):
    with pytest.raises(InputError, match=said):
        converted(cells, **options)


DAY_FIRST, POINTS = {"dates": ["x"], "trained": "%d/%m/%Y"}, {"thousands": "."}


@pytest.mark.parametrize(
    ("cells", "options", "expected"),
    [
        (["1/2/1970", "2.1.1970", "1970-01-03", ""], DAY_FIRST, [31, 1, 2, None]),
        (["1/2/1970"], {"dates": ["x"], "trained": "%m/%d/%Y"}, [1]),
        (["1/2/1970"], {**DAY_FIRST, "date_format": "%m/%d/%Y"}, [1]),
        (["1/2/1970", "13/1/1970"], {"dates": ["x"], "trained": "plain"}, [31, 12]),
        (["1.234"], {"marks": POINTS, "trained": "marked"}, [1234]),
        (["7", "8,5"], {"marks": POINTS, "trained": "marked"}, [7, 8.5]),
    ],
    ids=str,
)
def test_other_rows_are_read_as_those_of_training(cells, options, expected):
    assert converted(cells, **options).to_pylist() == pytest.approx(expected, nan_ok=True)


def test_plain_numbers_of_training_get_no_marks_later():
    assert converted(["1.234"], marks=POINTS, trained="plain").to_pylist() == ["1.234"]


@pytest.mark.parametrize(
    ("cells", "options", "said"),
    [
        (
            ["1/2/2021", "1-13-2021"],
            DAY_FIRST,
            r"row 1 .*'1-13-2021' is not a date of training's form, day first \(%d/%m/%Y\); write it so, or, if all of "
            r"these dates are written like it, give date_format='%m-%d-%Y'",
        ),
        (["1/2/2021"], {"dates": ["x"], "trained": "%Y-%m-%d"}, r"training's form, year first \(%Y-%m-%d\)"),
        (["31.4.2023"], DAY_FIRST, "'31.4.2023' is a day or time that does not exist"),
        (["soon"], DAY_FIRST, r"'soon' is not a date of training's form, day first \(%d/%m/%Y\); write it so$"),
        (["1.5"], {"marks": POINTS, "trained": "marked"}, r"'1.5' is not a number with .* as those of training are"),
        (["1.5"], {"marks": {"decimal": ","}, "trained": "marked"}, "'1.5' is not a number with decimal=','"),
    ],
    ids=str,
)
def test_other_rows_that_are_written_otherwise_are_named(cells, options, said):
    with pytest.raises(InputError, match=said):
        converted(cells, **options)


SHARES = r"such cells look like shares: write {} \(and {} only if so little is meant\)$"
PERCENT_ALREADY = "if these numbers are percent already, give percents=None$"


@pytest.mark.parametrize(
    ("cells", "marks", "said"),
    [
        (["0.835", "1", "", "0"], {}, "row 0 .*" + SHARES.format("83.5%", "0.835%")),
        ([0.835, None, 0.07], {}, "row 0 .*" + SHARES.format("83.5%", "0.835%")),
        ([None, 0.07], {}, "row 1 .*" + SHARES.format("7%", "0.07%")),
        ([1, 0], {}, SHARES.format("100%", "1%")),
        (["0,835"], {"decimal": ","}, SHARES.format("83,5%", "0,835%")),
        ([0.835], {"decimal": ","}, SHARES.format("83,5%", "0.835%")),
        (["90%", "0.835"], {}, "row 1 .*" + SHARES.format("83.5%", "0.835%")),
        (["0.835", "83.5"], {}, "row 0 .*" + PERCENT_ALREADY),
        (["83.5", "1.0"], {}, "row 0 .*" + PERCENT_ALREADY),
        ([83.5, 95.1], {}, r"row 0 .*: 83.5 is .*" + PERCENT_ALREADY),
        (["-0.2", "0.1"], {}, PERCENT_ALREADY),
        (["90%", "0.8", "83.5"], {}, r"row 1 .*'0.8' is not a percentage, as '36.2%'; write 0.8%$"),
        (["high", "0.5"], {}, r"row 0 .*'high' is not .*; write a number and %, or leave it blank$"),
    ],
    ids=str,
)
def test_of_numbers_without_a_percent_sign_all_say_what_they_are(cells, marks, said):
    with pytest.raises(InputError, match=said):
        converted(cells, marks=marks, percents=["x"], trained="percent")


@pytest.mark.parametrize(
    ("cells", "options", "written"),
    [
        (["36.2%"], {"percents": ["x"]}, "percent"),
        (["1/13/2021"], {"dates": ["x"]}, "%m/%d/%Y"),
        (["1/2/2021"], {"dates": ["x"], "date_format": "%d/%m/%Y"}, "date"),
        ([datetime.date(1970, 1, 3)], {"dates": ["x"]}, "date"),
        ([datetime.datetime(1970, 1, 2)], {"dates": ["x"]}, "date"),
        (["1,000", "2"], {"marks": {"thousands": ","}}, "marked"),
        (["1", "2"], {"marks": {"thousands": ","}}, None),
    ],
    ids=str,
)
def test_how_cells_are_written_is_known(cells, options, written):
    marks = Marks(**options.pop("marks", {}))
    made = Reading(marks, **options).convert("t.csv", pa.table({"x": cells}), [])
    assert made.written.get("x") == written


@pytest.mark.parametrize("trained", ["plain", "percent", "marked", "date"])
def test_what_says_no_order_of_dates_is_none(trained):
    assert converted(["1/2/1970", "13/1/1970"], dates=["x"], trained=trained).to_pylist() == [31, 12]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"percents": ["a"], "dates": ["a"]}, "both name the column 'a'"),
        ({"date_format": "%Y"}, "date_format is '%Y', and no dates are named"),
    ],
)
def test_options_that_contradict(options, said):
    with pytest.raises(InputError, match=said):
        Reading(Marks(), **options)
