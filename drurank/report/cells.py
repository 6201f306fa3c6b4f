"""Columns of a table of predictions: splits, groups, labels and counts as their cells say them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from drurank.checks import MOST_ROWS
from drurank.errors import InputError, nearest
from drurank.figures.classes import Numbering, class_numbers
from drurank.report.counts import ALL
from drurank.splits import TEST, TRAINING, VALIDATION
from drurank.tabular.columns import LARGEST, Column, Names, refuse_unknown
from drurank.tabular.rules.cells import blank_cells
from drurank.words import as_names

ORDER = (*TEST, *VALIDATION, *TRAINING)


OF_PREDICT = {"row", "split", "group", "prediction"}
"""Columns by which a table is known as one that ``predict`` wrote."""


def refuse_lacking(path: str, table: pa.Table, label: str, others: Sequence[str]) -> None:
    """Refuse a table of predictions without the right classes, or without another column that is needed.

    Raises:
        InputError: naming the first.
    """
    written = {*table.column_names} >= OF_PREDICT
    hint = "; predict writes the data's group as 'group' and its label as 'label'" if written else ""
    refuse_unknown(
        path,
        table,
        [label],
        "; without the right class of each row nothing can be scored: name its column as label=..., or predict rows "
        f"that have labels{hint}",
    )
    refuse_unknown(path, table, others, hint)


def refuse_on_alone(on: Names, split: str | None) -> None:
    """Refuse names of splits without the column that says of which a row is."""
    if as_names(on) and split is None:
        raise InputError(f"on is {on!r}, and no column says of which split a row is; give split=... too")


def named_splits(on: Names, split: str | None, known: Sequence[str]) -> list[str]:
    """The splits that are named, in the order of those there are; all, if none is named.

    Args:
        on: what is given.
        split: column of the split.
        known: the splits there are.

    Raises:
        InputError: if there is no such split.
    """
    wanted = as_names(on)
    for name in wanted:
        if name not in known:
            raise InputError(f"on is {on!r}, and column {split!r} has no split {name!r}: {nearest(name, known)}")
    return [name for name in known if not wanted or name in wanted]


def rows_by_split(split: Column | None, rows: int) -> dict[str, np.ndarray]:
    """Which rows are of each split, splits with unseen groups first; all are one, if there is no column."""
    if split is None:
        return {ALL: np.ones(rows, dtype=bool)}
    refuse_blank([split], "split")
    order = {name: place for place, name in enumerate(ORDER)}
    names = sorted(split.texts, key=lambda name: (order.get(name, len(order)), name))
    return {name: split.codes == split.texts.index(name) for name in names}


def said_seen(column: Column, code: np.ndarray, groups: int) -> np.ndarray | None:
    """What a column says of each group, bool ``[m]``; ``None`` where it says nothing of one, or two things."""
    words = {"true": True, "false": False}
    other = [text for text in column.texts if text.lower() not in words]
    if other:
        row = int(np.argmax(column.codes == column.texts.index(other[0])))
        raise column.error(row, "is neither true nor false; write one of them, or give the column another name")
    row_says = np.array([*(words[text.lower()] for text in column.texts), False])[column.codes]
    yes = np.bincount(code[row_says], minlength=groups)
    no = np.bincount(code[~row_says & (column.codes >= 0)], minlength=groups)
    return yes > 0 if ((yes > 0) != (no > 0)).all() else None


def numbered(label: Column, prediction: Column, known: Sequence[str]) -> tuple[np.ndarray, np.ndarray, Numbering]:
    """Class numbers of labels and predictions, int64 ``[n]`` each, and that of a text.

    Equal numbers are one class however they are written.
    """
    for column, what in ((label, "label"), (prediction, "prediction")):
        refuse_blank([column], what)
    number_of = class_numbers(known, prediction.texts)
    true, said = (_numbers(column.texts, number_of)[column.codes] for column in (label, prediction))
    if (said < 0).any():
        row = int(np.argmax(said < 0))
        raise prediction.error(
            row,
            f"is not one of the labels; {nearest(prediction.texts[prediction.codes[row]], known)}; give the predicted "
            "class in each row, or name all classes, as labels='0,1,2'",
        )

    return true, said, number_of


def _numbers(texts: Sequence[str], number_of: Numbering) -> np.ndarray:
    found = (number_of(text) for text in texts)
    return np.array([-1 if number is None else number for number in found], dtype=np.int64)


def counts_of_column(column: Column, times: np.ndarray | None = None) -> np.ndarray:
    """Counts, int64 ``[n]``.

    Args:
        column: of their cells.
        times: how often each row occurs, int64 ``[n]``; once, if not given.

    Raises:
        InputError: naming the first cell that is not a whole number of 0 or more, or too large.
    """
    numbers = column.numbers
    wrong = ~((numbers >= 0) & (numbers == np.floor(numbers)) & np.isfinite(numbers))
    if wrong.any():
        raise column.error(int(np.argmax(wrong)), "is not a count; give whole numbers of 0 or more")
    every = numbers if times is None else numbers * times
    if every.sum() > MOST_ROWS:
        raise column.error(int(np.argmax(numbers)), f"is too large: with the others it is above {MOST_ROWS:,} rows")
    return every.astype(np.int64)


def weights_of_column(column: Column) -> np.ndarray:
    """Weights of rows, float64 ``[n]``.

    Raises:
        InputError: naming the first cell that is no number of 0 or more, or if all are 0.
    """
    numbers = column.numbers
    wrong = ~((numbers >= 0) & (numbers <= LARGEST))
    if wrong.any():
        raise column.error(int(np.argmax(wrong)), f"is no weight; give numbers from 0 to {LARGEST:g}")
    if not numbers.any():
        raise InputError(f"{column.path}: every weight in {column.name!r} is 0; give one at least that is above 0")
    return numbers


def refuse_blank(columns: Sequence[Column], what: str) -> None:
    """Refuse blank cells.

    Args:
        columns: of the same rows.
        what: what they say, as ``group``.

    Raises:
        InputError: naming the first.
    """
    for finding in blank_cells(columns, what, np.arange(len(columns[0].codes)) if columns else np.zeros(0, np.int64)):
        raise finding.error(columns[0].path)
