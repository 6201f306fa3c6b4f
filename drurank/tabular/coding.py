"""Labels, groups and splits of rows as codes: int64 ``[n]``, -1 where a row has none; nothing is refused here."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from drurank.errors import nearest
from drurank.splits import SPLITS
from drurank.tabular.columns import Column, to_number

log = logging.getLogger(__name__)

ALL_ROWS = "all"
UNKNOWN = "-1"
"""What stands for a label that is not known, as in the test splits of GLUE."""


def code_splits(column: Column, split_names: Mapping[str, str]) -> tuple[np.ndarray, list[str]]:
    """The split of each row by what its cell stands for, and the splits that have rows, in the order of ``SPLITS``.

    Args:
        column: the splits as they are written.
        split_names: text of the column to the split that it stands for.
    """
    meant = [split_names.get(text) for text in column.texts]
    splits = [split for split in SPLITS if split in meant]
    code = np.array([*(splits.index(name) if name else -1 for name in meant), -1], dtype=np.int64)
    return code[column.codes], splits


def code_labels(column: Column) -> tuple[np.ndarray, list[str]]:
    """The label of each row, and the labels in the order of their numbers, or else of the alphabet."""
    names = sorted(column.texts)
    number = {name: to_number(name) for name in names}
    if np.isfinite(list(number.values())).all():
        names.sort(key=number.__getitem__)
    place = {name: code for code, name in enumerate(names)}
    return np.array([*(place[text] for text in column.texts), -1], dtype=np.int64)[column.codes], names


def without_unknown(
    code: np.ndarray, names: list[str], split: np.ndarray, splits: Sequence[str], trained: Sequence[str] | None
) -> tuple[np.ndarray, list[str]]:
    """The labels with those of a split blank where each is -1 and training has no such label.

    Args:
        code: label of each row, int64 ``[n]``.
        names: name by code.
        split: split of each row, int64 ``[n]``.
        splits: name by code.
        trained: the labels of training where the rows do not say them.
    """
    if UNKNOWN not in names or (trained is None and "train" not in splits):
        return code, names
    place, code = names.index(UNKNOWN), code.copy()
    learnt = code[split == splits.index("train")] if "train" in splits else code[:0]
    if UNKNOWN in (trained or ()) or (learnt == place).any():
        return code, names
    for number in np.unique(split[code == place]):
        here = split == number
        if (code[here] == place).all():
            code[here] = -1
    if (code == place).any():
        return code, names
    return code - (code > place), [name for name in names if name != UNKNOWN]


def code_groups(columns: Sequence[Column], rows: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """The combination of the columns' cells in each of these rows, and their names, sorted.

    Args:
        columns: one or several; of none, all rows are one group. A row with a blank cell has no group.
        rows: places in the table, int64 ``[n]``.
    """
    group = np.zeros(len(rows), dtype=np.int64)
    if not columns:
        return group, [ALL_ROWS]
    blank = np.zeros(len(rows), dtype=bool)
    for column in columns:
        code = column.codes[rows]
        blank |= code < 0
        # Numbered anew after each column, so that the product never overflows.
        group = np.unique(group * len(column.texts) + code, return_inverse=True)[1]
    _, first, group[~blank] = np.unique(group[~blank], return_index=True, return_inverse=True)
    cells = rows[~blank][first]
    pieces = [np.array(column.texts, dtype=object)[column.codes[cells]] for column in columns]
    names = [join_names(list(piece)) for piece in zip(*pieces, strict=True)]
    order = sorted(range(len(names)), key=names.__getitem__)
    group[blank] = -1
    renumbered = np.array([*np.argsort(order), -1], dtype=np.int64)
    return renumbered[group], sorted(names)


def join_names(names: list[str]) -> str:
    """The name of a combination of groups, told apart also where a name has a bar in it."""
    return names[0] if len(names) == 1 else " | ".join(name.replace("|", "\\|") for name in names)


def relabelled(column: Column, meant: Mapping[str, str], *, warn: bool, option: str = "relabel") -> pa.Array:
    """The cells of a column of labels or groups with some of them standing for others, as text.

    Args:
        column: the labels or groups.
        meant: name as it is written to what it stands for.
        warn: whether to warn where one does not occur.
        option: what gave the names, for messages.
    """
    known = set(column.texts)
    for written in meant:
        if warn and column.plain(written) not in known:
            log.warning(
                "%s: %s names %r, which no row has as %r; %s",
                column.path,
                option,
                written,
                column.name,
                nearest(written, column.texts),
            )
    meant = {column.plain(written): text for written, text in meant.items()}
    texts = np.array([*(meant.get(text, text) for text in column.texts), None], dtype=object)
    return pa.array(texts[column.codes], pa.string())
