"""Opening Parquet files of anybody: those that become too large, or whose names are damaged, are refused unread."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from drurank.errors import InputError
from drurank.limits import refuse_growth

BROKEN = (OSError, pa.ArrowException, MemoryError, UnicodeError, RecursionError, KeyError, TypeError)
"""What damaged files make of Arrow."""
BYTES = 8
"""Of a number in memory."""
OWN_SCHEMA = b"ARROW:schema"
Wanted = Callable[[str], bool]
"""Whether a column of this name is read."""


@contextmanager
def opened_parquet(
    path: str | Path, file: Path, wanted: Wanted = lambda name: True
) -> Iterator[tuple[pa_parquet.ParquetFile, list[str]]]:
    """A file, and the names of those of its columns that are to be read.

    Args:
        path: as it was given, for messages.
        file: where it is.
        wanted: whether a column is read.

    Raises:
        InputError: if these become too large, or a column has another name than the file was written with.
    """
    with pa_parquet.ParquetFile(file, page_checksum_verification=True) as opened:
        _refuse_renamed(path, opened)
        names = [name for name in opened.schema_arrow.names if wanted(name)]
        _refuse_large(path, file.stat().st_size, opened, names)
        yield opened, names


def _refuse_large(path: str | Path, size: int, opened: pa_parquet.ParquetFile, names: list[str]) -> None:
    """Refuse values that are much more than the file.

    Equal ones take next to nothing there, and their room in memory; elements of lists are as many as they like.
    """
    about, schema = opened.metadata, opened.schema
    kept = {*names}
    leaves = [
        place
        for place in range(about.num_columns)
        if (leaf := schema.column(place).path) in kept or any(leaf.startswith(f"{name}.") for name in names)
    ]
    nested = [place for place in leaves if schema.column(place).max_repetition_level > 0]
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    refuse_growth(path, size, sum(group.column(place).total_uncompressed_size for group in groups for place in leaves))
    of_lists = sum(group.column(place).num_values for group in groups for place in nested)
    refuse_growth(path, size, BYTES * of_lists)
    refuse_growth(path, size, of_lists + about.num_rows * (len(leaves) - len(nested)), "cells")


def _refuse_renamed(path: str | Path, opened: pa_parquet.ParquetFile) -> None:
    """Refuse a column whose name is none of those that Arrow has noted beside: no checksum is of names."""
    noted = (opened.metadata.metadata or {}).get(OWN_SCHEMA)
    if noted is None:
        return
    try:
        known = {*pa.ipc.read_schema(pa.py_buffer(base64.b64decode(noted))).names}
    except ValueError as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(f"{path} is damaged: its note of its columns cannot be read ({said})") from error
    odd = [name for name in opened.schema_arrow.names if name not in known]
    if odd:
        raise InputError(
            f"{path} is damaged: its column {odd[0]!r} had another name when it was written; write it again"
        )
