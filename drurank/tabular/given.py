"""Rows that are given in Python, in whatever form a program has them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from drurank.errors import InputError
from drurank.tabular.columns import THE_ROWS
from drurank.tabular.jsonrows import table_of

WANTED = "give a DataFrame, an Arrow table, a list of dicts, a dict of lists, or the path of a file"
NONE = "there are no rows to predict; give at least one"


def name_of(rows: Any) -> str | None:
    """What rows are called in messages that ``as_table`` makes a table of; ``None`` of others, which have a name."""
    return THE_ROWS if isinstance(rows, list | tuple | dict) else None


def as_table(rows: Any) -> Any:
    """Rows as data takes them as its ``path``: a list of dicts and a dict of lists become a table, others stay.

    Args:
        rows: a file's path, a DataFrame (pandas, polars), an Arrow table or a ``Dataset``; a list of dicts, in which a
            key that a row lacks is a missing cell; or a dict of columns.

    Raises:
        InputError: if they are none of these, there is none, or a column holds values of several kinds.
    """
    if isinstance(rows, list | tuple):
        other = next((row for row in rows if not isinstance(row, dict)), None)
        if other is not None:
            raise InputError(f"the rows are a list with a {type(other).__name__}; {WANTED}")
        if not rows:
            raise InputError(NONE)
        if not any(rows):
            raise InputError("the rows have no cells; give each as a dict of its cells by column")
        return table_of(THE_ROWS, iter(rows))
    if isinstance(rows, dict):
        return _of_columns(rows)
    if isinstance(rows, str | os.PathLike) or hasattr(rows, "columns") or hasattr(rows, "__arrow_c_stream__"):
        return rows
    if hasattr(rows, "with_format") and not hasattr(rows, "keys"):
        return rows
    raise InputError(f"the rows are a {type(rows).__name__}; {WANTED}")


def _of_columns(columns: dict[str, Any]) -> pa.Table:
    arrays = {}
    for name, cells in columns.items():
        if isinstance(cells, str | bytes | dict) or hasattr(cells, "columns") or not isinstance(cells, Iterable):
            raise InputError(
                f"the rows are a dict whose {name!r} is {_said(cells)}, and no list; of one row give a list, [row]"
            )
        try:
            arrays[str(name)] = _array(cells)
        except (pa.ArrowException, TypeError, ValueError) as error:
            said = " ".join(str(error).split())[:200]
            raise InputError(f"the rows: column {name!r} cannot be read: {said}; write one kind in a column") from error
    sizes = {name: len(array) for name, array in arrays.items()}
    if len(set(sizes.values())) > 1:
        few, many = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
        raise InputError(
            f"the rows: {few!r} has {sizes[few]:,} values and {many!r} has {sizes[many]:,}; give one of each for a row"
        )
    if not any(sizes.values()):
        raise InputError(NONE)
    return pa.table(arrays)


def _array(cells: Any) -> pa.Array | pa.ChunkedArray:
    if isinstance(cells, pa.Array | pa.ChunkedArray):
        return cells
    # A column of pandas knows which of its cells are missing.
    is_plain = isinstance(cells, list | tuple) or type(cells).__module__.partition(".")[0] == "pandas"
    return pa.array(cells if is_plain else np.asarray(cells))


def _said(cells: Any) -> str:
    return " ".join(repr(cells).split())[:80]
