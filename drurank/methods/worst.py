"""Upweighting of the worst group alone."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from drurank.errors import check_choice
from drurank.methods.const import check_factor
from drurank.methods.dru import Upweight
from drurank.methods.group_module import AccuracyFrom, GroupModule
from drurank.training.ranked_figure import RankFigure, said_figure
from drurank.training.record import EpochRecord


class Worst(GroupModule):
    """Upweights the worst group of the last epoch by a constant: ``w_g = upweight_factor`` where ``r_g = 0``, else 1.

    All groups tied for the worst get it, and none where all groups have the same accuracy. The paper's hard minimax
    (Worst+G, Worst+M); the first epoch is ERM.

    Args:
        upweight_factor: weight of the worst group's samples, ``w_g`` where ``r_g = 0``; above 0.
        upweight: which samples of the group get it: ``misclassified`` (+M) or ``all`` (+G).
        accuracy_from: whose predictions rank the groups, ``evaluation`` or ``training``; see ``DRU``. That of
            the class, if not given.
        rank_by_figure: what the groups are ranked by, ``accuracy``, ``loss``, ``fnr`` or ``fpr``; see ``DRU``.
        **kwargs: those of ``GroupModule``.

    Raises:
        InputError: if ``upweight_factor`` is out of range.
    """

    needs_groups = True

    def __init__(
        self,
        upweight_factor: float = 2,
        upweight: Upweight = "misclassified",
        accuracy_from: AccuracyFrom | None = None,
        rank_by_figure: RankFigure = "accuracy",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_choice("upweight", upweight, Upweight)
        self.take_accuracy_from(accuracy_from)
        self.take_rank_figure(rank_by_figure)
        self.upweight_factor = check_factor(upweight_factor)
        self.upweight = upweight

    @property
    def title(self) -> str:
        """Its name in the paper's tables, Worst+M or Worst+G, and the figure that it ranks by, if not accuracy."""
        return f"Worst+{'M' if self.upweight == 'misclassified' else 'G'}{said_figure(self.rank_by_figure)}"

    def reweight(self, record: EpochRecord) -> Tensor:
        """The factor for the worst groups' samples; see the class."""
        accuracy = self.ranked_accuracy(record)
        rank = self.group_rank(accuracy)
        by_group = torch.where(rank == 0, self.upweight_factor, torch.ones_like(rank))
        by_group = self.where_groups_differ(by_group, accuracy)
        return record.to_samples(by_group, only_wrong=self.upweight == "misclassified")
