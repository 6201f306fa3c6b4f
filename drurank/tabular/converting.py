"""Columns of text that are read as numbers where that is asked for: with thousands, percentages, dates."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from drurank.errors import InputError
from drurank.tabular.columns import Column, Files, as_option, refuse_unknown, to_number
from drurank.tabular.dates import DAY, ORDERS, date_reader, days_of, form_of, forms_of_cell, is_impossible, said_form
from drurank.tabular.feature import DATE, MARKED, PERCENT
from drurank.tabular.writings import Marks, is_missing


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

    def convert(
        self,
        path: str,
        table: pa.Table,
        kept: Collection[str],
        files: Files | None = None,
        trained: Mapping[str, str] | None = None,
    ) -> Converted:
        """The table with these columns as float64, ``nan`` where a cell is missing.

        Args:
            path: the file, for messages.
            table: its cells.
            kept: columns that stay as they are, since they are no numbers: label, group, split, codes.
            files: those of the rows, where the table is of several.
            trained: how the numbers of training were found to be written, by name; other rows are read so too. ``None``
                where these rows are those of training.

        Raises:
            InputError: if there is no such column, or a cell of it cannot be read so.
        """
        refuse_unknown(path, table, [*self.percents, *self.dates])
        for option, asked in (("percents", self.percents), ("dates", self.dates)):
            for name in asked:
                if name in kept:
                    raise InputError(f"{path}: {option} names the column {name!r}, which is no number; leave it out")
        is_fit, trained, written = trained is None, trained or {}, dict[str, str]()
        for place, name in enumerate(table.column_names):
            made, cells = None, table[name]
            if name in self.dates and (pa.types.is_timestamp(cells.type) or pa.types.is_date(cells.type)):
                made, written[name] = _days_of_times(cells), DATE
            elif name in self.dates:
                column = Column(path, name, cells, files=files)
                known = trained[name] if trained.get(name, "")[:2] in ORDERS else None
                form = self.date_format or known or form_of(column.texts)
                made = _dates(column, self.date_format, form, known)
                written[name] = DATE if self.date_format or not form else form
            elif name in self.percents:
                column = Column(path, name, cells, files=files)
                wrong = _why_no_percent(column, self.marks, self._without(name), is_fit)
                made, written[name] = _percents(column, self.marks, wrong), PERCENT
            elif name not in kept and self.marks != Marks() and _is_text(cells.type):
                column = Column(path, name, cells, files=files, as_written=True)
                if name not in trained or trained[name] == MARKED or not _is_plain(column):
                    made = _marked(column, self.marks, trained.get(name) == MARKED)
                written |= {} if made is None else {name: MARKED}
            if made is not None:
                table = table.set_column(place, name, pa.array(made, from_pandas=True))
        return Converted(table, written)

    def _without(self, name: str) -> str:
        """The option with which a column is no longer one of percentages."""
        others = [other for other in self.percents if other != name]
        return as_option("percents", others) if others else "percents=None"


@dataclass(frozen=True)
class Converted:
    """A table whose columns are numbers where that was asked for.

    Attributes:
        table: with these columns as float64.
        written: how the cells of these columns are written, by name: see ``Feature``.
    """

    table: pa.Table
    written: dict[str, str]


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_plain(column: Column) -> bool:
    """Whether all cells are numbers without marks."""
    return not np.isinf([to_number(text) for text in column.texts]).any()


def _marked(column: Column, marks: Marks, is_known: bool) -> np.ndarray | None:
    """Numbers of a column that is known to be of such, or most of whose cells are; ``None`` for any other."""
    read = [np.nan if is_missing(text) else marks.read(text) for text in column.texts]
    if not is_known and (not any(map(marks.is_marked, column.texts)) or read.count(None) * 2 > len(read)):
        return None
    said = f"thousands={marks.thousands!r}" if marks.thousands else f"decimal={marks.point!r}"
    which = "those of training" if is_known else "most cells of the column"
    example = f"1{marks.thousands}234" if marks.thousands else f"1{marks.point}5"
    wanted = f"write one as {example}, or leave the cell blank"
    return _numbers(column, read, f"is not a number with {said}, as {which} are; {wanted}")


def _percents(column: Column, marks: Marks, wrong: Callable[[str], str]) -> np.ndarray:
    def number(text: str) -> float | None:
        if is_missing(text):
            return np.nan
        return marks.read(text[:-1].strip()) if text.endswith("%") else None

    return _numbers(column, [number(text) for text in column.texts], wrong)


def _why_no_percent(column: Column, marks: Marks, instead: str, is_fit: bool) -> Callable[[str], str]:
    """What says of a cell why it is no percentage, and what to do.

    A number without a sign may be a percentage or a share, which only all such cells together tell.

    Args:
        column: its cells.
        marks: what stands in them.
        instead: the option that takes the cells as they are.
        is_fit: whether they are those of training.
    """
    read = to_number if column.is_number else marks.read
    bare = {text: read(text) for text in column.texts if not (is_missing(text) or text.endswith("%"))}
    has_signs = any(text.endswith("%") for text in column.texts)
    are_shares = all(0 <= number <= 1 for number in bare.values() if number is not None)

    def remedy(text: str) -> str:
        number = bare.get(text)
        if number is None:
            return "write a number and %, or leave it blank"
        if is_fit and not has_signs:
            return f"write {text}%, or, to take the numbers of this column as they are, give {instead}"
        if are_shares:
            percent = f"{100 * number:.10g}%".replace(".", marks.point)
            return f"such cells look like shares: write {percent} (and {text}% only if so little is meant)"
        return f"write {text}%" if has_signs else f"if these numbers are percent already, give {instead}"

    return lambda text: f"is not a percentage, as '36.2%'; {remedy(text)}"


def _days_of_times(cells: pa.ChunkedArray) -> np.ndarray:
    seconds = cells.cast(pa.timestamp("us", getattr(cells.type, "tz", None)), safe=False).cast(pa.int64())
    days: np.ndarray = seconds.cast(pa.float64(), safe=False).to_numpy() / (1e6 * DAY)
    return days


def _dates(column: Column, asked: str | None, form: str | None, trained: str | None) -> np.ndarray:
    """Days since 1970 by the whole form that is asked for, or else by the form of training or of the cells."""
    reader = partial(days_of, form=asked) if asked else date_reader(form)
    read = [np.nan if is_missing(text) else reader(text) for text in column.texts]
    return _numbers(column, read, lambda text: _why_no_date(text, asked, trained))


def _why_no_date(text: str, asked: str | None, trained: str | None) -> str:
    """What is wrong with a cell that is not read as a date, and what to do."""
    if is_impossible(text, asked):
        return "is a day or time that does not exist; correct it, or leave the cell blank if nothing is known there"
    others = [f"date_format={form!r}" for form in forms_of_cell(text)]
    if asked or trained:
        wanted = f"of the form {asked!r}" if asked else f"of training's form, {said_form(trained or '')}"
        instead = f", or, if all of these dates are written like it, give {' or '.join(others)}" if others else ""
        return f"is not a date {wanted}; write it so{instead}"
    if len(others) == 2:
        return (
            f"is not a date that can be read in one way only; give {others[0]} if the day is first, or {others[1]} if "
            "the month is, or write it as 2021-03-04"
        )
    instead = " or ".join(others) or "date_format='%d.%m.%Y' or the like"
    return f"is not a date that can be read in one way only; write it as 2021-03-04, or give {instead}"


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
