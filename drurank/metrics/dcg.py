"""The discounted cumulative gain of the worst groups."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from drurank.dcg import KUnit, RankBy, check_k, group_dcg, precise
from drurank.errors import InputError, check_choice
from drurank.groups import Groups, error_dcg
from drurank.metrics.accuracy import GroupAccuracy, is_correct
from drurank.ranking import add_group_sums_

Score = Literal["error", "loss"]
LOSS_UNIT = 2.0**-22
LOSS_LIMIT = 2.0**13


class GroupDCG(GroupAccuracy):
    """Discounted cumulative gain of the worst groups' errors or losses; lower is better.

    Input as of ``GroupAccuracy``; with ``score="loss"`` also ``loss``, float ``[N]``. As output a float32 scalar,
    ``nan`` before any sample was seen. The equation stands at :func:`drurank.ranking.group_dcg`.

    Args:
        num_groups: number of groups.
        k: how far down the list to go.
        rank_by: ``quantile`` (qDCG) or ``index`` (gDCG).
        k_unit: what ``k`` counts, ``percent`` or ``groups``.
        score: ``error``, one minus accuracy, or ``loss``, the group's mean loss. Losses are summed in units of 2**-22,
            so that sums do not depend on their order, for up to 2**28 samples a group; a loss beyond +-8192 counts as
            that, and ``nan`` as 8192.
        normalize: divide by the sum of the discounts, which makes it a weighted mean.
        **kwargs: those of ``GroupAccuracy``.

    Raises:
        InputError: if ``k`` is out of range or the options do not go together.

    Example:
        >>> import torch
        >>> metric = GroupDCG(num_groups=3, k=2, rank_by="index", k_unit="groups")
        >>> metric.update(torch.tensor([1, 0, 1, 1]), torch.tensor([1, 1, 1, 0]), torch.tensor([0, 0, 1, 2]))
        >>> metric.compute()
        tensor(1.3155)
    """

    higher_is_better = False
    plot_upper_bound = None
    loss_sum: Tensor

    def __init__(
        self,
        num_groups: int,
        k: int = 10,
        *,
        rank_by: RankBy = "quantile",
        k_unit: KUnit = "percent",
        score: Score = "error",
        normalize: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_groups, **kwargs)
        check_k(k, rank_by=rank_by, k_unit=k_unit)
        check_choice("score", score, Score)
        if score == "loss" and self.shrink:
            raise InputError("shrink=True shrinks accuracies, and score='loss' looks at losses; give one of them")
        self.k, self.rank_by, self.k_unit, self.score, self.normalize = k, rank_by, k_unit, score, normalize
        if score == "loss":
            self.add_state("loss_sum", torch.zeros(num_groups, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor, group: Tensor, loss: Tensor | None = None) -> None:
        """Count a batch; see the class for shapes.

        Raises:
            InputError: if ``score="loss"`` and there is no loss, or as of ``GroupAccuracy``.
        """
        self._check_loss(loss, group)
        self._count(is_correct(preds, target), group)
        self._add_loss(loss, group)

    def update_correct(self, correct: Tensor, group: Tensor, loss: Tensor | None = None) -> None:
        """Count a batch of which it is known already what is right, see ``GroupAccuracy``.

        Raises:
            InputError: if ``score="loss"`` and there is no loss, or as of ``GroupAccuracy``.
        """
        self._check_loss(loss, group)
        super().update_correct(correct, group)
        self._add_loss(loss, group)

    def _check_loss(self, loss: Tensor | None, group: Tensor) -> None:
        if self.score == "loss" and (loss is None or loss.shape != group.shape):
            shape = None if loss is None else list(loss.shape)
            raise InputError(f"loss is {shape}; score='loss' needs one per sample, {list(group.shape)}")

    def _add_loss(self, loss: Tensor | None, group: Tensor) -> None:
        if self.score == "loss" and loss is not None:
            bounded = loss.detach().float().nan_to_num(nan=LOSS_LIMIT).clamp(-LOSS_LIMIT, LOSS_LIMIT)
            units = (bounded.to(precise(loss)) / LOSS_UNIT).round()
            # Not in place, for a state that was made in inference mode.
            self.loss_sum = self.loss_sum + add_group_sums_(torch.zeros_like(self.loss_sum), units, group)

    def of(self, groups: Groups) -> Tensor:
        """The discounted cumulative gain, float32 scalar; of losses that of those that this metric has seen."""
        options: dict[str, Any] = {"rank_by": self.rank_by, "k_unit": self.k_unit, "normalize": self.normalize}
        if self.score == "error":
            return error_dcg(groups, self.k, **options).float()  # type: ignore[no-any-return]
        mean = self.loss_sum.to(groups.accuracy.dtype) * LOSS_UNIT / self.count.clamp(min=1)
        score = torch.where(groups.accuracy.isnan(), groups.accuracy, mean)
        return group_dcg(score, self.k, **options).float()
