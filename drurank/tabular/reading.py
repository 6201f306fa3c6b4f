"""Reading tables from files, nothing guessed: a CSV cell is the text that stands in it."""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from drurank.errors import InputError, nearest

DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")
KNOWN = ", ".join([*DELIMITERS, *PARQUET])
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
