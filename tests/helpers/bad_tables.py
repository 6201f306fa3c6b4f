"""A good table, and what a fit says of it once it is spoilt."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from drurank.data import Table
from drurank.errors import InputError

HEADER = ["x", "c", "y", "g", "s"]
ROWS = [
    ["1", "a", "no", "g1", "train"],
    ["2", "b", "yes", "g1", "train"],
    ["3", "a", "yes", "g2", "train"],
    ["4", "b", "no", "g2", "train"],
    ["2", "a", "yes", "g3", "ood_val"],
    ["3", "b", "no", "g3", "ood_val"],
    ["1", "a", "yes", "g4", "ood_test"],
    ["4", "b", "no", "g4", "ood_test"],
]
ROLES = {"label": "y", "group": "g", "split": "s"}


def fit(path, **options):
    table = Table(str(path), **{**ROLES, **options})
    table.setup("fit")
    return table


def said(path, **options):
    """What a fit of this table says."""
    with pytest.raises(InputError) as error:
        fit(path, **options)
    message = str(error.value)
    assert "\n" not in message
    return message


def write_csv(tmp_path, cells=(), header=HEADER, rows=ROWS, name="bad.csv"):
    """The good table, with some cells (row, column) written anew."""
    rows = [list(row) for row in rows]
    for (row, column), value in dict(cells).items():
        rows[row][HEADER.index(column)] = value
    text = "\n".join(",".join(cell for cell in row if cell is not None) for row in [header, *rows]) + "\n"
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def write_parquet(tmp_path, **columns):
    """The good table, typed, with some columns anew."""
    table = dict(zip(HEADER, map(list, zip(*ROWS, strict=True)), strict=True))
    pq.write_table(pa.table({**table, "x": [float(x) for x in table["x"]], **columns}), tmp_path / "bad.parquet")
    return tmp_path / "bad.parquet"
