"""Columns of text that are read as numbers where that is asked for: with thousands, percentages, dates."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from drurank.errors import InputError
from drurank.tabular.columns import Column, Files, refuse_unknown
from drurank.tabular.writings import DAY, Marks, date_reader, is_impossible, is_missing


@dataclass(frozen=True)
class Reading:
    """Which columns of text are numbers, and how these are written.

    Args:
        marks: what stands in numbers of any column.
        percents: columns of percentages, whose sign is left out.
        dates: columns of dates, which become days since 1970.
        date_format: how these are written, by the codes of ``strptime``.

    Raises:
        InputError: if a column is both, or there is a format without dates.
    """

    marks: Marks
    percents: Sequence[str] = ()
    dates: Sequence[str] = ()
    date_format: str | None = None

    def __post_init__(self) -> None:
        for name in self.percents:
            if name in self.dates:
                raise InputError(f"percents and dates both name the column {name!r}; name it in one of them")
        if self.date_format is not None and not self.dates:
            raise InputError(f"date_format is {self.date_format!r}, and no dates are named; give dates=[...] too")

    def convert(self, path: str, table: pa.Table, kept: Collection[str], files: Files | None = None) -> pa.Table:
        """The table with these columns as float64, ``nan`` where a cell is missing.

        Args:
            path: the file, for messages.
            table: its cells.
            kept: columns that stay as they are, since they are no numbers: label, group, split, codes.
            files: those of the rows, where the table is of several.

        Raises:
            InputError: if there is no such column, or a cell of it cannot be read so.
        """
        refuse_unknown(path, table, [*self.percents, *self.dates])
        for option, asked in (("percents", self.percents), ("dates", self.dates)):
            for name in asked:
                if name in kept:
                    raise InputError(f"{path}: {option} names the column {name!r}, which is no number; leave it out")
        for place, name in enumerate(table.column_names):
            made = None
            if name in self.dates:
                made = _dates(path, name, table[name], self.date_format, files)
            elif name in self.percents:
                made = _percents(Column(path, name, table[name], files=files), self.marks)
            elif name not in kept and self.marks != Marks() and _is_text(table[name].type):
                made = _marked(Column(path, name, table[name], files=files), self.marks)
            if made is not None:
                table = table.set_column(place, name, pa.array(made, from_pandas=True))
        return table


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _marked(column: Column, marks: Marks) -> np.ndarray | None:
    """Numbers of a column most of whose cells are such, some of them with these marks; ``None`` for any other."""
    read = [np.nan if is_missing(text) else marks.read(text) for text in column.texts]
    if not any(map(marks.is_marked, column.texts)) or read.count(None) * 2 > len(read):
        return None
    said = f"thousands={marks.thousands!r}" if marks.thousands else f"decimal={marks.point!r}"
    return _numbers(column, read, f"is not a number with {said}, as most cells of the column are; fix it")


def _percents(column: Column, marks: Marks) -> np.ndarray:
    def number(text: str) -> float | None:
        if is_missing(text):
            return np.nan
        return marks.read(text[:-1].strip()) if text.endswith("%") else None

    return _numbers(column, [number(text) for text in column.texts], "is not a percentage, as '36.2%'; fix it")


def _dates(path: str, name: str, cells: pa.ChunkedArray, form: str | None, files: Files | None) -> np.ndarray:
    if pa.types.is_timestamp(cells.type) or pa.types.is_date(cells.type):
        seconds = cells.cast(pa.timestamp("us", getattr(cells.type, "tz", None)), safe=False).cast(pa.int64())
        days: np.ndarray = seconds.cast(pa.float64(), safe=False).to_numpy() / (1e6 * DAY)
        return days
    column = Column(path, name, cells, files=files)
    reader: Callable[[str], float | None] = date_reader(column.texts, form)
    read = [np.nan if is_missing(text) else reader(text) for text in column.texts]
    wanted = f"is not a date of the form {form!r}" if form else "is not a date that can be read in one way only"
    wanted = f"{wanted}; write it as 2021-03-04, or give date_format='%d.%m.%Y' or the like"
    never = "is a day or time that does not exist; correct it, or leave the cell blank if nothing is known there"
    return _numbers(column, read, lambda text: never if is_impossible(text, form) else wanted)


def _numbers(column: Column, read: Sequence[float | None], wrong: str | Callable[[str], str]) -> np.ndarray:
    """The number of each cell, float64 ``[n]``, by those of its texts.

    Raises:
        InputError: at the first cell that has none.
    """
    bad = np.array([*(number is None for number in read), False])[column.codes]
    if bad.any():
        row = int(np.argmax(bad))
        raise column.error(row, wrong if isinstance(wrong, str) else wrong(column.texts[column.codes[row]]))
    numbers: np.ndarray = np.array([*read, np.nan], dtype=np.float64)[column.codes]
    return numbers
