"""Writing tables to files, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from drurank.errors import InputError
from drurank.files import replace_file
from drurank.tabular.formats import DELIMITERS, PARQUET


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table in one step, in the format of the file's ending, one of ``WRITTEN``.

    Raises:
        InputError: if a column holds what the format cannot hold.
        OSError: if the file cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix in PARQUET:
        try:
            replace_file(path, lambda beside: pa_parquet.write_table(table, beside, write_page_checksum=True))
        except pa.ArrowException as error:
            raise InputError(f"{path}: {' '.join(str(error).split())}; leave that column out") from error
        return
    text = pa.table([_as_text(path, name, table[name]) for name in table.column_names], names=table.column_names)
    replace_file(path, lambda beside: _write_text(text, beside, DELIMITERS[suffix]))


def _as_text(path: Path, name: str, cells: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return cells.cast(pa.large_string())
    except pa.ArrowException as error:
        raise InputError(
            f"{path}: column {name!r} holds {cells.type}, which is not text; write a file that ends in {PARQUET[0]}"
        ) from error


def _write_text(table: pa.Table, file: Path, delimiter: str) -> None:
    try:
        pa_csv.write_csv(table, file, pa_csv.WriteOptions(delimiter=delimiter, quoting_style="none"))
    except pa.ArrowInvalid:
        # A cell has a delimiter, a quote or a line end in it; Arrow then puts every text in quotes.
        pa_csv.write_csv(table, file, pa_csv.WriteOptions(delimiter=delimiter, quoting_style="needed"))
