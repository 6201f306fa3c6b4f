"""The mean loss of a split, over its rows and not over its batches."""

from __future__ import annotations

import torch
from torch import Tensor

from drurank.dcg import precise
from drurank.processes import sum_over_processes_


class SplitLoss:
    """Keeps the loss of each row, so that one counts once, whoever read it how often. Costs 8 bytes a row.

    Args:
        rows: number of rows.
        device: where the table is to live.
    """

    def __init__(self, rows: int, device: torch.device) -> None:
        self._table = torch.zeros(2, rows, device=device)
        """Loss of each row, and how many processes read it."""
        self._is_whole = True

    def write(self, index: Tensor, losses: Tensor) -> None:
        """Note a batch's losses; does not wait for the device.

        Args:
            index: the rows' places in the dataset, int64 ``[B]``.
            losses: float ``[B]``.
        """
        self._table[0].index_copy_(0, index, losses.detach().float())
        self._table[1].index_fill_(0, index, 1)

    def give_up(self) -> None:
        """There is no loss of some rows, and so no mean."""
        self._is_whole = False

    def mean(self) -> Tensor | None:
        """Mean loss of the rows that were read, of all processes, float32 scalar; every process must call it.

        ``None`` where there is none.
        """
        if not self._is_whole:
            return None
        loss, readers = sum_over_processes_(self._table)
        by_row = (loss / readers.clamp(min=1)).to(precise(loss))
        mean: Tensor = by_row.sum() / (readers > 0).sum()
        return mean.float()
