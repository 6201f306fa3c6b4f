"""What the rules find in tables with faults planted in them, and that they find nothing in a sound one."""

import io
import math
import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from drurank.cli.inspect import print_inspection
from drurank.errors import InputError
from drurank.tabular.alike import alike_rows
from drurank.tabular.gathering import gather_rows
from drurank.tabular.inspection import inspect_rows
from drurank.tabular.rules import find, refuse
from drurank.tabular.rules.leaks import others_agree
from drurank.tabular.spellings import plain_spelling
from drurank.terminal import Terminal
from faults import ALSO, CASES, ROLES, found, look, planted_part_scale, put, rows_of, sound
from runs import read_json

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT.parent / "shared" / "data"


def test_of_a_sound_table_nothing_is_said():
    inspection = look(sound())
    assert inspection.findings == []


@pytest.mark.parametrize("split", ["", "foo", "3"])
def test_a_table_of_numbers_without_a_row_in_a_split_is_looked_at(split):
    table = sound()
    table["s"] = [split] * len(table["s"])
    assert [finding.severity for finding in look(table).findings].count("error") > 0


@pytest.mark.parametrize("kind", CASES)
def test_each_fault_is_found_and_no_other(kind):
    table = sound()
    plant, name = CASES[kind]
    plant(table)
    by_kind = found(table)
    assert name in by_kind[kind].names
    assert name.strip() in by_kind[kind].sentence
    assert set(by_kind) - {kind} <= ALSO.get(kind, set())


@pytest.mark.parametrize("kind", CASES)
def test_what_is_called_an_error_stops_a_fit(kind):
    table = sound()
    CASES[kind][0](table)
    data = gather_rows("t.parquet", pa.table(table), **ROLES)
    stops = []
    for use in ("read", "start", "fit"):
        try:
            refuse(data, use)
        except InputError as error:
            stops.append(str(error))
    assert bool(stops) == any(finding.severity == "error" for finding in find(data))


NEAR = {
    "a group of ten rows": lambda t: put(t, "g", dict.fromkeys(list(rows_of("g20"))[:10], "ten")),
    "a group with a second label": lambda t: put(t, "y", {row: "2" if row % 30 else "3" for row in rows_of("g20")}),
    "all but one of a row's cells copied": lambda t: [put(t, name, {3: t[name][4]}) for name in "kcy"],
    "a guess right nine times in ten": lambda t: t.update(
        hint=[f"is {y}" if row % 10 else "is 1" for row, y in enumerate(t["y"])]
    ),
    "two values": lambda t: t.update(most=["b", *"a" * 35] * 20, other=["a", "b"] * 360),
    "distinct numbers with fractions": lambda t: t.update(z=[row + 0.5 for row in range(720)]),
    "a stray label that is a neighbour": lambda t: put(t, "y", dict.fromkeys(range(0, 360, 30), "6")),
    "names that differ by a letter": lambda t: put(t, "g", dict.fromkeys(list(rows_of("g03"))[:15], "h03")),
}


@pytest.mark.parametrize("case", NEAR)
def test_what_is_near_a_fault_is_none(case):
    table = sound()
    NEAR[case](table)
    assert [finding.code for finding in look(table).findings] == []


def test_a_part_on_another_scale_is_told_once():
    table = sound()
    planted_part_scale(table)
    finding = found(table)["label_scale"]
    assert finding.names == ["ood_test"]
    assert "'ood_test' (20 to 100, 180 rows)" in finding.sentence
    assert "training (1 to 5)" in finding.sentence


def test_many_groups_are_told_in_one_finding():
    table = sound()
    table["g"] = [f"{g}-{row % 6}" for row, g in enumerate(table["g"])]
    tiny = found(table)["tiny_groups"]
    assert len(tiny.names) == 144
    assert "72 of 72 groups in train" in tiny.sentence
    assert len(tiny.sentence) < 700


def test_how_many_one_class_groups_chance_makes_is_told():
    rng = np.random.default_rng(0)
    n = 4000
    table = {"x": rng.normal(size=n), "y": rng.integers(0, 2, n), "g": np.arange(n) // 4, "s": ["train"] * n}
    finding = found(table)["one_class_groups"]
    labels = table["y"].reshape(-1, 4)
    assert len(finding.names) == (labels.min(axis=1) == labels.max(axis=1)).sum()
    share = table["y"].mean()
    assert f"about {1000 * (share**4 + (1 - share) ** 4):.1f} expected by chance" in finding.sentence
    assert finding.severity == "note"


@pytest.mark.parametrize(
    ("label", "group", "severity", "said"),
    [
        ("abcd", "wxyz", "error", "column 'g', says in every row what the label 'y' says"),
        ("aabb", "wxyz", "warning", "has one label in each group"),
        ("abcd", "wwxx", "warning", "is fixed by the label"),
    ],
)
def test_a_group_that_is_the_label(label, group, severity, said):
    n = 400
    table = {
        "x": np.random.default_rng(1).normal(size=n),
        "y": [label[row % 4] for row in range(n)],
        "g": [group[row % 4] for row in range(n)],
        "s": ["train" if row < 300 else "id_test" for row in range(n)],
    }
    finding = found(table)["group_is_label"]
    assert (finding.severity, finding.names) == (severity, ["g"])
    assert said in finding.sentence
    crossed = found(table, group=["g", "y"])["group_is_label"]
    assert crossed.severity == "note"


def test_copies_that_chance_makes_are_no_more_than_a_note():
    rng = np.random.default_rng(3)
    n = 2000
    table = {"k": rng.integers(0, 5, n), "c": rng.choice(["u", "v"], n), "y": rng.integers(0, 2, n)}
    # A column that follows from another makes pairs too, which independent columns would not.
    table |= {"follows": [f"of {k}" for k in rng.permutation(1000)[np.arange(n) % 1000]]}
    table |= {"also": [text.replace("of", "like") for text in table["follows"]]}
    table |= {"g": np.arange(n) % 40, "s": np.where(np.arange(n) % 40 < 20, "train", "ood_test")}
    assert found(table)["copied_rows"].severity == "note"
    assert found({**table, "y": np.tile(table["y"][:1000], 2)})["copied_rows"].severity == "warning"
    few = {name: table[name] for name in ("k", "c", "y", "g", "s")}
    by_kind = found(few)
    assert by_kind["copies_across_splits"].severity == "note"
    train, test = (
        [tuple(few[name][row] for name in ("k", "c", "y")) for row in range(n) if few["s"][row] == part]
        for part in ("train", "ood_test")
    )
    assert (
        f"{sum(row in set(train) for row in test):,} of 1,000 in ood_test" in by_kind["copies_across_splits"].sentence
    )
    whole = Counter((few["s"][row], *(few[name][row] for name in ("k", "c", "y", "g"))) for row in range(n))
    for part in ("train", "ood_test"):
        copies = sum(count - 1 for key, count in whole.items() if key[0] == part)
        assert f"{copies:,} in {part}" in by_kind["copied_rows"].sentence


def test_columns_that_determine_the_label_are_told_together():
    table = sound()
    table |= {"a": [f"is {y}" for y in table["y"]], "b": [int(y) * 10 for y in table["y"]], "raw": [b"0"] * 720}
    table |= {"wav": [b"1"] * 720}
    by_kind = found(table)
    assert by_kind["determines_label"].names == ["a", "b"]
    assert "each of the columns 'a', 'b'" in by_kind["determines_label"].sentence
    assert by_kind["unusable_columns"].names == ["raw", "wav"]
    assert set(by_kind) == {"determines_label", "unusable_columns"}


def test_unicode_forms_count_as_one_group_and_are_told():
    table = sound()
    put(table, "g", dict.fromkeys(rows_of("g03"), "caf\u00e9"))
    put(table, "g", dict.fromkeys(list(rows_of("g03"))[:10], unicodedata.normalize("NFD", "caf\u00e9")))
    by_kind = found(table)
    assert set(by_kind) == {"unicode_form"}
    assert by_kind["unicode_form"].names == ["g", "caf\u00e9"]


@pytest.mark.parametrize(
    ("labels", "remedy"),
    [
        (["Yes", "Yes", "yes", "No", "No", "NO"], "give relabel={'yes': 'Yes', 'NO': 'No'}"),
        (["yes", "yes", "Yes", "YES", "no", "no"], "give relabel={'YES': 'yes', 'Yes': 'yes'}"),
        ([f"Class {n}" for n in range(12)] + [f"class {n}" for n in range(12)], "so if they are one, write them alike"),
    ],
)
def test_labels_that_are_one_are_told_how_to_become_so(labels, remedy):
    table = sound()
    table["y"] = [labels[row % len(labels)] for row in range(len(table["y"]))]
    assert found(table)["spelling"].sentence.endswith(remedy)


def test_cells_without_a_number_beside_percents_are_no_values():
    table = sound()
    table["c"] = ["n/a" if row == 5 else f"{row % 50}.5%" for row in range(len(table["y"]))]
    assert "missing_as_text" not in found(table)


def test_label_and_group_spelled_alike_have_remedies_of_their_own():
    table = sound()
    put(table, "g", dict.fromkeys(list(rows_of("g03"))[:15], "G03"))
    assert found(table)["spelling"].sentence.endswith("so if they are one, give join_twins=True")


def test_categories_spelled_alike_are_told_the_option_and_once_joined_what_was_joined():
    table = sound()
    put(table, "c", {0: "Kind a", 1: " kind A", 2: "Kind a"})
    said = found(table)["spelling"]
    assert (said.severity, said.names) == ("note", ["c", "Kind a", "kind A", "kind a"])
    assert said.sentence.endswith("so if they are one, give join_feature_twins='c'")
    now = found(table, joined={"c": ()})
    assert "spelling" not in now
    assert now["joined_values"].sentence == (
        "values that differ only by how they are written are joined: c 3 cells ('Kind a' as 'kind a', 'kind A' as "
        "'kind a')"
    )
    assert now["joined_values"].names == ["c"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("St. Anna", "st.\u00a0ANNA ", True),
        ("\u2163", "IV", True),
        ("\uff21", "a", True),
        ("a\u200bb", "ab", True),
        ("stra\u00dfe", "STRASSE", True),
        ("007", "7", True),
        ("1.0", "1", True),
        ("-0", "0", True),
        ("-0.0", "+00", True),
        ("1e5", "100000", False),
        ("10000000000000001", "10000000000000002", False),
        ("a-b", "ab", False),
    ],
)
def test_plain_spelling(one, other, same):
    assert (plain_spelling(one) == plain_spelling(other)) == same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("-0", "0", True),
        ("1e0", "1", True),
        ("10E-1", "1.", True),
        ("0e5", "-0", True),
        (".5e1", "5", True),
        ("1e999", "1e998", False),
        ("1e-999", "0", False),
        ("1e1", "1", False),
        ("e1", "1", False),
    ],
)
def test_labels_that_are_one_number_are_told(one, other, same):
    table = sound()
    names = {"1": one, "2": other}
    table["y"] = [names.get(y, y) if y in "12" else f"of {y}" for y in table["y"]]
    told = found(table)
    assert ("spelling" in told) == same
    if same:
        assert set(told["spelling"].names) == {"y", one, other}


def test_others_agree_is_leave_one_out():
    rng = np.random.default_rng(5)
    code, label = rng.integers(-1, 30, 200), rng.integers(0, 3, 200)
    right = counted = 0
    for row in range(200):
        others = Counter(label[other] for other in range(200) if other != row and code[other] == code[row])
        if others:
            counted += 1
            right += all(count < others[label[row]] for name, count in others.items() if name != label[row])
    assert others_agree(code, label) == pytest.approx(right / counted)
    assert others_agree(np.arange(200), label) == 0


def test_alike_rows_are_those_that_python_finds():
    rng = np.random.default_rng(6)
    codes = [rng.integers(-1, size, 500) for size in (3, 12, 5)]
    whole = list(zip(*(code.tolist() for code in codes), strict=True))
    count = Counter(whole)
    rows, copy = alike_rows(codes)
    assert rows.tolist() == [row for row in range(500) if count[whole[row]] > 1]
    assert len({(whole[row], number) for row, number in zip(rows, copy, strict=True)}) == len(set(copy.tolist()))


ODD = {
    "one row": ({"x": [1.0], "y": ["a"], "g": ["[b]"], "s": ["train"]}, "one_label"),
    "no label at all": ({"x": [1.0, 2], "y": pa.nulls(2), "g": ["b", "c"], "s": ["train"] * 2}, "blank_label"),
    "no group at all": ({"x": [1.0, 2], "y": ["a", "b"], "g": pa.nulls(2), "s": ["train"] * 2}, "blank_group"),
    "no row in a part": ({"x": [1.0, 2], "y": ["a", "b"], "g": ["b", "c"], "s": ["dev"] * 2}, "split_spelling"),
    "no split at all": ({"x": [1.0, 2], "y": ["a", "b"], "g": ["b", "c"], "s": pa.nulls(2)}, "blank_split"),
    "an empty feature": ({"x": pa.nulls(2), "y": ["a", "b"], "g": ["b", "c"], "s": ["train"] * 2}, "missing_cells"),
    "no feature": ({"y": ["a", "b"], "g": ["b", "c"], "s": ["train"] * 2}, "lacking_splits"),
    "infinite": ({"x": [math.inf, 2], "y": ["a", "b"], "g": ["b", "c"], "s": ["train"] * 2}, "unusable_columns"),
}


@pytest.mark.parametrize("case", ODD)
@pytest.mark.filterwarnings("error")
def test_nothing_stops_the_look(case, tmp_path):
    table, kind = ODD[case]
    inspection = look(table)
    assert kind in {finding.code for finding in inspection.findings}
    assert "constant_columns" not in {finding.code for finding in inspection.findings if "x" in finding.names}
    shown = io.StringIO()
    print_inspection(inspection, Terminal(file=shown, width=400))
    for finding in inspection.findings:
        assert finding.sentence in shown.getvalue()
    assert inspection.resolution() in shown.getvalue()
    inspection.write(tmp_path)
    assert read_json(tmp_path / "findings.json")["resolution"] == inspection.resolution()


# Real data

REAL = {
    "compas": ({}, {"tiny_groups", "copied_rows", "copies_across_splits"}),
    "insteval": (
        {"categorical": ["studage", "lectage", "service", "dept", "lecturer"]},
        {"tiny_groups", "copies_across_splits", "unseen_categories"},
    ),
    "wisdm_har": ({"exclude": ["label_name"]}, {"one_class_groups", "copied_rows", "missing_cells", "tiny_groups"}),
    "hotel_reviews": ({}, {"one_class_groups", "distinct_columns", "tiny_groups"}),
    "rt_critics": (
        {},
        {"determines_label", "one_class_groups", "distinct_columns", "unseen_categories", "tiny_groups"},
    ),
    "omniglot_strokes": ({}, {"unusable_columns", "determines_label", "tiny_groups"}),
}


@pytest.mark.parametrize("name", REAL)
def test_real_data(name):
    path = FOLDER / f"{name}.parquet"
    if not path.is_file():
        pytest.skip(f"there is no {path}; it is not part of the repository")
    options, kinds = REAL[name]
    table = pq.read_table(path)
    inspection = inspect_rows(gather_rows(str(path), table, label="label", group=["group"], split="split", **options))
    assert {finding.code for finding in inspection.findings} == kinds
    split, group, label = (np.array(table[name].to_pylist()) for name in ("split", "group", "label"))
    for part in inspection.splits:
        sizes = list(Counter(group[split == part.split]).values())
        assert part.sizes.tolist() == np.percentile(sizes, [0, 25, 50, 75, 100]).tolist()
        assert part.label_counts.sum() == (split == part.split).sum()
    by_kind = {finding.code: finding for finding in inspection.findings}
    if "one_class_groups" in by_kind:
        one = {name for name in set(group) if len(set(label[group == name])) == 1}
        assert set(by_kind["one_class_groups"].names) == one
    if "missing_cells" in by_kind:
        assert "XPEAK 381 (7.0%), YPEAK 131 (2.4%), ZPEAK 103 (1.9%)" in by_kind["missing_cells"].sentence
