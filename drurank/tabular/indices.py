"""Columns that only number the rows of a file, as pandas writes an index."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from drurank.tabular.columns import Column

UNNAMED = re.compile(r"Unnamed: \d+(\.\d+)?")
"""What pandas calls a column whose header is blank, when it reads a file and writes it again."""


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
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)):
        return False
    numbers = Column("", name, cells).numbers
    if not (np.isfinite(numbers).all() and (numbers % 1 == 0).all() and (numbers >= 0).all()):
        return False
    counted = (np.diff(numbers) == 1) | (numbers[1:] == numbers[0])
    return bool(counted.all()) or len(np.unique(numbers)) == len(numbers)
