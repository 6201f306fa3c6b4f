"""Parquet files of counts by group, as they were written or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from drurank.checks import MOST_ROWS
from drurank.errors import InputError
from drurank.files import refuse_pipe, replace_file
from drurank.parquet import BROKEN, opened_parquet

COUNTED = ("count", "correct")


OVERLAP = b"drurank_overlap"
"""In the metadata of a file: its groups overlap, so that their rows do not add up to all rows."""


def write_checked(table: pa.Table, file: Path, *, overlap: bool = False) -> None:
    """Write a table with checksums, which every reader of ours looks at.

    Args:
        table: what to write.
        file: where.
        overlap: whether its groups overlap, which ``read_counts`` refuses.
    """
    if overlap:
        table = table.replace_schema_metadata({OVERLAP: b"true"})
    replace_file(file, lambda beside: pa_parquet.write_table(table, beside, write_page_checksum=True))


def read_counts(file: Path, names: Sequence[str], remedy: str) -> pa.Table:
    """Correct rows and rows by group.

    Args:
        file: Parquet, with these columns and perhaps others.
        names: columns of text by which a row is known, as ``split`` and ``group``.
        remedy: end of a sentence about a damaged file.

    Returns:
        The columns ``names``, ``count`` and ``correct``, int64.

    Raises:
        InputError: if it cannot be read, a column is missing, the counts are none, or its groups overlap.
    """
    refuse_pipe(file, remedy)
    try:
        needed = [*names, *COUNTED]
        with opened_parquet(file, file, needed.__contains__) as (opened, known):
            lacking = [name for name in needed if name not in known]
            if lacking:
                raise InputError(f"{file} is damaged: its column {lacking[0]} is missing; {remedy}")
            table = opened.read(needed)
            overlap = OVERLAP in (opened.schema_arrow.metadata or {})
        table.validate(full=True)
        kinds = {name: pa.string() for name in names} | dict.fromkeys(COUNTED, pa.int64())
        table = pa.table({name: table[name].cast(kind) for name, kind in kinds.items()})
    except BROKEN as error:
        raise InputError(f"{file} cannot be read ({' '.join(str(error).split())[:200]}); {remedy}") from error
    if overlap:
        raise InputError(
            f"{file} counts groups that overlap, and a row once in each of its groups, so that they do not add up to "
            "all rows, as studies and compare take them to; look at the report of each run, or give groups of which a "
            "row is in one"
        )
    if any(table[name].null_count for name in table.column_names):
        raise InputError(f"{file} is damaged: it has a cell without a value; {remedy}")
    count, correct = (table[name].to_numpy() for name in COUNTED)
    if bool(np.any((correct < 0) | (correct > count) | (count < 1))):
        raise InputError(f"{file} is damaged: it has more rows classified correctly than rows, or none; {remedy}")
    if float(count.sum(dtype=np.float64)) > MOST_ROWS:
        raise InputError(f"{file} is damaged: it has more than {MOST_ROWS:,} rows, as no data set has; {remedy}")
    if table.num_rows and table.group_by([*names]).aggregate([]).num_rows < table.num_rows:
        raise InputError(f"{file} is damaged: it has a group twice; {remedy}")
    return table
