"""One column of a table, as text codes or as numbers, and what several columns make."""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drurank.errors import InputError, nearest
from drurank.splits import SPLITS
from drurank.tabular.reading import DELIMITERS, suffix_of

log = logging.getLogger(__name__)

NO_NUMBER = ("", "na", "n/a", "nan", "null", "none")
COMMA_NUMBER = re.compile(r"\s*[+-]?\d[\d.' ]*,\d[\d.,' ]*(e[+-]?\d+)?\s*", re.IGNORECASE)
LARGEST = 1e30
"""Largest number that is taken: its square is far from overflow, and float32 holds it."""
ALL_ROWS = "all"
Names = str | list[str] | None


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
        self.is_typed = suffix_of(path) not in DELIMITERS
        if not (self.is_number or self.is_text or pa.types.is_boolean(kind)):
            raise InputError(
                f"{path}: column {name!r} holds {kind}; write one number, boolean or text in each row, or, if it is "
                f"only a feature, leave it out (--data.exclude {name})"
            )
        wanted = pa.large_string() if self.is_text else kind
        if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
            wanted = pa.decimal128(kind.precision, kind.scale)
        self.values: pa.Array = values.cast(wanted).combine_chunks()

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
        """Cells as float64 ``[n]``: ``nan`` where missing, infinite where it is no number."""
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

    def missing(self, *, as_numbers: bool) -> np.ndarray:
        """Which cells are missing, bool ``[n]``; in a column of text or codes NA is one of them, and not missing."""
        return np.isnan(self.numbers) if as_numbers else self.codes < 0

    def holds_numbers(self, rows: np.ndarray) -> bool:
        """Whether this is a column of numbers: by its type, or, in a text file, by its cells at these rows.

        Raises:
            InputError: if most of these cells are numbers but not all, or they are numbers with commas.
        """
        if self.is_number or self.is_typed:
            return bool(self.is_number)
        good, wrong = np.isfinite(self.numbers[rows]), np.isinf(self.numbers[rows])
        if 0 < wrong.sum() < good.sum():
            raise self.error(
                int(rows[np.argmax(wrong)]),
                f"is no finite number, as most cells of the column are; write a number or NA, or, if they are codes, "
                f"--data.categorical {self.name}",
            )
        commas = [COMMA_NUMBER.fullmatch(self.texts[code]) for code in np.unique(self.codes[rows][wrong])]
        if commas and all(commas):
            raise self.error(
                int(rows[np.argmax(wrong)]),
                f"looks like a number with a comma; write a point for the decimals and nothing between thousands, or, "
                f"if they are codes, --data.categorical {self.name}",
            )
        return not wrong.any()

    def numbers_at(self, rows: np.ndarray) -> np.ndarray:
        """Cells at these rows as float64, ``nan`` where missing.

        Raises:
            InputError: if one is no number, or too large.
        """
        if not (self.is_number or self.is_text):
            raise InputError(
                f"{self.path}: column {self.name!r} held numbers in training and holds {self.values.type} here; write "
                "numbers"
            )
        numbers: np.ndarray = self.numbers[rows]
        wrong = np.abs(numbers) > LARGEST
        if wrong.any():
            remedy = f"is no number between -{LARGEST:g} and {LARGEST:g}; write one, or leave the row out"
            raise self.error(int(rows[np.argmax(wrong)]), remedy)
        return numbers

    def error(self, row: int, remedy: str) -> InputError:
        """An error that names file, column, row and value; the first row of a file is 0."""
        value: Any = self.values[row].as_py()
        text = "" if value is None else str(value)
        said = (repr(text) if self.is_text else text) if text.strip() else "a blank cell"
        row = place_of(row, self.places)
        return InputError(f"{self.path}: column {self.name!r}, row {row} (the first is 0): {said} {remedy}")


def place_of(row: int, places: np.ndarray | None) -> int:
    """The place in the file of a row of a table, which is that in the table unless this lacks some of them."""
    return row if places is None else int(places[row])


def refuse_unknown(path: str, table: pa.Table, names: Iterable[str]) -> None:
    """Refuse names that are no columns of a table.

    Raises:
        InputError: naming the first, and the nearest column.
    """
    for name in names:
        if name not in table.column_names:
            raise InputError(f"{path} has no column {name!r}; {nearest(name, table.column_names)}")


def read_splits(column: Column, split_names: dict[str, str]) -> dict[str, np.ndarray]:
    """Places of the rows of each split, int64 ``[n]``.

    Args:
        column: the column of the split.
        split_names: what each spelling stands for.

    Raises:
        InputError: if a cell is blank, or none of these spellings.
    """
    if (column.codes < 0).any():
        raise column.error(int(np.argmax(column.codes < 0)), f"is no split; give one of {', '.join(SPLITS)}")
    for code, name in enumerate(column.texts):
        if name not in split_names:
            remedy = f"say what it stands for with --data.split_names '{{{name}: train}}'"
            raise column.error(
                int(np.argmax(column.codes == code)), f"is no split; {nearest(name, split_names)}; mend it, or {remedy}"
            )
    meant = np.array([SPLITS.index(split_names[name]) for name in column.texts])[column.codes]
    return {split: np.flatnonzero(meant == place) for place, split in enumerate(SPLITS)}


def code_groups(columns: Sequence[Column], rows: np.ndarray, *, blank: bool) -> tuple[np.ndarray, list[str]]:
    """The combinations of the columns' cells at these rows.

    Args:
        columns: one or several; of none, all rows are one group.
        rows: places in the file, int64 ``[n]``.
        blank: whether a row may have no group.

    Returns:
        Code of each row's group, int64 ``[n]``, -1 for none, and name by code, sorted.

    Raises:
        InputError: if a row has no group and must have one.
    """
    code = np.zeros(len(rows), dtype=np.int64)
    missing = np.zeros(len(rows), dtype=bool)
    for column in columns:
        part = column.codes[rows]
        if (part < 0).any() and not blank:
            raise column.error(int(rows[np.argmax(part < 0)]), "is no group; give each row one, or leave the row out")
        missing |= part < 0
        # Numbered anew after each column, so that the product never overflows.
        code = np.unique(code * len(column.texts) + part, return_inverse=True)[1]
    if not columns:
        return code, [ALL_ROWS]
    _, first, code[~missing] = np.unique(code[~missing], return_index=True, return_inverse=True)
    cells = rows[~missing][first]
    parts = [np.array(column.texts, dtype=object)[column.codes[cells]] for column in columns]
    names = [join_names(list(part)) for part in zip(*parts, strict=True)]
    order = sorted(range(len(names)), key=names.__getitem__)
    code[missing] = -1
    renumbered = np.array([*np.argsort(order), -1], dtype=np.int64)
    return renumbered[code], sorted(names)


def relabelled(column: Column, meant: Mapping[str, str], *, every: bool) -> pa.Array:
    """The cells of a column of labels with some of them standing for others, as text.

    Args:
        column: the labels.
        meant: label as it is written to what it stands for.
        every: whether to warn where one does not occur.
    """
    for written in meant:
        if every and written not in column.texts:
            log.warning(
                "%s: relabel names %r, which no row has as %r; %s",
                column.path,
                written,
                column.name,
                nearest(written, column.texts),
            )
    texts = np.array([*(meant.get(text, text) for text in column.texts), None], dtype=object)
    return pa.array(texts[column.codes], pa.string())


def join_names(parts: list[str]) -> str:
    """The name of a combination of groups, told apart also where a name has a bar in it."""
    return parts[0] if len(parts) == 1 else " | ".join(part.replace("|", "\\|") for part in parts)


def as_names(names: Names) -> list[str]:
    """Column names from a list, or from one string with commas."""
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names or ())


def determines_label(value: np.ndarray, label: np.ndarray) -> bool:
    """Whether each value of a feature goes with one label in training.

    Only where values that are seen in two or more rows make up at least half of the rows; a column of distinct values
    determines everything and says nothing.

    Args:
        value: codes or numbers, ``[n]``; missing ones count as one value.
        label: class numbers from 0, int64 ``[n]``.
    """
    _, code, count = np.unique(value, return_inverse=True, return_counts=True)
    pairs = len(np.unique(code * (label.max() + 1) + label))
    return pairs == len(count) and bool(count[count > 1].sum() * 2 >= len(code))


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
    """The number that a text says, ``nan`` where it says that there is none, infinite where it says none."""
    text = text.strip().lower()
    if text in NO_NUMBER:
        return np.nan
    try:
        return float(text) if "_" not in text else np.inf
    except ValueError:
        return np.inf
