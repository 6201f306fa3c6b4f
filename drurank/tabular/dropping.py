"""Rows that lack a label, a group or a text: refused, or left out and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drurank.errors import InputError
from drurank.tabular.columns import Column
from drurank.tabular.rules.cells import REMEDY
from drurank.tabular.several import Source
from drurank.words import counted, joined

Lacking = tuple[str, str, Column, np.ndarray]
"""What rows lack, as ``group``; the name of its column, or of several; one to name in messages; and which rows do."""


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
        InputError: naming the first cell that is missing, and how many are of each column; or if no row is left.
    """
    lacking = _blank_cells([label], "label") + _blank_cells(group, "group")
    if text:
        blank = np.logical_and.reduce([_blank_texts(source, name) for name in text])
        lacking.append(("text", ",".join(text), source.column(text[0]), blank))
    return _kept(source.path, lacking, source.times, drop=drop)


def complete_rows(
    path: str,
    labels: Sequence[Column],
    group: Sequence[Column],
    rows: int,
    *,
    drop: bool,
    times: np.ndarray | None = None,
) -> tuple[np.ndarray, dict[str, int] | None]:
    """The rows of predictions or counts that have a label and a group, and how many lack each; as ``kept_rows``.

    Args:
        path: what the table is called in messages.
        labels: its column of the label, or none.
        group: its columns of the group.
        rows: of the table.
        drop: whether rows that lack one are left out, or refused.
        times: how often each row occurs, int64 ``[n]``; once, if not given.

    Raises:
        InputError: naming the first cell that is missing, and how many are of each column; or if no row is left.
    """
    lacking = _blank_cells(labels, "label") + _blank_cells(group, "group")
    if not lacking or not rows:
        return np.arange(rows), {} if drop else None
    return _kept(path, lacking, times, drop=drop)


def _blank_cells(columns: Sequence[Column], what: str) -> list[Lacking]:
    return [(what, column.name, column, column.codes < 0) for column in columns]


def _kept(
    path: str, lacking: Sequence[Lacking], times: np.ndarray | None, *, drop: bool
) -> tuple[np.ndarray, dict[str, int] | None]:
    if not drop:
        _refuse(lacking, times)
    gone = np.logical_or.reduce([missing for *_, missing in lacking])
    if gone.all():
        names = ", ".join(dict.fromkeys(name for _, name, *_ in lacking))
        raise InputError(f"{path}: a cell of {names} is blank in each row; name other columns")
    return np.flatnonzero(~gone), {name: _rows(missing, times) for _, name, _, missing in lacking} if drop else None


def _rows(some: np.ndarray, times: np.ndarray | None) -> int:
    return int(some.sum() if times is None else times[some].sum())


def _refuse(lacking: Sequence[Lacking], times: np.ndarray | None) -> None:
    """Refuse rows that lack something, all that they lack in one sentence."""
    found = [one for one in lacking if one[-1].any()]
    if not found:
        return
    what, _, column, missing = found[0]
    cells = _rows(missing, times)
    more = f", one of {cells:,} such cells" if cells > 1 else ""
    others = [f"{_rows(blank, times):,} of column {name!r} are no {role}" for role, name, _, blank in found[1:]]
    also = f"; blank cells too, {joined(others)}" if others else ""
    remedy = f"is not a {what}{more}{also}; {REMEDY}, as drop_missing=True does"
    raise column.error(int(np.argmax(missing)), remedy)


def said_dropped(dropped: Mapping[str, Any]) -> str:
    """A sentence without its full stop on ``rows`` that were left out, and how many lacked each column of ``blank``."""
    by_column = ", ".join(f"{name} {rows:,}" for name, rows in dropped["blank"].items())
    return f"Left out: {counted(dropped['rows'], 'row')} with a blank cell ({by_column})"


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
