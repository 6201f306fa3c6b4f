"""Empirical risk minimisation."""

from __future__ import annotations

import torch
from torch import Tensor

from drurank.methods.group_module import GroupModule
from drurank.training.record import EpochRecord


class ERM(GroupModule):
    """Empirical risk minimisation: every sample weighs 1; the objective is the mean loss.

    Args:
        **kwargs: those of ``GroupModule``.
    """

    def reweight(self, record: EpochRecord) -> Tensor:
        """All ones."""
        return torch.ones_like(record.correct, dtype=torch.float32)
