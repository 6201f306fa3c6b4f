"""A sound table, and the same with faults planted in it."""

import numpy as np
import pyarrow as pa

from drurank.tabular.inspection import inspect_rows
from drurank.tabular.rows import gather_rows

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
