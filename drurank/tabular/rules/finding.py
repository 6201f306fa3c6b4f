"""One thing that is wrong or looks so, and how many names are said in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from drurank.errors import FindingError, InputError
from drurank.tabular.columns import Column
from drurank.tabular.rows import GroupedRows
from drurank.words import SHOWN, quoted

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
LISTED = 1000
TINY = 10
"""Fewest rows of a group that are not called tiny: with fewer, an accuracy moves in steps of more than a tenth."""


@dataclass(frozen=True)
class Finding:
    """Something that is wrong, or looks so.

    Attributes:
        code: which thing, as ``tiny_groups``.
        severity: ``error`` where a fit stops, ``warning`` where its figures may be wrong or mislead, ``note`` where it
            is good to know.
        sentence: names the column, group, rows or value, and says what to do.
        names: the columns, groups or values meant, the most suspicious first, and no more than ``LISTED``.
        file: where it is, if not in the whole of the data.
        column: where it is, if in one column.
        row: place in the file of the first such row, if it is in rows.
        value: what that cell says.
    """

    code: str
    severity: Severity
    sentence: str
    names: Sequence[str]
    file: str | None = None
    column: str | None = None
    row: int | None = None
    value: str | None = None

    @classmethod
    def of_cell(
        cls,
        code: str,
        severity: Severity,
        column: Column,
        row: int,
        said: str,
        names: Sequence[str] = (),
        of_blank: str | None = None,
    ) -> Finding:
        """One that begins with a cell of a table, at this row of it; it is named by its column if by nothing else.

        Where the cell is blank and ``of_blank`` is given, it is said of the row in place of ``said``.
        """
        row = int(row)
        is_other = of_blank is not None and not column.cell(row).strip()
        return cls(
            code,
            severity,
            f"{column.where(row)} {of_blank}" if is_other else f"{column.said(row)} {said}",
            names or [column.name],
            column.file_of(row),
            column.name,
            column.place_of(row),
            column.cell(row),
        )

    @classmethod
    def of_column(
        cls, code: str, severity: Severity, column: Column | None, what: str, said: str, names: Sequence[str]
    ) -> Finding:
        """One that begins with a column of a table, or, where the data is none, with what it would hold."""
        if column is None:
            return cls(code, severity, f"the {what} {said}", names)
        return cls(code, severity, f"column {column.name!r} {said}", names, column.path, column.name)

    def error(self, source: str, others: Callable[[], Sequence[str]] = tuple) -> InputError:
        """The same as an error, behind the file or the data that it is in; ``others`` looks for those besides it."""
        return FindingError(f"{self.file or source}: {self.sentence}", others)


Check = Callable[[GroupedRows], Iterator[Finding]]


def some_groups(data: GroupedRows, groups: np.ndarray, say: Callable[[int], str] | None = None) -> str:
    """The first few of many groups by their codes, int64 ``[k]``, and how many more there are."""
    say = say or (lambda group: quoted(data.group_names[group]))
    more = f" and {len(groups) - SHOWN:,} more" if len(groups) > SHOWN else ""
    return ", ".join(map(say, groups[:SHOWN].tolist())) + more


def listed(data: GroupedRows, groups: np.ndarray) -> list[str]:
    """Names of groups by their codes, int64 ``[k]``, of the first ``LISTED``."""
    return [data.group_names[group] for group in groups[:LISTED]]


def counted_once(data: GroupedRows, rows: np.ndarray) -> str:
    """What to say behind a count of these rows, int64 ``[k]``, where some repeat others and were left out of it."""
    return " (repeated ones counted once)" if data.repeated[rows].any() else ""
