"""A cutoff that follows the data: tried here before anything of it goes into the library."""

from __future__ import annotations

import torch
from torch import Tensor

from drurank.methods import DRU
from drurank.training.record import EpochRecord


class ReliableDRU(DRU):
    """qDRU+M whose cutoff is ``100 R`` in each epoch, with ``R`` the share of the groups' spread that is not chance.

    ``R = 1 - mean_g[a_g (1 - a_g) / (n_g - 1)] / var_g[a_g]``, 0 at least: the variance that chance in the rows makes,
    without bias, against all of it. Where groups differ by chance alone ``R`` is about 0, and nothing is upweighted.
    Groups of one row are left out of ``R``. It takes the options of ``DRU``.
    """

    @property
    def title(self) -> str:
        """Its name in tables."""
        return "qDRU+M auto"

    def reweight(self, record: EpochRecord) -> Tensor:
        """The discounted weight of each sample's group, with the cutoff of this epoch."""
        accuracy, count = record.group_accuracy()
        cutoff = 100 * reliability(accuracy, count)[..., None]
        rank = self.group_rank(accuracy)
        weight = torch.where(rank <= cutoff, torch.log2(cutoff + 2) / torch.log2(rank + 2), 1.0)
        by_group = self.where_groups_differ(weight, accuracy)
        return record.to_samples(by_group, only_wrong=True)


def reliability(accuracy: Tensor, count: Tensor) -> Tensor:
    """``R`` of groups, see ``ReliableDRU``: accuracy float ``[..., m]``, rows int64 ``[..., m]``; float ``[...]``."""
    known = count > 1
    accuracy = torch.where(known, accuracy, 0.0)
    groups = known.sum(dim=-1).clamp(min=2)
    chance = torch.where(known, accuracy * (1 - accuracy) / (count - 1).clamp(min=1), 0.0).sum(dim=-1) / groups
    mean = accuracy.sum(dim=-1) / groups
    spread = torch.where(known, (accuracy - mean[..., None]) ** 2, 0.0).sum(dim=-1) / (groups - 1)
    return torch.where(spread > 0, 1 - chance / spread, 0.0).clamp(min=0.0)
