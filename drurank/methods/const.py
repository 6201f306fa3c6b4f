"""Upweighting of every misclassified sample alike."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from drurank.errors import check_number
from drurank.methods.group_module import AccuracyFrom, GroupModule
from drurank.training.record import EpochRecord


class Const(GroupModule):
    """Upweights by a constant every sample that was wrong in the last epoch, whatever its group.

    ``w_i = upweight_factor`` where sample ``i`` was misclassified, else 1. The paper's Const+M; the first epoch is ERM.

    Args:
        upweight_factor: weight ``w_i`` of a sample that was misclassified; above 0.
        accuracy_from: whose predictions say what is wrong, ``evaluation`` or ``training``; see ``DRU``. That of
            the class, if not given.
        **kwargs: those of ``GroupModule``.

    Raises:
        InputError: if ``upweight_factor`` is out of range.
    """

    def __init__(self, upweight_factor: float = 2, accuracy_from: AccuracyFrom | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.take_accuracy_from(accuracy_from)
        self.upweight_factor = check_factor(upweight_factor)

    @property
    def title(self) -> str:
        """Its name in the paper's tables."""
        return "Const+M"

    def reweight(self, record: EpochRecord) -> Tensor:
        """The factor for the misclassified samples; see the class."""
        return torch.where(
            record.correct == 0, self.upweight_factor, torch.ones_like(record.correct, dtype=torch.float32)
        )


def check_factor(factor: float) -> float:
    """Refuse an upweighting factor that is not above 0, or too large for a weight in single precision."""
    check_number("upweight_factor", factor, 0, 1e30, above=True)
    return factor
