"""A sound table, and the same with faults planted in it."""

import numpy as np
import pyarrow as pa

from drurank.tabular.gathering import gather_rows
from drurank.tabular.inspection import inspect_rows

SIZE = 30
GROUPS = [f"g{number:02}" for number in range(24)]
ROLES = {"label": "y", "group": ["g"], "split": "s"}
WORDS = ["--data.label", "y", "--data.group", "g", "--data.split", "s"]


def sound():
    """24 groups of 30 rows, half of them for training; labels 1 to 5."""
    rng = np.random.default_rng(7)
    n = len(GROUPS) * SIZE
    return {
        "x": rng.normal(size=n).round(6).tolist(),
        "k": rng.integers(0, 5, n).tolist(),
        "c": [f"kind {letter}" for letter in rng.choice(list("abc"), n)],
        "y": [str(number) for number in rng.integers(1, 6, n)],
        "g": [name for name in GROUPS for _ in range(SIZE)],
        "s": [part for part, groups in (("train", 12), ("ood_val", 6), ("ood_test", 6)) for _ in range(groups * SIZE)],
    }


def put(table, column, cells):
    for row, value in cells.items():
        table[column][row] = value


def rows_of(group):
    start = GROUPS.index(group) * SIZE
    return range(start, start + SIZE)


def look(table, **options):
    return inspect_rows(gather_rows("t.parquet", pa.table(table), **{**ROLES, **options}))


def found(table, **options):
    """Findings by kind, one a kind."""
    findings = look(table, **options).findings
    assert len({finding.code for finding in findings}) == len(findings)
    assert all("\n" not in finding.sentence for finding in findings)
    return {finding.code: finding for finding in findings}


def ten_faults():
    table = sound()
    table["y"] = [y if y != "5" else "4" for y in table["y"]]
    put(table, "y", dict.fromkeys(rows_of("g02"), "3"))  # 1: one label
    put(table, "y", {row: str(row % 97) for row in rows_of("g03")})  # 2: another scale
    table["leak"] = [f"stars-{y}" for y in table["y"]]  # 3: determines the label
    put(table, "g", dict.fromkeys(list(rows_of("g04"))[::2], "G04 "))  # 4: spelt otherwise
    put(table, "g", dict.fromkeys(list(rows_of("g20"))[:12], "g05"))  # 5: on both sides
    put(table, "g", dict.fromkeys(list(rows_of("g21"))[:2], "lonely"))  # 6: tiny
    for name in table:  # 7: copies of training rows in the OOD test
        if name not in ("g", "s"):
            put(table, name, {row: table[name][row - 540] for row in (670, 671, 672)})
    put(table, "x", dict.fromkeys(range(100, 117), None))  # 8: missing
    table["same"] = [4] * len(table["x"])  # 9: constant
    put(table, "s", dict.fromkeys((5, 6, 7), "Trian"))  # 10: no split
    return table


def planted_label_scale(table):
    put(table, "y", {row: f"{(row % 9 + 1) / 10:g}" for row in rows_of("g14")})


def planted_part_scale(table):
    put(table, "y", {row: str(20 * int(table["y"][row])) for row in range(18 * SIZE, 24 * SIZE)})


def planted_copies(table):
    for name in ("x", "k", "c", "y"):
        put(table, name, {row + 1: table[name][row] for row in (3, 8)})


def planted_near(table):
    table["near"] = [f"like {y}" for y in table["y"]]
    put(table, "near", {3: "like 1" if table["y"][3] != "1" else "like 2"})


def planted_numbers(table):
    table["y"] = [str(value) for value in np.random.default_rng(2).permutation(np.arange(720) % 60 * 7 + 3)]


CASES = {
    "tiny_groups": (lambda t: put(t, "g", dict.fromkeys(list(rows_of("g20"))[:9], "few")), "few"),
    "one_class_groups": (lambda t: put(t, "y", dict.fromkeys(rows_of("g20"), "2")), "g20"),
    "shared_groups": (lambda t: put(t, "g", dict.fromkeys(list(rows_of("g20"))[:15], "g00")), "g00"),
    "unseen_groups": (lambda t: put(t, "s", dict.fromkeys(rows_of("g20"), "id_test")), "g20"),
    "one_group": (lambda t: put(t, "g", dict.fromkeys(range(12 * SIZE, 18 * SIZE), "g12")), "g12"),
    "copied_rows": (planted_copies, "3"),
    "copies_across_splits": (
        lambda t: [put(t, name, {row: t[name][row - 600] for row in (610, 700)}) for name in "xkcy"],
        "610",
    ),
    "determines_label": (lambda t: t.update(leak=[f"is {y}" for y in t["y"]]), "leak"),
    "nearly_determines_label": (planted_near, "near"),
    "constant_columns": (lambda t: t.update(same=["a"] * 720), "same"),
    "distinct_columns": (lambda t: t.update(id=[f"row {row}" for row in range(720)]), "id"),
    "unseen_categories": (lambda t: put(t, "c", {700: "kind z"}), "c"),
    "sentinels": (lambda t: put(t, "x", dict.fromkeys(range(0, 360, 9), 999.0)), "x"),
    "missing_cells": (lambda t: put(t, "x", {3: None, 400: None}), "x"),
    "missing_as_text": (lambda t: put(t, "g", dict.fromkeys(rows_of("g03"), "nan")), "nan"),
    "blank_label": (lambda t: put(t, "y", {3: " "}), "y"),
    "blank_group": (lambda t: put(t, "g", {3: None}), "g"),
    "blank_split": (lambda t: put(t, "s", {3: ""}), "s"),
    "split_spelling": (lambda t: put(t, "s", {3: "Train", 4: "Train"}), "Train"),
    "lacking_splits": (lambda t: put(t, "s", dict.fromkeys(range(540, 720), "ood_val")), "ood_test"),
    "unseen_labels": (lambda t: put(t, "y", dict.fromkeys(range(600, 620), "6")), "6"),
    "rare_labels": (lambda t: put(t, "y", dict.fromkeys(range(9), "6")), "6"),
    "stray_labels": (lambda t: put(t, "y", dict.fromkeys([*range(0, 360, 30), 700], "99")), "99"),
    "label_scale": (planted_label_scale, "g14"),
    "label_words": (lambda t: put(t, "y", dict.fromkeys(range(0, 360, 30), "good")), "good"),
    "regression": (planted_numbers, "y"),
    "spelling": (lambda t: put(t, "g", dict.fromkeys(list(rows_of("g03"))[:15], "G03")), "G03"),
    "unusable_columns": (lambda t: t.update(raw=[b"\x00"] * 720), "raw"),
}
ALSO = {
    "label_scale": {"rare_labels", "unseen_labels"},
    "regression": {"rare_labels"},
    "unseen_groups": {"one_group"},
}
