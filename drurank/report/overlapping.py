"""Groups that overlap, as identities that a comment mentions: a row is in each group that its columns say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drurank.errors import InputError
from drurank.figures import Outcomes
from drurank.report.answers import Answers
from drurank.report.cells import refuse_blank
from drurank.tabular.columns import Column, refuse_unknown

SAYS = {"1": True, "0": False, "1.0": True, "0.0": False, "true": True, "false": False, "yes": True, "no": False}
"""What the cells of a column of memberships may be, in any case."""


def overlapping(answers: Answers, path: str, table: pa.Table, columns: Sequence[str]) -> Answers:
    """The same rows, each once in every group that it is in; those of no group count among all rows only.

    Args:
        answers: the rows, in whatever groups.
        path: what the table is called in messages.
        table: these rows.
        columns: one for each group, of 0 and 1; or a single one of lists of names.

    Raises:
        InputError: if a column is missing, a cell says neither, or no row is in any group.
    """
    refuse_unknown(path, table, columns)
    if len(columns) == 1 and is_lists(table[columns[0]].type):
        groups, rows, code = _of_lists(path, columns[0], table[columns[0]])
    else:
        groups = list(columns)
        members = [_members(Column(path, name, table[name], answers.places, answers.files)) for name in columns]
        rows = np.concatenate([np.flatnonzero(each) for each in members])
        code = np.repeat(np.arange(len(members)), [int(each.sum()) for each in members])
    if not len(rows):
        raise InputError(f"{path}: no row is in any of the groups {', '.join(groups or columns)}; name other columns")
    here = {name: of_split[rows] for name, of_split in answers.rows.items()}
    trained = here.get("train")
    return replace(
        answers,
        outcomes=_taken(answers.outcomes, rows),
        code=code,
        groups=groups,
        rows=here,
        times=None if answers.times is None else answers.times[rows],
        seen=None if trained is None else np.bincount(code[trained], minlength=len(groups)) > 0,
        whole=answers,
    )


def is_lists(kind: pa.DataType) -> bool:
    """Whether a column holds lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _of_lists(path: str, name: str, column: pa.ChunkedArray) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Groups by name, and row and group of each membership."""
    lists = column.combine_chunks()
    rows = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    try:
        coded = pc.list_flatten(lists).cast(pa.string()).dictionary_encode()
    except pa.ArrowException as error:
        raise InputError(
            f"{path}: column {name!r} holds {lists.type}, whose elements are no names of groups "
            f"({' '.join(str(error).split())[:200]}); write a list of texts in each row"
        ) from error
    names = np.array(coded.dictionary.to_pylist(), dtype=object)
    known = coded.indices.is_valid().to_numpy(zero_copy_only=False)
    code = coded.indices.fill_null(0).to_numpy(zero_copy_only=False)[known]
    order = np.argsort(names)
    pairs = np.unique(np.stack([np.argsort(order)[code], rows[known]]), axis=1)  # a name twice in a list counts once
    return names[order].tolist(), pairs[1], pairs[0]


def _members(column: Column) -> np.ndarray:
    refuse_blank([column], "group")
    other = [text for text in column.texts if text.strip().lower() not in SAYS]
    if other:
        row = int(np.argmax(column.codes == column.texts.index(other[0])))
        raise column.error(row, "is neither 0 nor 1; with by='overlapping' a column says whether a row is in its group")
    says: np.ndarray = np.array([SAYS[text.strip().lower()] for text in column.texts])[column.codes]
    return says


def _taken(rows: Outcomes, place: np.ndarray) -> Outcomes:
    return replace(
        rows,
        label=rows.label[place],
        prediction=rows.prediction[place],
        score=None if rows.score is None else rows.score[place],
        probability=None if rows.probability is None else rows.probability[place],
    )
