"""Which features determine the label."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drurank.errors import InputError
from drurank.tabular.gathering import gather_rows
from drurank.tabular.rules import find, refuse
from drurank.tabular.rules.leaks import determines, determines_label, nearly_determines_label
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


ROWS = 600
LABEL_OF = np.random.default_rng(5).integers(0, 2, 40)
LEAKS = {
    "text of 30 values": lambda k: [f"c{value % 30}" for value in k],
    "score of 30 values": lambda k: (k * 0.37).tolist(),
    "whole numbers": lambda k: k.tolist(),
    "two values": lambda k: [f"is {LABEL_OF[value]}" for value in k],
    "three values": lambda k: [f"is {LABEL_OF[value] * (1 + value % 2)}" for value in k],
}
BESIDE = {
    "nothing": lambda t: {},
    "a constant": lambda t: {"c": ["same"] * len(t["leak"])},
    "columns that follow from it": lambda t: {
        "name": [f"name of {value}" for value in t["leak"]],
        "kind": [f"kind {sum(map(ord, str(value))) % 5}" for value in t["leak"]],
    },
    "an hour": lambda t: {"hour": np.random.default_rng(1).integers(0, 24, len(t["leak"])).tolist()},
    "a measurement": lambda t: {"x": np.random.default_rng(2).normal(size=len(t["leak"])).tolist()},
}
NUMBERED = {
    "not": lambda n: {},
    "index": lambda n: {"id": [*range(n)]},
    "shuffled index": lambda n: {"id": np.random.default_rng(3).permutation(n).tolist()},
    "index with gaps": lambda n: {"id": np.sort(np.random.default_rng(3).permutation(2 * n)[:n]).tolist()},
    "time stamp": lambda n: {"id": (1.6e9 + 0.37 * np.arange(n)).tolist()},
    "uid": lambda n: {"id": [f"u{row * 7919 % 100003:06}" for row in range(n)]},
}
REPEATS = {
    "once": lambda label, rng: np.arange(ROWS),
    "twice": lambda label, rng: np.tile(np.arange(ROWS), 2),
    "each row ten times": lambda label, rng: np.repeat(np.arange(ROWS), 10),
    "bootstrap": lambda label, rng: rng.integers(0, ROWS, ROWS),
    "bootstrap of three times as many": lambda label, rng: rng.integers(0, ROWS, 3 * ROWS),
    "balanced": lambda label, rng: np.append(np.arange(ROWS), rng.choice(np.flatnonzero(label == 1), ROWS // 2)),
}


def repeated(table, repeat, numbered, groups):
    """The rows in some groups, repeated, then numbered; a third is for validation."""
    rng = np.random.default_rng(4)
    split = np.where(np.arange(ROWS) % 3 == 2, "val", "train").tolist()
    table = {**table, "group": [f"g{number}" for number in rng.integers(0, groups, ROWS)], "split": split}
    rows = REPEATS[repeat](np.array(table["label"]), rng).tolist()
    return {name: [cells[row] for row in rows] for name, cells in table.items()} | NUMBERED[numbered](len(rows))


def leaks_of(table):
    """Columns of which a leak is an error, those that nearly are one, and whether a fit is refused for one."""
    rows = gather_rows("t.csv", pa.table(table), label="label", group=["group"], split="split")
    names = {
        finding.code: [*finding.names] for rule in (determines_label, nearly_determines_label) for finding in rule(rows)
    }
    try:
        refuse(rows, "fit")
        refused = False
    except InputError as error:
        refused = "allow_leaks" in str(error)
    return names.get("determines_label", []), names.get("nearly_determines_label", []), refused


def assert_leaks(leak, beside, repeat, numbered, groups):
    k = np.random.default_rng(6).integers(0, 30, ROWS)
    table = {"leak": LEAKS[leak](k), "label": LABEL_OF[k].tolist()}
    table |= BESIDE[beside](table)
    names, nearly, refused = leaks_of(repeated(table, repeat, numbered, groups))
    assert "leak" in names
    assert refused
    assert nearly == []
    assert not {"c", "hour", "x", "id"} & {*names}


@pytest.mark.parametrize("groups", [1, 20])
@pytest.mark.parametrize("repeat", REPEATS)
@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_of_few_values_is_an_error_whatever_is_beside_it(leak, repeat, groups):
    for beside in BESIDE:
        assert_leaks(leak, beside, repeat, "not", groups)


@pytest.mark.parametrize("groups", [1, 20])
@pytest.mark.parametrize("numbered", NUMBERED)
@pytest.mark.parametrize("repeat", ["once", "bootstrap", "balanced"])
def test_a_number_of_the_rows_hides_no_leak(repeat, numbered, groups):
    for beside in BESIDE:
        assert_leaks("text of 30 values", beside, repeat, numbered, groups)


@pytest.mark.parametrize("values", [2, 19, 20, 21, 30, 60, 120])
@pytest.mark.parametrize("groups", [1, 20])
def test_the_number_of_its_values_does_not_hide_a_leak(values, groups):
    k = np.random.default_rng(6).integers(0, values, ROWS)
    table = {"leak": [f"c{value}" for value in k], "label": (k % 2).tolist()}
    names, _, refused = leaks_of(repeated(table, "once", "not", groups))
    assert (names, refused) == ((["leak"], True) if values < 120 or groups > 1 else ([], False))


@pytest.mark.parametrize("groups", [1, 20])
@pytest.mark.parametrize("numbered", NUMBERED)
@pytest.mark.parametrize("beside", [name for name in BESIDE if name != "nothing"])
def test_a_leak_with_a_wrong_label_in_a_hundred_is_warned_about(beside, numbered, groups):
    rng = np.random.default_rng(6)
    k = rng.integers(0, 30, ROWS)
    table = {"leak": [f"c{value}" for value in k]}
    table |= BESIDE[beside](table) | {"label": np.where(rng.random(ROWS) < 0.01, 1 - LABEL_OF[k], LABEL_OF[k]).tolist()}
    names, nearly, refused = leaks_of(repeated(table, "once", numbered, groups))
    assert (names, "leak" in nearly, refused) == ([], True, False)


@pytest.mark.parametrize("groups", [1, 20])
@pytest.mark.parametrize("digits", [3, 9])
@pytest.mark.parametrize("repeat", REPEATS)
def test_without_a_leak_none_is_found_in_repeated_rows(repeat, digits, groups):
    rng = np.random.default_rng(8)
    table = {name: rng.normal(size=ROWS).round(digits).tolist() for name in ("a", "b")}
    table |= {"k": rng.integers(0, 5, ROWS).tolist(), "label": (rng.random(ROWS) < 0.1).astype(int).tolist()}
    for numbered in NUMBERED:
        assert leaks_of(repeated(table, repeat, numbered, groups)) == ([], [], False), numbered


@pytest.mark.parametrize(("times", "groups", "error"), [(4, 1, False), (5, 1, True), (2, 2, True)])
def test_a_single_column_is_rather_a_leak_than_repeated(times, groups, error):
    table = {"x": np.random.default_rng(8).normal(size=60).tolist() * times, "label": [0, 1] * 30 * times}
    table |= {"group": [f"g{row // 60 % groups}" for row in range(60 * times)], "split": ["train"] * (60 * times)}
    assert leaks_of(table) == (["x"] if error else [], [], error)
    assert leaks_of(table | NUMBERED["index"](60 * times)) == (["x"] if error else [], [], error)


@pytest.mark.parametrize("times", [10, 11])
def test_a_table_repeated_more_than_ten_times_cannot_be_told_from_a_leak(times):
    rng = np.random.default_rng(8)
    table = {
        "x": rng.normal(size=60).tolist() * times,
        "k": rng.integers(0, 5, 60).tolist() * times,
        "label": [0, 1] * 30 * times,
        "group": ["a", "b", "c"] * 20 * times,
    }
    rows = gather_rows("t.csv", pa.table(table), label="label", group=["group"])
    sentences = [finding.sentence for finding in find(rows) if finding.code == "determines_label"]
    assert len(sentences) == (times > 10)
    assert all("allow_leaks='x'" in said and "repeated many times" in said for said in sentences)


@pytest.mark.parametrize("groups", [2, 4])
def test_rows_that_are_in_up_to_four_groups_are_no_leak(groups):
    rng = np.random.default_rng(8)
    table = {name: rng.normal(size=60).tolist() * groups for name in "xz"}
    table |= {"label": rng.integers(0, 2, 60).tolist() * groups}
    table["group"] = [f"attribute {row // 60} is {row % 2}" for row in range(60 * groups)]
    assert leaks_of({**table, "split": ["train"] * (60 * groups)}) == ([], [], False)


def test_a_fit_refuses_a_leak_that_is_the_only_feature(tmp_path):
    k = np.random.default_rng(6).integers(0, 30, ROWS)
    table = repeated({"leak": [f"c{value}" for value in k], "label": LABEL_OF[k].tolist()}, "once", "index", 20)
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"column 'leak' determines the label 'label'.*allow_leaks='leak'"):
        fitted(str(tmp_path / "t.parquet"))
    assert fitted(str(tmp_path / "t.parquet"), allow_leaks="leak").sizes.in_features == 32


def test_minus_zero_is_zero():
    table = {"x": [0.0, -0.0, 1.0, 2.0] * 10, "label": [0, 1, 0, 1] * 10, "group": ["a"] * 40}
    assert "x" not in {name for names in leaks_of({**table, "split": ["train"] * 40})[:2] for name in names}
