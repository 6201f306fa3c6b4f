"""Columns that are taken for something else than they look like are told, with the option that changes it."""

import numpy as np
import pyarrow as pa
import pytest

from drurank.errors import nearest
from drurank.tabular.gathering import gather_rows
from drurank.tabular.odd import oddity
from drurank.tabular.rules import find
from drurank.tabular.taken import columns_taken, sum_up

N = 200
RNG = np.random.default_rng(3)
ROLES = {"label": "y", "group": ["g"], "split": "s"}


def looked_at(path="t.csv", options=None, **columns):
    table = {
        "y": [str(row % 2) for row in range(N)],
        "g": [f"g{row % 10}" for row in range(N)],
        "s": ["train" if row % 10 < 6 else "ood_val" if row % 10 < 8 else "ood_test" for row in range(N)],
    }
    return gather_rows(path, pa.table({**columns, **table}), **{**ROLES, **(options or {})})


DAYS = [f"2021-{month:02}-{day:02}" for month in range(1, 11) for day in range(1, 21)]
ODD = {
    "dates": ({"when": DAYS}, "dates='when'"),
    "dates with times": ({"when": [f"{day} 12:0{row % 6}" for row, day in enumerate(DAYS)]}, "dates='when'"),
    "whole dates": ({"when": [day.replace("-", "") for day in DAYS]}, "dates='when' date_format='%Y%m%d'"),
    "dates of one order": ({"when": [f"{row % 28 + 1}.5.2021" for row in range(N)]}, "dates='when'"),
    "dates of either order": (
        {"when": [f"{row % 12 + 1}/5/2021" for row in range(N)]},
        "dates='when' with date_format='%d/%m/%Y' or date_format='%m/%d/%Y', since no cell tells day from month",
    ),
    "codes by name": ({"ZipCode": RNG.integers(10, 99, N).astype(str)}, "categorical='ZipCode'"),
    "codes by figures": ({"area": RNG.integers(10000, 10099, N).astype(str)}, "categorical='area'"),
    "codes by zeros": ({"area": [f"{row % 60:03}" for row in range(N)]}, "categorical='area'"),
    "categories": ({"word": [f"w{row % 120}" for row in range(N)]}, "exclude='word'"),
}


@pytest.mark.parametrize("case", ODD)
def test_odd_columns_are_marked_with_the_remedy(case):
    columns, remedy = ODD[case]
    data = looked_at(**columns)
    odd = oddity(data, data.features[0])
    assert odd is not None
    assert odd.remedy == remedy
    (told,) = [column for column in columns_taken(data) if column.odd]
    assert told.name in columns
    assert (told.odd, told.remedy) == (odd.looks, remedy)
    if case != "categories":
        assert any(remedy in finding.sentence for finding in find(data))


@pytest.mark.parametrize(("path", "error"), [("t.csv", True), ("t.parquet", False)])
def test_columns_of_different_marks_are_told_with_a_remedy_each_and_once(path, error):
    amount, share = [f"{row + 1},500.5" for row in range(N)], [f"{row % 100}.5%" for row in range(N)]
    data = looked_at(path, **{"a": amount, "b, c": amount, "d": share, "e": share, "f": DAYS, "g h": DAYS})
    found = {name: [] for name in ("unusable_columns", "marked_numbers", "dates")}
    for finding in find(data):
        if finding.code in found:
            found[finding.code].append((finding.names, finding.sentence))
    here, elsewhere = ("unusable_columns", "marked_numbers") if error else ("marked_numbers", "unusable_columns")
    assert [names for names, _ in found[here]] == [["a", "b, c"], ["d", "e"]]
    assert found[elsewhere] == []
    assert [names for names, _ in found["dates"]] == [["f", "g h"]]
    marked = ["thousands=','", "percents='d'" if error else "percents='d,e'"]
    for name, remedies in {here: marked, "dates": ["dates='f,g h'"]}.items():
        assert all(f"; give {remedy}, or" in told for remedy, (_, told) in zip(remedies, found[name], strict=True))


def test_text_of_numbers_in_a_typed_file_is_odd_too():
    data = looked_at("t.parquet", sum=[f"{row + 1},500" for row in range(N)])
    assert any("thousands=','" in finding.sentence and finding.severity == "warning" for finding in find(data))


@pytest.mark.parametrize(
    "columns",
    [
        {"x": RNG.normal(size=N).round(3).astype(str)},
        {"age": RNG.integers(18, 90, N).astype(str)},
        {"year": RNG.integers(1990, 2024, N).astype(str)},
        {"sex": RNG.choice(["m", "f"], N)},
        {"share": [f"0.{row}" for row in range(N)]},
        {"x": ["inf"] * N},
        {"x": [""] * N},
    ],
    ids=lambda columns: next(iter(columns)),
)
@pytest.mark.filterwarnings("error")
def test_usual_columns_are_not(columns):
    data = looked_at(**columns)
    assert oddity(data, data.features[0]) is None


def test_what_an_option_says_is_not_odd():
    data = looked_at(options={"categorical": ["area"]}, **ODD["codes by figures"][0])
    assert oddity(data, data.features[0]) is None


def test_dates_are_shown_as_dates_with_their_form():
    cells = [f"{row % 28 + 1}.5.2021" for row in range(N)]
    (finding,) = (finding for finding in find(looked_at(when=cells)) if finding.code == "dates")
    assert "'when' looks like a date, day first (%d.%m.%Y), and is taken as categories" in finding.sentence
    days = [str(18748 + row % 28) for row in range(N)]  # 2021-05-01 is 18748 days after 1970-01-01.
    data = looked_at(options={"numbers": ["when"], "dates": ["when"], "written": {"when": "%d.%m.%Y"}}, when=days)
    (told,) = [column for column in columns_taken(data) if column.name == "when"]
    assert (told.role, told.facts) == ("date", "2021-05-01 to 2021-05-28, day first (%d.%m.%Y)")
    assert "; dates: when (day first %d.%m.%Y)" in sum_up(columns_taken(data))


def test_the_order_of_the_labels_is_said():
    data = looked_at(x=RNG.normal(size=N).astype(str), c=["a", "b"] * (N // 2), **{"Unnamed: 0": range(N)})
    assert sum_up(columns_taken(data)) == (
        "label: y (class 0: '0', class 1: '1'); group: g; split: s; numbers: x; categories: c (2); "
        "not used: Unnamed: 0 (numbers the rows)"
    )


def test_a_name_with_a_comma_is_told_from_two():
    columns = {"income, yearly": RNG.normal(size=N).astype(str), "age": RNG.normal(size=N).astype(str)}
    data = looked_at(**columns)
    assert "; numbers: 'income, yearly', age" in sum_up(columns_taken(data))


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (["income, yearly", "age"], "known: 'income, yearly', age"),
        (["a; b", "label: y"], "known: 'a; b', label: y"),
        (["x ", "", "y"], "known: 'x ', '', y"),
    ],
)
def test_names_in_an_error_are_told_apart(known, said):
    assert nearest("zzzz", known) == said


def test_too_many_categories_are_refused_with_the_remedies():
    columns = {"a": [f"w{row}" for row in range(N)], "when": DAYS}
    data = looked_at(options={"most_categories": 100}, **columns)
    (found,) = [finding for finding in find(data) if finding.code == "too_many_categories"]
    assert found.severity == "error"
    assert found.names == ["a", "when"]
    assert "column 'a' has 120 categories in training, more than the 100" in found.sentence
    assert "(so does 'when'); give dates='when', since 'when' looks like dates; give encoding='embed' for 'a', or " in (
        found.sentence
    )
    assert "leave it out (exclude='a')" in found.sentence
    assert not [f for f in find(looked_at(**columns)) if f.code == "too_many_categories"]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"when": DAYS, "day": DAYS}, "; give dates='when,day', since 'when', 'day' look like dates"),
        (
            {"paid": [f"{row},000" for row in range(1, N + 1)]},
            "takes; give thousands=',', since 'paid' looks like numbers",
        ),
        ({"rate": [f"{row}%" for row in range(N)]}, "takes; give percents='rate', since 'rate' looks like numbers"),
        ({"rate": [f"{row},5" for row in range(N)]}, "takes; give decimal=',', since 'rate' looks like numbers"),
    ],
    ids=str,
)
def test_too_many_categories_that_look_like_something_are_told_what_reads_them(columns, said):
    found = find(looked_at("t.parquet", options={"most_categories": 100}, **columns))
    assert not {"marked_numbers", "dates"} & {one.code for one in found}
    (finding,) = (one for one in found if one.code == "too_many_categories")
    assert finding.sentence.endswith(said)
    assert "exclude" not in finding.sentence
