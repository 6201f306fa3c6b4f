"""Rows that are in several groups, or in none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from drurank.errors import InputError


@dataclass(frozen=True, eq=False)
class Memberships:
    """Which rows are in which groups, in place of one group a row; see ``GroupedDataset``.

    Attributes:
        row: place of a row, int64 ``[p]``, once for each of its groups, in ascending order.
        group: number of that group, int64 ``[p]``.
        rows: number of rows ``n``, those of no group included.
    """

    row: Tensor
    group: Tensor
    rows: int

    @classmethod
    def of(cls, row: Tensor, group: Tensor, rows: int) -> Memberships:
        """Pairs of row and group in any order; one that is named twice counts once.

        Args:
            row: integer ``[p]``, in ``[0, rows)``.
            group: integer ``[p]``, 0 or more.
            rows: number of rows.

        Raises:
            InputError: if they are not of one length, or out of range.
        """
        for name, value in (("row", row), ("group", group)):
            if value.ndim != 1 or value.shape != row.shape or value.is_floating_point() or value.dtype == torch.bool:
                raise InputError(f"memberships: {name} is {value.dtype} {list(value.shape)}; give integers, [p] each")
        row, group = row.long().cpu(), group.long().cpu()
        if len(row) and (int(row.min()) < 0 or int(row.max()) >= rows or int(group.min()) < 0):
            raise InputError(
                f"memberships have rows {int(row.min())} to {int(row.max())} of {rows} and groups from "
                f"{int(group.min())}; rows and groups count from 0"
            )
        groups = int(group.max()) + 1 if len(group) else 1
        pairs = torch.unique(row * groups + group)  # sorted
        return cls(pairs // groups, pairs % groups, rows)

    def to(self, device: torch.device | str) -> Memberships:
        """The same on a device."""
        return replace(self, row=self.row.to(device), group=self.group.to(device))

    def where(self, rows: Tensor) -> Memberships:
        """Those of some rows, bool ``[n]``; the others are then in no group."""
        kept = rows[self.row]
        return replace(self, row=self.row[kept], group=self.group[kept])

    def refuse_empty(self, where: str, columns: Sequence[str]) -> None:
        """Refuse rows of which none is in any group.

        Args:
            where: what the rows are called in the sentence.
            columns: those of the groups.

        Raises:
            InputError: if there is no membership.
        """
        if not len(self.row):
            raise InputError(f"{where}: no row is in any of the groups {', '.join(columns)}; name other columns")
