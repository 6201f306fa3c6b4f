"""A column to learn from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from drurank.tabular.columns import Column

MOST_CATEGORIES = 2000
"""Most categories of a column that one-hot encoding takes."""
FEWEST = 20
"""Rows from which on it is no chance that all differ."""
SPARSE = 2
"""So many times as many numbers as rows may lie between the lowest and the highest of rows that were drawn."""

PLAIN, MARKED, PERCENT, DATE = "plain", "marked", "percent", "date"
"""How numbers are written: as they usually are, with marks that options name, with a percent sign, or as a date.

A date is called so where an option or the type of the column says how to read it; else by the form of its cells.
"""


@dataclass(frozen=True)
class Feature:
    """A column to learn from.

    Attributes:
        column: its cells.
        is_number: whether it counts as one of numbers, or else as one of categories.
        asked: whether that was said by an option or a checkpoint, and not by the cells.
        is_date: whether the numbers are days since 1970.
        written: how the cells of numbers are written: one of the names above, or the form of dates.
        is_joined: whether categories that differ only by how they are written are one.
    """

    column: Column
    is_number: bool
    asked: bool = False
    is_date: bool = False
    written: str = PLAIN
    is_joined: bool = False

    @property
    def name(self) -> str:
        """That of the column."""
        return self.column.name

    @property
    def values(self) -> np.ndarray:
        """What each cell says, ``[n]``: its number, ``nan`` where it is missing, or its code, then -1."""
        return self.column.numbers if self.is_number else self.column.codes

    @property
    def missing(self) -> np.ndarray:
        """Which cells are missing, bool ``[n]``; in a column of text or codes NA is one of them, and not missing."""
        return np.isnan(self.column.numbers) if self.is_number else self.column.codes < 0

    def said(self, number: float) -> str:
        """One of its numbers as messages have it; of dates the day."""
        return str(np.datetime64(int(np.floor(number)), "D")) if self.is_date else f"{number:g}"

    @property
    def code(self) -> np.ndarray:
        """Code of each cell's value, int64 ``[n]``, -1 where it is missing."""
        return self._coded[0]

    @property
    def size(self) -> int:
        """How many values there are."""
        return self._coded[1]

    @property
    def is_whole(self) -> bool:
        """Whether all cells are whole numbers."""
        return self.is_number and bool(np.isfinite(self.values).all() and (self.values % 1 == 0).all())

    def counts_rows(self, rows: np.ndarray) -> bool:
        """Whether it only numbers the rows, as an index, a time stamp or an ID written into a file does.

        It has a value of its own in each row, and is text, or rises or falls from row to row, or is whole without gaps,
        or with some if a part of the rows is looked at.

        Args:
            rows: places of those that repeat no other, int64 ``[k]``.
        """
        code, values = self.code[rows], self.values[rows]
        if len(rows) < FEWEST or (code < 0).any() or len(np.unique(code)) < len(rows):
            return False
        if not self.is_number:
            return True
        step = np.diff(values)
        # A bootstrap draws 63 % of the rows, in any order.
        widest = len(rows) * (1 if len(rows) == len(self.values) else SPARSE)
        return bool((step > 0).all() or (step < 0).all() or (self.is_whole and np.ptp(values) < widest))

    def repeats(self, rows: np.ndarray) -> bool:
        """Whether at least half of these rows have a value that another of them has.

        Otherwise the column is not a category.

        Args:
            rows: places, int64 ``[k]``.
        """
        code = self.code[rows]
        count = np.bincount(code[code >= 0])
        return bool(count[count > 1].sum() * 2 >= count.sum())

    @cached_property
    def _coded(self) -> tuple[np.ndarray, int]:
        if not self.is_number:
            return self.column.codes, len(self.column.texts)
        # Adding 0 makes -0 and 0 one value.
        coded = pa.array(self.column.numbers + 0.0, from_pandas=True).dictionary_encode()
        code = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        return code, len(coded.dictionary)
