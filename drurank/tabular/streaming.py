"""Parquet files as the rows that differ in some columns, read piece by piece: memory is by those, not by all rows."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from drurank.errors import InputError
from drurank.tabular.arrow import checked, parquet_head, parquet_pieces
from drurank.tabular.columns import Column, Files
from drurank.tabular.formats import PARQUET
from drurank.tabular.reading import refuse_names, refuse_other_files, refusing_damage, suffix_of
from drurank.tabular.several import Source, concatenated, files_of, joined

PIECE = 1 << 20
"""Rows that are read at a time."""
LEAST_MERGED = 1 << 20
"""Rows of pieces beside those that are merged already, from which on all are merged."""
TIMES, FIRST = "times", "first"
"""How often a row occurs, and the place where it does so first; the other columns are called by their number then."""


def may_stream(path: str) -> bool:
    """Whether a path names files of Parquet only."""
    return all(suffix_of(file) in PARQUET and Path(os.path.expanduser(file)).is_file() for file in files_of(path))


def read_distinct(path: str, names: Collection[str]) -> Source:
    """The rows of some columns that differ, in the order in which they occur first, and how often each does.

    Args:
        path: one file of Parquet, or several as ``files_of`` has them.
        names: of the columns; those that no file has are left out.

    Raises:
        InputError: if a file is damaged or becomes too large, has other columns than the first, a column of what is no
            number, boolean or text, or there are no rows.
    """
    files = files_of(path)
    heads, starts = [], [0]
    for file in files:
        head, rows = _head(file, names)
        heads.append(head)
        starts.append(starts[-1] + rows)
    whole = joined(files, heads)
    if starts[-1] == 0:
        raise InputError(f"{path} has no rows; give a table with at least one")
    for name in whole.column_names:
        Column(path, name, whole[name])  # which refuses what cannot be told apart
    found = _distinct(files, starts, whole)
    order = found[FIRST].to_numpy().argsort(kind="stable")
    found = found.take(pa.array(order))
    table = found.select(list(map(str, range(whole.num_columns)))).rename_columns(whole.column_names)
    several = Files(files, np.array(starts[:-1]))
    path = files[0] if len(files) == 1 else path
    return Source(path, several, table, found[FIRST].to_numpy(), found[TIMES].to_numpy())


def _head(file: str, names: Collection[str]) -> tuple[pa.Table, int]:
    """The columns of a file, and how many rows it has."""
    there = Path(os.path.expanduser(file))
    refuse_other_files(file, there)
    with refusing_damage(file):
        refuse_names(file, pa_parquet.read_schema(there).names)
        return parquet_head(file, there, names), pa_parquet.read_metadata(there).num_rows


def _distinct(files: Sequence[str], starts: Sequence[int], whole: pa.Table) -> pa.Table:
    """The rows that differ, columns by their number in a table of all files without rows."""
    names = whole.column_names
    parts: list[pa.Table] = []
    for file, start in zip(files, starts, strict=False):
        with refusing_damage(file):
            place = start
            for piece in parquet_pieces(file, Path(os.path.expanduser(file)), names, PIECE):
                found = _of_piece(piece.select(names), place)
                first = found[FIRST].to_numpy()
                told = found.select(list(map(str, range(len(names))))).rename_columns(names)
                told = checked(file, told.replace_schema_metadata(piece.schema.metadata), first - start)
                told = concatenated(files, [whole, told]).rename_columns(list(map(str, range(len(names)))))
                parts = _with(parts, told.append_column(TIMES, found[TIMES]).append_column(FIRST, found[FIRST]))
                place += piece.num_rows
    return _merged(parts)


def _of_piece(piece: pa.Table, place: int) -> pa.Table:
    """The rows of a piece that differ, of which the first is at this place."""
    keys = list(map(str, range(piece.num_columns)))
    told = piece.rename_columns(keys).append_column(FIRST, pa.array(np.arange(place, place + piece.num_rows)))
    return _grouped(told, keys, (FIRST, "count"))


def _with(parts: list[pa.Table], part: pa.Table) -> list[pa.Table]:
    """Parts and one more; merged where those behind the first are as many as it, so that each row is so a few times."""
    parts = [*parts, part]
    beside = sum(one.num_rows for one in parts[1:])
    return [_merged(parts)] if beside > parts[0].num_rows + LEAST_MERGED else parts


def _merged(parts: Sequence[pa.Table]) -> pa.Table:
    whole = pa.concat_tables(parts)
    keys = [name for name in whole.column_names if name not in (TIMES, FIRST)]
    return _grouped(whole, keys, (TIMES, "sum"))


def _grouped(table: pa.Table, keys: list[str], counted: tuple[str, str]) -> pa.Table:
    found = table.group_by(keys).aggregate([counted, (FIRST, "min")])
    return found.select([*keys, "_".join(counted), f"{FIRST}_min"]).rename_columns([*keys, TIMES, FIRST])
