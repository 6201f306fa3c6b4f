"""Some rows and columns of a large CSV file, picked while it is read, so that the rest of it takes no memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter

import numpy as np
import pyarrow as pa

from drurank.errors import InputError, nearest
from drurank.tabular.delimited import as_tables, iter_rows
from drurank.tabular.text import TextFile


def pick_rows(text: TextFile, columns: Sequence[str], kept: np.ndarray) -> tuple[pa.Table, int]:
    """Read some columns and rows of a file whose cells commas part.

    Args:
        text: the file.
        columns: names of two or more.
        kept: whether a row is, bool ``[n]``; rows beyond these are not.

    Returns:
        The cells as they stand in the file, all text, and how many rows the file has.

    Raises:
        InputError: if a column is not there, a row has more or fewer cells than the header, a quote is open, or the
            file cannot be read.
    """
    schema = pa.schema([(name, pa.string()) for name in columns])
    count = 0

    def picked(rows: Iterator[list[str]], places: list[int]) -> Iterator[tuple[str, ...]]:
        nonlocal count
        pick = itemgetter(*places)
        for count, cells in enumerate(rows, start=1):
            if count <= len(kept) and kept[count - 1]:
                yield pick(cells)

    try:
        rows = iter_rows(text, ",")
        names = next(rows)
        for name in columns:
            if name not in names:
                raise InputError(f"{text.path} has no column {name!r}; {nearest(name, names)}")
            if names.count(name) > 1:
                raise InputError(f"{text.path} has the column {name!r} twice; rename one of them")
        tables = list(as_tables(picked(rows, [names.index(name) for name in columns]), schema))
    except OSError as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(
            f"{text.path} cannot be read beyond row {count} (the first is 0): {said}; fix the file or its permissions"
        ) from error
    return pa.concat_tables([schema.empty_table(), *tables]), count
