"""Rows that lack a label, a group or a text: refused, or left out and counted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drurank.errors import InputError
from drurank.tabular.columns import Column
from drurank.tabular.rules.cells import REMEDY
from drurank.tabular.several import Source


def kept_rows(
    source: Source, label: Column, group: list[Column], text: list[str], *, drop: bool
) -> tuple[np.ndarray, dict[str, int] | None]:
    """The rows that have a label, a group and a text, and how many lack each.

    A blank cell is a missing one. Of several columns of text one that is not blank is enough.

    Args:
        source: the table.
        label: its column of the label.
        group: its columns of the group.
        text: names of its columns of text, if any are used.
        drop: whether rows that lack one are left out, or refused.

    Returns:
        Places of the rows, int64 ``[k]``, and how many rows lack a cell, by column (those of text joined by a comma);
        ``None`` if they were not to be left out.

    Raises:
        InputError: naming the first cell that is missing; or if no row is left.
    """
    lacking = [("label", label.name, label.codes < 0), *(("group", column.name, column.codes < 0) for column in group)]
    if text:
        blank = np.logical_and.reduce([_blank_texts(source, name) for name in text])
        lacking.append(("text", ",".join(text), blank))
    for what, name, missing in () if drop else lacking:
        if missing.any():
            remedy = f"is not a {what}; {REMEDY}, as drop_missing=True does"
            raise source.column(text[0] if what == "text" else name).error(int(np.argmax(missing)), remedy)
    gone = np.logical_or.reduce([missing for _, _, missing in lacking])
    if gone.all():
        names = ", ".join(dict.fromkeys(name for _, name, _ in lacking))
        raise InputError(f"{source.path}: a cell of {names} is blank in each row; name other columns")
    return np.flatnonzero(~gone), {name: int(missing.sum()) for _, name, missing in lacking} if drop else None


def texts_of(source: Source, names: list[str]) -> pa.ChunkedArray:
    """The texts of all rows, large_string ``[n]``: those of several columns with a line end between.

    Raises:
        InputError: if a column is not of text.
    """
    columns = [_large(source, name) for name in names]
    if len(columns) == 1:
        return columns[0]
    return pc.binary_join_element_wise(
        *columns, pa.scalar("\n", pa.large_string()), null_handling="replace", null_replacement=""
    )


def _blank_texts(source: Source, name: str) -> np.ndarray:
    blank = pc.equal(pc.utf8_trim_whitespace(_large(source, name)), "").fill_null(True)
    found: np.ndarray = blank.to_numpy()
    return found


def _large(source: Source, name: str) -> pa.ChunkedArray:
    cells = source.table[name]
    if not Column(source.path, name, cells.slice(0, 0)).is_text:
        raise InputError(f"{source.path}: column {name!r} holds {cells.type}, which is not text; name one of text")
    return cells.cast(pa.large_string())
