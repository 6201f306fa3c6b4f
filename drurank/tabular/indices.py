"""Columns that say nothing of a row itself: its number in a file, as pandas writes an index, or an earlier split."""

from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np
import pyarrow as pa

from drurank.splits import SPLITS
from drurank.tabular.columns import Column

UNNAMED = re.compile(r"Unnamed: \d+(\.\d+)?")
"""What pandas calls a column whose header is blank, when it reads a file and writes it again."""
FIRST = 100
"""Cells by which most columns of text are told from those of a split, since to tell all apart takes long."""


def says_split(texts: Collection[str]) -> bool:
    """Whether a column of these texts says the split of each row."""
    return "train" in texts and set(texts) <= set(SPLITS)


def split_columns(table: pa.Table) -> list[str]:
    """The columns of a table that say an earlier split of its rows."""
    texts = [name for name in table.column_names if _is_text(table[name].type)]
    likely = [name for name in texts if {*table[name].slice(0, FIRST).to_pylist()} <= {None, *SPLITS}]
    return [name for name in likely if says_split(table[name].unique().drop_null().to_pylist())]


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def index_columns(table: pa.Table, named: Collection[str]) -> list[str]:
    """The columns of a table that only number its rows, and so tell none apart.

    Args:
        table: of all rows.
        named: columns that an option names, and that are more than that.
    """
    return [name for name in table.column_names if name not in named and is_index(name, table[name])]


def is_index(name: str, cells: pa.ChunkedArray) -> bool:
    """Whether a column that nobody named numbers the rows: whole numbers, all different, or counted anew by file.

    Rows that were shuffled, or of which some were left out, still have the numbers of the file that they came from.

    Args:
        name: of the column.
        cells: ``[n]``.
    """
    if not UNNAMED.fullmatch(name):
        return False
    kind = cells.type
    if not (_is_text(kind) or pa.types.is_integer(kind)):
        return False
    numbers = Column("", name, cells).numbers
    if not (np.isfinite(numbers).all() and (numbers % 1 == 0).all() and (numbers >= 0).all()):
        return False
    counted = (np.diff(numbers) == 1) | (numbers[1:] == numbers[0])
    return bool(counted.all()) or len(np.unique(numbers)) == len(numbers)
