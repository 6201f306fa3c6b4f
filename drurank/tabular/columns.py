"""One column of a table, as text codes or as numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drurank.errors import InputError, nearest
from drurank.tabular.reading import DELIMITERS, suffix_of

NO_NUMBER = ("", "na", "n/a", "nan", "null", "none")
LARGEST = 1e30
"""Largest number that is taken: its square is far from overflow, and float32 holds it."""
Names = str | list[str] | None
MOST_NAMED = 10
PLAIN = re.compile(r"[\w<]([\w .+/%<>-]*[\w.+/%<>-])?")
"""Names of columns that may be joined by commas, and that no command line takes for anything but text."""


class Column:
    """One column of a table, as text codes or as numbers.

    Args:
        path: file, for messages.
        name: of the column.
        values: its cells, ``[n]``.
        places: in the file, of each cell, int64 ``[n]``, where the column lacks some of the file's rows.

    Raises:
        InputError: if its type is neither a number, a boolean nor text.
    """

    def __init__(self, path: str, name: str, values: pa.ChunkedArray, places: np.ndarray | None = None) -> None:
        self.path, self.name, self.places = path, name, places
        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
        self.is_text = is_text or pa.types.is_null(kind)
        self.is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        if not (self.is_number or self.is_text or pa.types.is_boolean(kind)):
            raise InputError(
                f"{path}: column {name!r} holds {kind}; write one number, boolean or text in each row, or, if it is "
                f"only a feature, leave it out ({as_option('exclude', [name])})"
            )
        wanted = pa.large_string() if self.is_text else kind
        if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
            wanted = pa.decimal128(kind.precision, kind.scale)
        self.values: pa.Array = values.cast(wanted).combine_chunks()

    @property
    def is_typed(self) -> bool:
        """Whether its file says the types of its columns, as those of CSV and TSV do not."""
        return suffix_of(self.path) not in DELIMITERS

    @cached_property
    def codes(self) -> np.ndarray:
        """Code of each cell's text in ``texts``, int64 ``[n]``, -1 where it is blank."""
        codes: np.ndarray = self._coded[0]
        return codes

    @cached_property
    def texts(self) -> list[str]:
        """Distinct cells as text, in the order of their first rows.

        Text is in Unicode form NFC. Whole numbers are written without a fraction, so 1 and 1.0 are the same.
        """
        return list(self._coded[1])

    @cached_property
    def _coded(self) -> tuple[np.ndarray, dict[str, int]]:
        coded = self.values.dictionary_encode()
        place: dict[str, int] = {}
        code = np.full(len(coded.dictionary) + 1, -1)
        for i, text in enumerate(_texts(coded.dictionary)):
            if text is not None and text.strip():
                code[i] = place.setdefault(unicodedata.normalize("NFC", text), len(place))
        return code[coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)], place

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
        """The place in the file of a row of the table, which is that in the table unless this lacks some rows."""
        return row if self.places is None else int(self.places[row])

    def cell(self, row: int) -> str:
        """A cell as it is written; empty where it is blank."""
        value: Any = self.values[row].as_py()
        return "" if value is None else str(value)

    def said(self, row: int) -> str:
        """A cell as a message begins with it: its column, its row (the first row of a file is 0) and what it says."""
        text = self.cell(row)
        written = (repr(text) if self.is_text else text) if text.strip() else "a blank cell"
        return f"column {self.name!r}, row {self.place_of(row)} (the first is 0): {written}"

    def error(self, row: int, remedy: str) -> InputError:
        """An error that names file, column, row and value."""
        return InputError(f"{self.path}: {self.said(row)} {remedy}")


def refuse_unknown(path: str, table: pa.Table, names: Iterable[str]) -> None:
    """Refuse names that are not columns of a table.

    Raises:
        InputError: naming the first, and the nearest column.
    """
    for name in names:
        if name not in table.column_names:
            raise InputError(f"{path} has no column {name!r}; {nearest(name, table.column_names)}")


def as_names(names: Names) -> list[str]:
    """Column names from a list, or from one string with commas."""
    if isinstance(names, str):
        return [name.strip() for name in names.split(",")]
    return [str(name) for name in names or ()]


def as_option(option: str, names: Sequence[str]) -> str:
    """An option that gives the first ``MOST_NAMED`` of these columns, for advice that can be copied.

    It is a list where a comma would cut a name, or the command line take it for something else than text.

    >>> as_option("exclude", ["age", "dose"])
    "exclude='age,dose'"
    >>> as_option("exclude", ["height, cm", "Unnamed: 0"])
    "exclude=['height, cm', 'Unnamed: 0']"
    """
    names = list(names[:MOST_NAMED])
    plain = all(PLAIN.fullmatch(name) and name.lower() != "null" for name in names)
    return f"{option}={','.join(names)!r}" if plain else f"{option}={names!r}"


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
