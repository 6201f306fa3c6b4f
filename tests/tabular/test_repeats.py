"""Rows that are repeated change no verdict but the one that says so."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from drurank.data import Table
from drurank.tabular.gathering import gather_rows
from drurank.tabular.inspection import inspect_rows
from faults import CASES, ROLES, look, put, rows_of, sound

REPORTS = Path(__file__).resolve().parents[3] / "shared" / "reports" / "21"


def taken(table, rows):
    return {name: [cells[row] for row in rows] for name, cells in table.items()}


def balanced(table):
    """Training rows of label 1 another nine times."""
    rows = range(len(table["y"]))
    return taken(table, [*rows, *[row for row in rows if (table["s"][row], table["y"][row]) == ("train", "1")] * 9])


REPEATS = {
    "twice": lambda table: taken(table, [*range(len(table["y"]))] * 2),
    "ten times": lambda table: taken(table, [*range(len(table["y"]))] * 10),
    "each row three times in a row": lambda table: taken(table, np.repeat(range(len(table["y"])), 3)),
    "balanced": balanced,
}
ROWS = {"copied_rows", "copies_across_splits"}
"""Findings that are named by places of rows."""


def bootstrap(table, seed):
    return taken(table, np.random.default_rng(seed).integers(0, len(table["y"]), len(table["y"])))


def verdict(table, **options):
    findings = look(table, **options).findings
    return {(f.code, f.severity, *(() if f.code in ROWS else sorted(f.names))) for f in findings}


def without_copies(found):
    return {entry for entry in found if entry[0] != "copied_rows"}


def words_among_numbers(table):
    table["z"] = [f"word {row}" if row % 5 < 2 else str(row + 0.5) for row in range(720)]
    put(table, "y", {row: "1" if row % 5 < 2 else "2" for row in range(720)})


def nearly_determines(table):
    table["near"] = [f"like {y}" for y in table["y"]]
    put(table, "near", dict.fromkeys([row for row in range(360) if table["y"][row] == "2"][:6], "like 1"))


def few_values(table):
    table["x"] = [int(10 * value) % 7 for value in table["x"]]


def id_beside_a_leak_of_hardly_shared_values(table):
    """The rows that share a value of ``a`` are fewer than half; in copies without regard to the ID they seem more."""
    rng = np.random.default_rng(5)
    y = np.array([label == "1" for label in table["y"]])
    table["a"] = (np.round((rng.normal(size=720) + 9 * y) * 110) / 110).tolist()
    table["id"] = [*range(720)]


MORE = {
    "an ID beside a leak of hardly shared values": id_beside_a_leak_of_hardly_shared_values,
    "nothing": lambda t: None,
    "groups of five rows": lambda t: t.update(g=[f"{t['s'][row]} {row // 5}" for row in range(720)]),
    "groups of one row": lambda t: t.update(g=[f"row {row}" for row in range(720)]),
    "labels with few rows": lambda t: put(t, "y", dict.fromkeys((3, 4, 40), "1 or so")),
    "numbers of rows": lambda t: t.update(id=[*range(720)]),
    "free text": lambda t: t.update(note=[f"note {row}" for row in range(720)]),
    "words among numbers": words_among_numbers,
    "a code for missing labels": lambda t: put(t, "y", dict.fromkeys(range(0, 300, 30), "1000")),
    "more cells missing than not": lambda t: put(t, "x", {row: None for row in range(720) if t["y"][row] != "1"}),
    "many unseen categories": lambda t: put(t, "c", {r: f"new {r % 9}" for r in range(540, 720) if t["y"][r] != "1"}),
    "copies that chance makes": few_values,
    "nearly determines": nearly_determines,
}
PLANTED = {**{kind: plant for kind, (plant, _) in CASES.items()}, **MORE}


@pytest.mark.parametrize(
    ("case", "repeat"), [(case, repeat) for case in PLANTED for repeat in (REPEATS if case in MORE else ("twice",))]
)
def test_the_verdict_on_repeated_rows_is_that_on_the_rows(case, repeat):
    table = sound()
    PLANTED[case](table)
    repeated = verdict(REPEATS[repeat](table))
    assert without_copies(repeated) == without_copies(verdict(table))
    told = case != "unusable_columns" and len(table["y"]) < len(REPEATS[repeat](table)["y"])
    assert ("copied_rows" in {entry[0] for entry in repeated}) == (told or case == "copied_rows")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "case",
    [
        "nothing",
        "determines_label",
        "nearly determines",
        "numbers of rows",
        "an ID beside a leak of hardly shared values",
    ],
)
def test_the_verdict_on_a_bootstrap_is_that_on_the_rows(case, seed):
    table = sound()
    put(table, "y", {row: "3" for row in range(720) if table["y"][row] == "5"})
    PLANTED[case](table)
    assert without_copies(verdict(bootstrap(table, seed))) == without_copies(verdict(table))


@pytest.mark.parametrize("repeat", REPEATS)
@pytest.mark.parametrize("texts", ["differ", "are few"])
def test_repeated_texts(repeat, texts):
    table = {name: cells for name, cells in sound().items() if name in "ygs"}
    table["text"] = [f"text {row if texts == 'differ' else row % 50}" for row in range(720)]
    table["g"] = [f"{table['s'][row]} {row // 6}" for row in range(720)]
    before, after = (verdict(rows, texts=["text"]) for rows in (table, REPEATS[repeat](table)))
    assert without_copies(after) == without_copies(before)


@pytest.mark.parametrize("repeat", REPEATS)
def test_rows_that_were_numbered_after_they_were_repeated(repeat):
    table = REPEATS[repeat](sound())
    table["index"] = [*range(len(table["y"]))]
    assert {entry[0] for entry in verdict(table)} == {"distinct_columns"}
    table["leak"] = [f"is {y}" for y in table["y"]]
    assert {entry[0] for entry in verdict(table)} == {"distinct_columns", "determines_label"}


def test_a_leak_beside_a_number_of_the_rows_is_one():
    table = {name: sound()[name] for name in "ygs"}
    table |= {"id": [*range(720)], "leak": [f"is {y}" for y in table["y"]]}
    for group in (["g"], []):
        assert "determines_label" in {entry[0] for entry in verdict(table, group=group)}


def test_rows_that_are_in_several_groups_are_repeated_rows():
    table = sound()
    rows = [*range(720), *range(360)]
    several = {name: [cells[row] for row in rows] for name, cells in table.items()}
    put(several, "g", {row: f"other {row % 12}" for row in range(720, 1080)})
    assert verdict(several) == set()
    several["leak"] = [f"is {y}" for y in several["y"]]
    assert {entry[0] for entry in verdict(several)} == {"determines_label"}


@pytest.mark.parametrize("repeat", REPEATS)
def test_copies_between_splits_are_found_among_repeated_rows(repeat):
    table = sound()
    for name in "xkcy":
        put(table, name, {row: table[name][row - 600] for row in (610, 700)})
    finding = next(f for f in look(REPEATS[repeat](table)).findings if f.code == "copies_across_splits")
    assert finding.severity == "warning"
    times = {"twice": 2, "ten times": 10, "each row three times in a row": 3, "balanced": 1}[repeat]
    assert f"{2 * times:,} of {180 * times:,} in ood_test" in finding.sentence


@pytest.mark.parametrize("repeat", REPEATS)
def test_repeated_rows_show_no_smaller_difference(repeat):
    table = sound()
    put(table, "g", dict.fromkeys(list(rows_of("g20"))[:12], "twelve"))
    said = look(REPEATS[repeat](table)).resolution().replace(" (repeated ones counted once)", "")
    assert said == look(table).resolution()


@pytest.mark.parametrize("repeat", REPEATS)
def test_repeated_rows_can_be_trained_on(tmp_path, repeat):
    pa_csv.write_csv(pa.table(REPEATS[repeat](sound())), tmp_path / "t.csv")
    Table(str(tmp_path / "t.csv"), **ROLES).setup("fit")


@pytest.mark.parametrize("name", ["plain", "oversampled", "x5"])
def test_tables_of_a_report(name):
    path = REPORTS / f"{name}.csv"
    if not path.is_file():
        pytest.skip(f"{path} not found; it is not part of the repository")
    table = pa_csv.read_csv(path)
    inspection = inspect_rows(gather_rows(str(path), table, label="y", group=["g"], split="split"))
    assert [f.code for f in inspection.findings] == ([] if name == "plain" else ["copied_rows"])
