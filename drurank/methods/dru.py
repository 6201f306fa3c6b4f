"""Discounted Rank Upweighting, the paper's method."""

from __future__ import annotations

import math
from typing import Any, Literal

from torch import Tensor

from drurank.dcg import RankBy
from drurank.errors import check_choice, check_number
from drurank.methods.group_module import AccuracyFrom, GroupModule
from drurank.ranking import Ties, discounted_weights, rank_groups
from drurank.training.ranked_figure import RankFigure, said_figure
from drurank.training.record import EpochRecord

Upweight = Literal["misclassified", "all"]


class DRU(GroupModule):
    """Discounted Rank Upweighting: the worse its group's rank, the more a sample weighs in the next epoch.

    After each epoch the training groups are ranked by accuracy, the worst first, and in the next one the samples of
    group ``g`` weigh ``w_g = log2(C + 2) / log2(r_g + 2)`` where ``r_g <= C``, else 1 (the paper's equation for w). The
    first epoch is ERM. Where all groups have the same accuracy none is worse than another, and all samples weigh 1. In
    tables: qDRU+M, qDRU+G, gDRU+M, gDRU+G.

    Args:
        rank_by: the rank ``r_g``, 0 for the worst; with ``below_g`` the number of groups strictly worse than ``g`` and
            ``m`` that of all, ``quantile`` is ``r_g = 100 below_g / m``, in [0, 100), and ``index`` ``r_g = below_g``.
        upweight: which samples of a group get ``w_g``: ``misclassified`` (+M) those that were wrong in the last epoch,
            while the others weigh 1; ``all`` (+G) every one.
        cutoff: ``C`` in ``w_g = log2(C + 2) / log2(r_g + 2)``; a group with ``r_g > C`` weighs 1. In the unit of
            ``rank_by``, so from 0 to 100 with ``quantile``. At 0 every weight is 1, as in ERM.
        ties: rank of groups of equal accuracy: the lowest of their run (``min``), its mean (``average``), or told apart
            by the number of the group (``ordinal``).
        accuracy_from: whose predictions rank the groups. ``evaluation``: a pass over the training set in evaluation
            mode at the epoch's end, one more forward pass. ``training``: those made while the epoch ran, free, but by a
            moving network with dropout on. The class attribute ``accuracy_from``, if not given.
        rank_by_figure: what the groups are ranked by: ``accuracy``; the mean ``loss`` of their samples; or a rate of
            errors among the samples of one class, ``fnr`` (of the positive class, those missed) or ``fpr`` (of the
            others, false alarms). With a rate only samples of that class are upweighted, and a group without any has
            no rank.
        normalize_weights: scale the weights once an epoch to mean 1 over the ``n`` training samples,
            ``n w_i / sum_j w_j``, so that upweighting does not raise the step size. Without, the objective is the mean
            of ``w_i loss_i`` over the global batch.
        **kwargs: those of ``GroupModule``.

    Raises:
        InputError: if ``cutoff`` is out of range.
    """

    needs_groups = True

    def __init__(
        self,
        rank_by: RankBy = "quantile",
        upweight: Upweight = "misclassified",
        cutoff: float = 100,
        ties: Ties = "min",
        accuracy_from: AccuracyFrom | None = None,
        rank_by_figure: RankFigure = "accuracy",
        normalize_weights: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        for name, value, choices in (
            ("rank_by", rank_by, RankBy),
            ("upweight", upweight, Upweight),
            ("ties", ties, Ties),
        ):
            check_choice(name, value, choices)
        highest = 100 if rank_by == "quantile" else math.inf
        check_number("cutoff", cutoff, 0, highest, condition=f"with rank_by={rank_by!r}")
        self.take_accuracy_from(accuracy_from)
        self.take_rank_figure(rank_by_figure)
        self.rank_by, self.ties = rank_by, ties
        self.upweight, self.cutoff, self.normalize_weights = upweight, cutoff, normalize_weights

    @property
    def title(self) -> str:
        """Its name in the paper's tables, as qDRU+M, and the figure that it ranks by, if not accuracy."""
        kind = "q" if self.rank_by == "quantile" else "g"
        return f"{kind}DRU+{'M' if self.upweight == 'misclassified' else 'G'}{said_figure(self.rank_by_figure)}"

    def group_rank(self, accuracy: Tensor) -> Tensor:
        """Rank of each group as ``rank_by`` and ``ties`` say."""
        return rank_groups(accuracy, rank_by=self.rank_by, ties=self.ties)

    def reweight(self, record: EpochRecord) -> Tensor:
        """The discounted weight of each sample's group; see the class."""
        accuracy = self.ranked_accuracy(record)
        by_group = self.where_groups_differ(discounted_weights(self.group_rank(accuracy), self.cutoff), accuracy)
        weight = record.to_samples(by_group, only_wrong=self.upweight == "misclassified")
        return weight / weight.mean(dim=-1, keepdim=True) if self.normalize_weights else weight
