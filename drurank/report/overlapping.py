"""Groups that overlap, as identities that a comment mentions: a row is in each group that its columns say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from drurank.errors import InputError
from drurank.report.answers import Answers
from drurank.tabular.memberships import Members, read_members


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
    members = read_members(path, table, columns, answers.places, answers.files)
    if not len(members.row):
        named = ", ".join(members.groups or columns)
        raise InputError(f"{path}: no row is in any of the groups {named}; name other columns")
    return in_groups(answers, members)


def in_groups(answers: Answers, members: Members) -> Answers:
    """Rows once in every group that they are in, beside each of them once; see ``overlapping``.

    Args:
        answers: the rows, in whatever groups.
        members: the groups of these rows.
    """
    rows, code = members.row, members.code
    here = {name: of_split[rows] for name, of_split in answers.rows.items()}
    trained = here.get("train")
    return replace(
        answers,
        outcomes=answers.outcomes.at(rows),
        code=code,
        groups=members.groups,
        rows=here,
        times=None if answers.times is None else answers.times[rows],
        seen=None if trained is None else np.bincount(code[trained], minlength=len(members.groups)) > 0,
        whole=answers,
    )
