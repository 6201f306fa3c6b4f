"""One column of a table, as text codes or as numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drurank.errors import InputError, nearest
from drurank.tabular.formats import DELIMITERS
from drurank.tabular.reading import suffix_of

NO_NUMBER = ("", "na", "n/a", "nan", "null", "none")
LARGEST = 1e30
"""Largest number that is taken: its square is far from overflow, and float32 holds it."""
Names = str | list[str] | None
MOST_NAMED = 10
THE_ROWS = "the rows"
"""What rows are called that are given in Python and are no table."""
WHOLE = re.compile(r"[+-]?\d+(\.0+)?")
"""Whole numbers as text, of which some may be written as a decimal: 1 and 1.0."""
PLAIN = re.compile(r"[\w<]([\w .+/%<>-]*[\w.+/%<>-])?")
"""Names of columns that may be joined by commas, and that no command line takes for anything but text."""


@dataclass(frozen=True)
class Files:
    """The files that a table was read from.

    Attributes:
        names: in the order of their rows.
        starts: place of the first row of each, int64 ``[f]``.
    """

    names: Sequence[str]
    starts: np.ndarray

    def locate(self, row: int) -> tuple[str, int]:
        """The file of a row, and its place there."""
        file = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self.names[file], int(row - self.starts[file])


class Column:
    """One column of a table, as text codes or as numbers.

    Args:
        path: file, for messages.
        name: of the column.
        values: its cells, ``[n]``.
        places: of each cell, int64 ``[n]``, in the rows of the file, or of all files, where the column lacks some.
        files: those of the rows, where the table is of several.
        as_written: whether 1.000 stays so in a column of whole numbers, where it may be a thousand.
        meant: text to the one that it is read as, where some are one.
        times: how often each cell occurs in the files, int64 ``[n]``; once, if not given.

    Raises:
        InputError: if its type is neither a number, a boolean nor text.
    """

    def __init__(
        self,
        path: str,
        name: str,
        values: pa.ChunkedArray,
        places: np.ndarray | None = None,
        files: Files | None = None,
        as_written: bool = False,
        meant: Mapping[str, str] | None = None,
        times: np.ndarray | None = None,
    ) -> None:
        self.path, self.name, self.places, self.files, self.times = path, name, places, files, times
        self._as_written, self._meant = as_written, meant or {}
        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
        self.is_text = is_text or pa.types.is_null(kind)
        self.is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        if not (self.is_number or self.is_text or pa.types.is_boolean(kind)):
            is_date = pa.types.is_timestamp(kind) or pa.types.is_date(kind)
            asked = f"; take it as a number of days ({as_option('dates', [name])})" if is_date else ""
            raise InputError(
                f"{path}: column {name!r} holds {kind}{asked}; write one number, boolean or text in each row, or, if "
                f"it is only a feature, leave it out ({as_option('exclude', [name])})"
            )
        wanted = pa.large_string() if self.is_text else kind
        if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
            wanted = pa.decimal128(kind.precision, kind.scale)
        self.values: pa.Array = values.cast(wanted).combine_chunks()

    @property
    def is_typed(self) -> bool:
        """Whether its file says the types of its columns, as those of CSV and TSV do not."""
        return suffix_of(self.files.names[0] if self.files else self.path) not in DELIMITERS

    def cells(self, rows: np.ndarray) -> int:
        """How many cells of the files are in some rows, int64 ``[k]``, of the table."""
        return len(rows) if self.times is None else int(self.times[rows].sum())

    @property
    def codes(self) -> np.ndarray:
        """Code of each cell's text in ``texts``, int64 ``[n]``, -1 where it is blank."""
        return self._coded.codes

    @cached_property
    def texts(self) -> list[str]:
        """Distinct cells as text, in the order of their first rows.

        Text is in Unicode form NFC, without blanks at its ends. Whole numbers are written without a fraction, so 1 and
        1.0 are the same; those of text only where the whole column is of such.
        """
        return list(self._coded.texts)

    @property
    def padded(self) -> int:
        """How many cells have blanks at their ends, which are left out."""
        return self._coded.padded

    def plain(self, text: str) -> str:
        """A text as ``texts`` has it where it occurs."""
        text = _plain(text, self._coded.is_whole)
        return self._meant.get(text, text)

    @property
    def ways(self) -> int:
        """How many texts there are where none is read as another."""
        return self._coded.ways

    def reread(self, rows: np.ndarray) -> dict[tuple[str, str], int]:
        """Texts of these rows that are read as another one, with that one, and how many cells say so."""
        found: dict[tuple[str, str], int] = {}
        if not self._meant:
            return found
        cells = self.values.take(pa.array(rows)).value_counts()
        for written, times in zip(_texts(cells.field("values")), cells.field("counts").to_pylist(), strict=True):
            text = _plain(written or "", self._coded.is_whole)
            if text in self._meant:
                pair = text, self._meant[text]
                found[pair] = found.get(pair, 0) + times
        return found

    @cached_property
    def _coded(self) -> _Coded:
        cells = self.values.dictionary_encode()
        written = [text if text and text.strip() else None for text in _texts(cells.dictionary)]
        some = [text for text in written if text]
        may_be_whole = self.is_text and not self._as_written
        is_whole = may_be_whole and all(map(WHOLE.fullmatch, map(str.strip, some))) and any("." in t for t in some)
        plain = [None if text is None else _plain(text, is_whole) for text in written]
        place: dict[str, int] = {}
        codes = [-1 if text is None else place.setdefault(self._meant.get(text, text), len(place)) for text in plain]
        which = cells.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        padded = np.array([*(text is not None and text != text.strip() for text in written), False])
        count = int(np.count_nonzero(padded[which])) if padded.any() else 0
        ways = len({*plain} - {None})
        return _Coded(np.array([*codes, -1], dtype=np.int64)[which], place, is_whole, count, ways)

    @cached_property
    def numbers(self) -> np.ndarray:
        """Cells as float64 ``[n]``: ``nan`` where missing, infinite where it is not a number."""
        numbers: np.ndarray
        try:
            cells = self.values
            if self.is_text:
                missing = pc.is_in(pc.utf8_lower(cells), value_set=pa.array(NO_NUMBER, pa.large_string()))
                cells = pc.if_else(missing, None, cells)
            numbers = cells.cast(pa.float64()).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            # A cell that Arrow does not take: white space, a word, a whole number that is rounded.
            numbers = np.array([*map(to_number, self.texts), np.nan])[self.codes]
        return numbers

    def holds_numbers(self, rows: np.ndarray) -> bool:
        """Whether this is a column of numbers: by its type, or, in a text file, by its cells at these rows."""
        if self.is_number or self.is_typed:
            return bool(self.is_number)
        return not np.isinf(self.numbers[rows]).any()

    def place_of(self, row: int) -> int:
        """The place in its file of a row of the table."""
        place = row if self.places is None else int(self.places[row])
        return place if self.files is None else self.files.locate(place)[1]

    def file_of(self, row: int) -> str:
        """The file of a row of the table."""
        place = row if self.places is None else int(self.places[row])
        return self.path if self.files is None else self.files.locate(place)[0]

    def cell(self, row: int) -> str:
        """A cell as it is written; empty where it is blank."""
        value: Any = self.values[row].as_py()
        return "" if value is None else str(value)

    def where(self, row: int) -> str:
        """A cell by its column and its row, as a message begins with it; the first row of a file is 0."""
        return f"column {self.name!r}, row {self.place_of(row)} (the first is 0)"

    def said(self, row: int) -> str:
        """A cell as a message begins with it, with what it says."""
        text = self.cell(row)
        written = (repr(text) if self.is_text else text) if text.strip() else "a blank cell"
        return f"{self.where(row)}: {written}"

    def error(self, row: int, remedy: str) -> InputError:
        """An error that names file, column, row and value."""
        return InputError(f"{self.file_of(row)}: {self.said(row)} {remedy}")


def refuse_unknown(path: str, table: pa.Table, names: Iterable[str], more: str = "") -> None:
    """Refuse names that are not columns of a table.

    Args:
        path: what the table is called in messages.
        table: its columns.
        names: the columns that are wanted.
        more: end of the sentence.

    Raises:
        InputError: naming the first, and the nearest column.
    """
    for name in names:
        if name not in table.column_names:
            odd = any("," in column or column != column.strip() for column in table.column_names)
            how = '; give names with commas or blanks at their ends as a list, as ["a, b"]' if odd else ""
            has = "have" if path == THE_ROWS else "has"
            raise InputError(f"{path} {has} no column {name!r}; {nearest(name, table.column_names)}{how}{more}")


def as_option(option: str, names: Sequence[str]) -> str:
    """An option that gives the first ``MOST_NAMED`` of these columns, for advice that can be copied.

    It is a list where a comma would cut a name, or the command line take it for something else than text.

    >>> as_option("exclude", ["age", "dose"])
    "exclude='age,dose'"
    >>> as_option("exclude", ["height, cm", "Unnamed: 0"])
    "exclude=['height, cm', 'Unnamed: 0']"
    """
    value = as_value(names[:MOST_NAMED])
    return f"{option}={value}" if value.startswith("[") else f"{option}={value!r}"


def as_value(names: Sequence[str]) -> str:
    """Names as an option of the command line takes them: with commas, or a list where a comma would cut a name."""
    plain = all(PLAIN.fullmatch(name) and name.lower() != "null" for name in names)
    return ",".join(names) if plain else repr(list(names))


@dataclass(frozen=True)
class _Coded:
    codes: np.ndarray
    texts: dict[str, int]
    is_whole: bool
    padded: int
    ways: int


def _plain(text: str, is_whole: bool) -> str:
    text = text.strip()
    text = text if text.isascii() else unicodedata.normalize("NFC", text)
    return text.partition(".")[0] if is_whole and WHOLE.fullmatch(text) else text


def _texts(values: pa.Array) -> list[str | None]:
    written: list[str | None] = values.cast(pa.large_string()).to_pylist()
    if not (pa.types.is_floating(values.type) or pa.types.is_decimal(values.type)):
        return written
    return [_number_text(value, text) for value, text in zip(values.to_pylist(), written, strict=True)]


def _number_text(value: float | Decimal, written: str | None) -> str | None:
    if value != value:
        return None
    if isinstance(value, Decimal):
        return str(int(value)) if value == int(value) else str(value.normalize())
    return str(int(value)) if abs(value) < 2**53 and value == int(value) else written


def to_number(text: str) -> float:
    """The number that a text says: ``nan`` where it says that one is missing, infinite where it is not a number."""
    text = text.strip().lower()
    if text in NO_NUMBER:
        return np.nan
    try:
        return float(text) if "_" not in text else np.inf
    except ValueError:
        return np.inf
