"""Reading tables from files, nothing guessed: a CSV cell is the text that stands in it."""

from __future__ import annotations

import csv
import os
import re
import unicodedata
from collections import Counter
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from drurank.data.dataset import SPLITS
from drurank.errors import InputError, nearest

DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")
KNOWN = ", ".join([*DELIMITERS, *PARQUET])
NO_NUMBER = ("", "na", "n/a", "nan", "null", "none")
LARGEST = 1e30
"""Largest number that is taken: its square is far from overflow, and float32 holds it."""
UNNAMED_INDEX = re.compile(r"__index_level_\d+__")
BLOCK = 1 << 24


def read_table(path: str) -> pa.Table:
    """Read a CSV, TSV or Parquet file; in CSV and TSV every column is text.

    Raises:
        InputError: if the file is missing or cannot be read, a row has more or fewer cells than the header, there are
            no rows, or a column has no name or that of another.
    """
    file = Path(os.path.expanduser(path))
    suffix = file.suffix.lower()
    try:
        if not file.exists():
            beside = file.parent.glob("*") if file.parent.is_dir() else ()
            found = sorted(str(other) for other in beside if other.suffix.lower() in (*DELIMITERS, *PARQUET))
            raise InputError(f"there is no file {path}; {nearest(str(file), found)}")
        if file.is_dir():
            raise InputError(f"{path} is a folder; give one file that ends in {KNOWN}")
        if suffix not in (*DELIMITERS, *PARQUET):
            raise InputError(f"{path} is no table that can be read; give a file that ends in {KNOWN}")
        table = _read_parquet(file) if suffix in PARQUET else _read_text(path, file, DELIMITERS[suffix])
    except (pa.ArrowException, csv.Error, OSError) as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(f"{path} cannot be read as {suffix[1:]}: {said}; mend the file or its permissions") from error
    twice = [name for name, times in Counter(table.column_names).items() if times > 1]
    if twice and twice[0].strip():
        raise InputError(f"{path} has the column {twice[0]!r} twice; rename one of them")
    for place, name in enumerate(table.column_names):
        if not name.strip():
            raise InputError(f"{path}: column {place} (the first is 0) has no name; name it, or write without an index")
    if table.num_rows == 0:
        raise InputError(f"{path} has no rows; give a table with at least one")
    return table


def _read_parquet(file: Path) -> pa.Table:
    with pa_parquet.ParquetFile(file) as opened:
        table = opened.read()
    table.validate(full=True)
    return table.select([i for i, name in enumerate(table.column_names) if not UNNAMED_INDEX.fullmatch(name)])


def _read_text(path: str, file: Path, delimiter: str) -> pa.Table:
    try:
        names, rows = _scan(path, file, delimiter)
    except UnicodeDecodeError as error:
        raise _locate_other_encoding(path, file, delimiter) from error
    if rows == 0:
        return pa.table([pa.array([], pa.string())] * len(names), names=names)
    return pa_csv.read_csv(
        file,
        read_options=pa_csv.ReadOptions(block_size=BLOCK),
        parse_options=pa_csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=len(names) > 1
        ),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False, quoted_strings_can_be_null=False
        ),
    )


def _scan(path: str, file: Path, delimiter: str) -> tuple[list[str], int]:
    """Header and number of rows. Arrow alone would take an open quote, and swallow the rows after it."""
    where, rows = "the header", 0
    with file.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            names = next((cells for cells in reader if cells), [])
            where = "row 0"
            for cells in reader:
                if len(cells) != len(names):
                    if not cells and len(names) > 1:
                        continue  # An empty line.
                    if cells:
                        raise InputError(
                            f"{path}: row {rows} (the first is 0) has {len(cells)} cells and the header {len(names)}: "
                            f"{delimiter.join(cells)[:80]!r}; put a cell that has a {delimiter!r} in it in quotes"
                        )
                rows += 1
                where = f"row {rows}"
        except csv.Error as error:
            raise InputError(
                f"{path}: {where} (the first is 0) cannot be read: {error}; close each quote, and double it in a cell"
            ) from error
    if not names:
        raise InputError(f"{path} is empty; give a table with a header and at least one row")
    return names, rows


def _locate_other_encoding(path: str, file: Path, delimiter: str) -> InputError:
    names: list[str] = []
    row = -2
    with file.open(encoding="utf-8-sig", newline="", errors="surrogateescape") as lines:
        for cells in csv.reader(lines, delimiter=delimiter):
            if cells or len(names) == 1:
                names, row = names or cells, row + 1
            for place, cell in enumerate(cells):
                if not cell.isascii() and re.search("[\udc80-\udcff]", cell):
                    said = cell.encode("utf-8", "surrogateescape")[:80]
                    column = repr(names[place]) if place < len(names) else str(place)
                    where = "the header" if row < 0 else f"column {column}, row {row} (the first is 0)"
                    return InputError(f"{path}: {where}: {said!r} is not UTF-8; save the file as UTF-8")
    raise AssertionError("what cannot be decoded is in a cell")


class Column:
    """One column of a table, as text codes or as numbers.

    Args:
        path: file, for messages.
        name: of the column.
        values: its cells, ``[n]``.

    Raises:
        InputError: if its type is neither a number, a boolean nor text.
    """

    def __init__(self, path: str, name: str, values: pa.ChunkedArray) -> None:
        self.path, self.name = path, name
        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
        self.is_text = is_text or pa.types.is_null(kind)
        self.is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        self.is_typed = Path(path).suffix.lower() not in DELIMITERS
        if not (self.is_number or self.is_text or pa.types.is_boolean(kind)):
            raise InputError(
                f"{path}: column {name!r} holds {kind}; write one number, boolean or text in each row, or, if it is "
                f"only a feature, leave it out (--data.exclude {name})"
            )
        wanted = pa.large_string() if self.is_text else kind
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
            InputError: if most of these cells are numbers but not all.
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
        return InputError(f"{self.path}: column {self.name!r}, row {row} (the first is 0): {said} {remedy}")


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
