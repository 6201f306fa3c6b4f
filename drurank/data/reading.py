"""Reading tables from files, nothing guessed: a CSV cell is the text that stands in it."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from drurank.errors import InputError, nearest

DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")
NUMBER = re.compile(r"\s*[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|inf|infinity)\s*", re.IGNORECASE)
NO_NUMBER = frozenset({"", "na", "n/a", "nan", "null", "none"})


def read_table(path: str) -> pa.Table:
    """Read a CSV, TSV or Parquet file; in CSV and TSV every column is text.

    Raises:
        InputError: if the file is missing, cannot be read, has no rows, or names a column twice.
    """
    file = Path(path).expanduser()
    known = (*DELIMITERS, *PARQUET)
    if not file.exists():
        beside = [str(p) for p in file.parent.glob("*") if p.suffix in known] if file.parent.is_dir() else []
        raise InputError(f"there is no file {path}; {nearest(str(file), beside)}")
    if not file.is_file() or file.suffix.lower() not in known:
        raise InputError(f"{path} is no table; give a file that ends in {', '.join(known)}")
    try:
        table = pa_parquet.read_table(file) if file.suffix.lower() in PARQUET else _read_text(file)
    except (pa.ArrowException, OSError, UnicodeDecodeError, csv.Error) as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(f"{path} cannot be read as {file.suffix[1:]}: {said}") from error
    twice = [name for name, times in Counter(table.column_names).items() if times > 1]
    if twice:
        raise InputError(f"{path} has the column {twice[0]!r} twice; rename one of them")
    if table.num_rows == 0:
        raise InputError(f"{path} has no rows; give a table with at least one")
    return table


def _read_text(file: Path) -> pa.Table:
    delimiter = DELIMITERS[file.suffix.lower()]
    with file.open(encoding="utf-8-sig", newline="") as lines:
        names = next(csv.reader(lines, delimiter=delimiter), [])
    if len(set(names)) < len(names):
        # pyarrow would take them; the caller says which.
        return pa.table([pa.array([], pa.string())] * len(names), names=names)
    return pa_csv.read_csv(
        file,
        parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False, quoted_strings_can_be_null=False
        ),
    )


class Column:
    """One column of a table, as text codes or as numbers.

    Args:
        path: file, for messages.
        name: of the column.
        values: its cells.
        rows: place of each cell in the file, ``[n]``, for messages; 0, 1, 2, ..., if not given.

    Raises:
        InputError: if its type is neither a number, a boolean nor text.
    """

    def __init__(self, path: str, name: str, values: pa.ChunkedArray, rows: np.ndarray | None = None) -> None:
        self.path, self.name, self.rows = path, name, rows
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        kind = values.type
        self.is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        self.is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
        if not (self.is_number or self.is_text or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
            raise InputError(
                f"{path}: column {name!r} holds {kind}, which is neither a number nor text; leave it out "
                f"(--data.exclude {name}) or convert it"
            )
        self.values = values

    def at(self, rows: np.ndarray) -> Column:
        """The column at these rows of the file."""
        return Column(self.path, self.name, self.values.take(pa.array(rows)), rows)

    def codes(self) -> tuple[np.ndarray, list[str]]:
        """Cells as text: code of each, int64 ``[n]``, -1 where it is blank, and text by code.

        Text is in Unicode form NFC. Whole numbers are written without a fraction, so 1 and 1.0 are the same.
        """
        values = self.values
        if pa.types.is_floating(values.type):
            values = pc.if_else(pc.is_nan(values), None, values)
            if pc.all(pc.equal(pc.floor(values), values)).as_py() is not False:
                values = values.cast(pa.int64(), safe=False)
        text = pc.utf8_normalize(values.cast(pa.string()), form="NFC")
        coded = text.combine_chunks().dictionary_encode() if text.num_chunks != 1 else text.chunk(0).dictionary_encode()
        names = coded.dictionary.to_pylist()
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        full = np.array([i if name.strip() else -1 for i, name in enumerate(names)] + [-1], dtype=np.int64)
        codes = full[codes]
        kept, codes_kept = np.unique(codes[codes >= 0], return_inverse=True)
        codes[codes >= 0] = codes_kept
        return codes, [names[i] for i in kept]

    def holds_numbers(self) -> bool:
        """Whether every cell that is not missing is a number; a column without any is not one of numbers."""
        if not self.is_text:
            return self.is_number
        texts = [text for text in self.codes()[1] if text.strip().lower() not in NO_NUMBER]
        return bool(texts) and all(NUMBER.fullmatch(text) for text in texts)

    def numbers(self) -> np.ndarray:
        """Cells as float64 ``[n]``, ``nan`` where missing.

        Raises:
            InputError: if a cell is no number, or is infinite.
        """
        if self.is_text:
            codes, texts = self.codes()
            for code, text in enumerate(texts):
                if text.strip().lower() not in NO_NUMBER and not NUMBER.fullmatch(text):
                    raise self.error(int(np.argmax(codes == code)), text, "is no number, as the others are; mend it")
            found = [np.nan if text.strip().lower() in NO_NUMBER else float(text) for text in texts]
            numbers = np.array([*found, np.nan])[codes]
        elif not self.is_number:
            raise InputError(f"{self.path}: column {self.name!r} held numbers in training and holds {self.values.type}")
        else:
            numbers = self.values.cast(pa.float64()).to_numpy().copy()
        infinite = np.flatnonzero(np.isinf(numbers))
        if len(infinite):
            raise self.error(int(infinite[0]), str(numbers[infinite[0]]), "is not finite; mend it")
        return numbers

    def error(self, cell: int, value: str | None, remedy: str) -> InputError:
        """An error that names file, column, row and value; the first row of a file is 0."""
        row = cell if self.rows is None else int(self.rows[cell])
        said = "a blank cell" if value is None else repr(value)
        return InputError(f"{self.path}: column {self.name!r}, row {row} (the first is 0): {said} {remedy}")
