"""Groups that overlap, as identities that a comment mentions: a row is in each group that its cells say."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drurank.errors import InputError
from drurank.tabular.columns import Column, Files, refuse_unknown
from drurank.words import counted

SAYS = {"1": True, "0": False, "1.0": True, "0.0": False, "true": True, "false": False, "yes": True, "no": False}
"""What the cells of a column of memberships may be, in any case."""


@dataclass(frozen=True)
class Members:
    """Which rows of a table are in which groups; a row is in any number of them.

    Attributes:
        groups: name by code.
        row: place of a row in the table, int64 ``[p]``, once for each of its groups.
        code: of that group, int64 ``[p]``.
    """

    groups: Sequence[str]
    row: np.ndarray
    code: np.ndarray

    def sorted(self) -> Members:
        """The same with the groups in the order of their names."""
        order = sorted(range(len(self.groups)), key=self.groups.__getitem__)
        return Members([self.groups[i] for i in order], self.row, np.argsort(np.array(order, np.int64))[self.code])


def read_members(
    path: str,
    table: pa.Table,
    columns: Sequence[str],
    places: np.ndarray | None = None,
    files: Files | None = None,
) -> Members:
    """What the cells of some columns say.

    Args:
        path: what the table is called in messages.
        table: its rows.
        columns: one for each group, of 0 and 1; or a single one of lists of names.
        places: of the rows in the file, int64 ``[n]``, where they are but some of its rows.
        files: those of the rows, where the table is of several.

    Raises:
        InputError: if a column is missing, or a cell says neither.
    """
    refuse_unknown(path, table, columns)
    if len(columns) == 1 and is_lists(table[columns[0]].type):
        return _of_lists(path, columns[0], table[columns[0]])
    members = [_members(Column(path, name, table[name], places, files)) for name in columns]
    row = np.concatenate([np.flatnonzero(each) for each in members])
    return Members(list(columns), row, np.repeat(np.arange(len(members)), [int(each.sum()) for each in members]))


def is_lists(kind: pa.DataType) -> bool:
    """Whether a column holds lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _of_lists(path: str, name: str, column: pa.ChunkedArray) -> Members:
    lists = column.combine_chunks()
    lacking = np.flatnonzero(lists.is_null().to_numpy(zero_copy_only=False))
    if len(lacking):
        raise InputError(
            f"{path}: column {name!r}, row {lacking[0]} (the first is 0) has no list of groups, one of "
            f"{counted(len(lacking), 'such row')}; write [] for a row of no group, or leave the row out"
        )
    rows = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    try:
        coded = pc.list_flatten(lists).cast(pa.string()).dictionary_encode()
    except pa.ArrowException as error:
        raise InputError(
            f"{path}: column {name!r} holds {lists.type}, whose elements are no names of groups "
            f"({' '.join(str(error).split())[:200]}); write a list of texts in each row"
        ) from error
    written = [unicodedata.normalize("NFC", text.strip()) for text in coded.dictionary.to_pylist()]
    code = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    blank = np.array([*(not text for text in written), True])[code]
    if blank.any():
        row = int(rows[np.argmax(blank)])
        raise InputError(
            f"{path}: column {name!r}, row {row} (the first is 0) has a blank name in its list of groups; take it out"
        )
    place = {text: number for number, text in enumerate(dict.fromkeys(written))}
    names = np.array([*place], dtype=object)
    code = np.array([place[text] for text in written], dtype=np.int64)[code]
    order = np.argsort(names)
    pairs = np.unique(np.stack([np.argsort(order)[code], rows]), axis=1)  # a name twice in a list counts once
    return Members(names[order].tolist(), pairs[1], pairs[0])


def _members(column: Column) -> np.ndarray:
    blank = column.codes < 0
    if blank.any():
        more = f", one of {blank.sum():,} such cells" if blank.sum() > 1 else ""
        raise column.error(
            int(np.argmax(blank)), f"is not a group{more}; write 0 or 1 in each row, or leave the row out"
        )
    other = [text for text in column.texts if text.strip().lower() not in SAYS]
    if other:
        row = int(np.argmax(column.codes == column.texts.index(other[0])))
        raise column.error(row, "is neither 0 nor 1; with by='overlapping' a column says whether a row is in its group")
    says: np.ndarray = np.array([SAYS[text.strip().lower()] for text in column.texts], dtype=bool)[column.codes]
    return says
