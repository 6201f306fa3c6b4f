"""Each way in which cells of numbers are written is told in the file beside an export, and explained."""

import datetime

import pytest

from drurank.data.encoding import NumericFeature
from drurank.export.encoding import encoding_of
from drurank.export.writings import explained, written_of
from drurank.methods import ERM
from drurank.tabular.converting import Reading
from drurank.tabular.writings import Marks
from small_tables import X, fitted, parquet, restored, written

CELLS = {
    "plain": ["1", "2", "3", "4", "5", "6", "7", "8"],
    "fees": ["1,805", "2,997", "368", "5,850", "1", "16,476", "2", "3"],
    "rate": [f"{80 + place}.5%" for place in range(8)],
    "day": [f"{13 + place}/02/2021" for place in range(8)],
}
OPTIONS = {"thousands": ",", "percents": "rate", "dates": "day"}


def csv(tmp_path):
    lines = [["label", "group", "split", *CELLS]]
    for row in range(8):
        cells = [f'"{cells[row]}"' for cells in CELLS.values()]
        lines.append([["no", "yes"][row // 2 % 2], "ab"[row % 2], ["train", "val"][row // 4], *cells])
    return written(tmp_path, "\n".join(",".join(line) for line in lines))


def test_columns_say_how_they_are_written_and_their_ends(tmp_path):
    about = encoding_of(fitted(csv(tmp_path), **OPTIONS), ERM(), ["no", "yes"], [])
    columns = {column["name"]: column for column in about["columns"]}
    days = (datetime.date(2021, 2, 13) - datetime.date(1970, 1, 1)).days
    expected = {
        "plain": ("plain", 2.5, 1, 4),
        "fees": ("marked", 2755, 368, 5850),
        "rate": ("percent", 82, 80.5, 83.5),
        "day": ("%d/%m/%Y", days + 1.5, days, days + 3),
    }
    keys = ("written", "mean", "minimum", "maximum")
    found = {name: tuple(column[key] for key in keys) for name, column in columns.items()}
    assert found == {name: (how, *map(pytest.approx, numbers)) for name, (how, *numbers) in expected.items()}
    how = [line for line in about["how"] if line.startswith("written ")]
    assert [line.partition(":")[0] for line in how] == [f"written {name}" for name, *_ in expected.values()]
    assert any(line.startswith("minimum, maximum: ") for line in about["how"])


def test_of_an_older_checkpoint_the_options_say_it(tmp_path):
    table = fitted(path := csv(tmp_path), **OPTIONS)
    older = {**table.state_dict()}
    older["numeric"] = [
        {key: value for key, value in feature.items() if key not in ("minimum", "maximum")}
        for feature in older["numeric"]
    ]
    older["numeric"][2]["written"] = "plain"
    about = encoding_of(restored(older, path, tmp_path, **OPTIONS), ERM(), ["no", "yes"], [])
    assert [column["written"] for column in about["columns"]] == ["plain", "marked", "percent", "%d/%m/%Y"]
    assert {column["minimum"] for column in about["columns"]} == {None}


def test_without_numbers_nothing_is_said_of_them(tmp_path):
    about = encoding_of(fitted(parquet(tmp_path, c=[*"abababab"])), ERM(), ["no", "yes"], [])
    assert not [line for line in about["how"] if line.startswith(("written", "number", "minimum"))]
    about = encoding_of(fitted(parquet(tmp_path, x=X)), ERM(), ["no", "yes"], [])
    assert [line for line in about["how"] if line.startswith(("written ", "minimum"))][1].startswith("written plain: ")


@pytest.mark.parametrize(
    ("how", "reading", "said"),
    [
        ("plain", {}, "written plain: a number as it is, in text with a point before its decimals: 1234.5 or 1e3."),
        ("percent", {}, "a percent sign, which is left out: 83.5% is 83.5, and not 0.835."),
        ("percent", {"marks": Marks(None, ",")}, ": 83,5% is 83.5, and not 0.835."),
        ("marked", {"marks": Marks(",")}, "',' between thousands, which is left out, and '.' before its decimals: "),
        ("marked", {"marks": Marks(",")}, "1,234.5 is 1234.5."),
        ("marked", {"marks": Marks(".")}, "'.' between thousands, which is left out, and ',' before its decimals: "),
        ("marked", {"marks": Marks(".")}, "1.234,5 is 1234.5."),
        ("marked", {"marks": Marks(None, ",")}, "a number with ',' before its decimals: 1234,5 is 1234.5."),
        ("marked", {"marks": Marks(" ")}, r"with ' ' or '\xa0' or '\u2009' or '\u202f' between thousands"),
        ("marked", {}, "which the checkpoint alone does not say; export its run."),
        ("%m/%d/%Y", {}, "written %m/%d/%Y: a date, month first (%m/%d/%Y), or with the year first"),
        ("%d.%m.%Y", {}, "x is the days since 1970-01-01, with the time of day as a fraction, in UTC where no zone"),
        ("date", {}, "written date: a date or time; x is the days since 1970-01-01"),
        ("date", {"dates": ["d"], "date_format": "%b %Y"}, "as text of the form %b %Y (of Python's strptime); x is"),
        (None, {}, "written null: not known, since the checkpoint is of an older version."),
    ],
)
def test_each_way_is_explained(how, reading, said):
    line = explained(how, Reading(**{"marks": Marks(), **reading}))
    assert said in line
    assert line.endswith(".")


@pytest.mark.parametrize(
    ("kept", "known"), [("plain", "plain"), ("percent", "percent"), ("%d/%m/%Y", "%d/%m/%Y"), (None, None)]
)
def test_what_the_checkpoint_says_counts(kept, known):
    reading = Reading(Marks(), percents=["p"], dates=["d"])
    assert written_of(NumericFeature("x", 0, 1, False, kept), reading) == known
    assert written_of(NumericFeature("p", 0, 1, False, "plain"), reading) == "percent"
    assert written_of(NumericFeature("d", 0, 1, False, "plain"), reading) == "date"
