"""The discounted cumulative gain of the worst groups."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import torch
from torch import Tensor

from drurank.checks import check_tensor
from drurank.dcg import KUnit, RankBy, check_k, group_dcg, precise
from drurank.errors import SHOWN, InputError, check_choice
from drurank.groups import Groups, error_dcg
from drurank.metrics.accuracy import GroupAccuracy
from drurank.metrics.inputs import is_correct
from drurank.ranking import add_group_sums_

Score = Literal["error", "loss"]
LOSS_UNIT = 2.0**-32
LOSS_LIMIT = 2.0**32


class GroupDCG(GroupAccuracy):
    """Discounted cumulative gain of the worst groups' errors or losses; lower is better.

    Input as of ``GroupAccuracy``; with ``score="loss"`` also ``loss``, float of any precision ``[N]``. As output a
    float32 scalar, ``nan`` before any sample was seen. The equation stands at :func:`drurank.dcg.group_dcg`.

    Args:
        num_groups: number of groups.
        k: how far down the list to go.
        rank_by: ``quantile`` (qDCG) or ``index`` (gDCG).
        k_unit: what ``k`` counts, ``percent`` or ``groups``.
        score: ``error``, one minus accuracy, or ``loss``, the group's mean loss. Losses are summed as integers, in
            units of 2**-32, so that the sum is the same to the bit in any order and over any number of processes, for
            up to 2**30 samples a group. A group with a loss that is nan, infinite or beyond +-2**32 is left out, and
            ``compute`` names it in a warning. With ``error``, losses that are given are not looked at.
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
    unusable: Tensor

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
            # Whole parts and what is left in units, so that neither overflows.
            self.add_state("loss_sum", torch.zeros(2, num_groups, dtype=torch.int64), dist_reduce_fx="sum")
            self.add_state("unusable", torch.zeros(num_groups, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor, group: Tensor, loss: Tensor | None = None) -> None:
        """Count a batch; see the class for shapes.

        Raises:
            InputError: if ``score="loss"`` and there is no loss, or as of ``GroupAccuracy``.
        """
        self._check_loss(loss, group)
        self._count(is_correct(preds, target, threshold=self.threshold), group, preds, target)
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
        if self.score != "loss":
            return
        check_tensor("group", group)
        if not isinstance(loss, Tensor) or loss.is_complex() or loss.shape != group.shape:
            found = f"{loss.dtype} {list(loss.shape)}" if isinstance(loss, Tensor) else f"{loss!r:.80}"
            raise InputError(f"loss is {found}; score='loss' needs one per sample, {list(group.shape)}")

    def _add_loss(self, loss: Tensor | None, group: Tensor) -> None:
        if self.score == "loss" and loss is not None:
            group = self._in_range(group)
            exact = loss.detach().to(precise(loss))
            usable = exact.abs() <= LOSS_LIMIT
            exact = torch.where(usable, exact, 0.0)
            whole = exact.floor()
            parts = torch.stack([whole, ((exact - whole) / LOSS_UNIT).round()])
            # Not in place, for a state that was made in inference mode.
            self.loss_sum = self.loss_sum + add_group_sums_(torch.zeros_like(self.loss_sum), parts, group)
            self.unusable = self.unusable + add_group_sums_(torch.zeros_like(self.unusable), ~usable, group)

    def compute(self) -> Any:
        """The value of what was counted, see ``GroupAccuracy``; warns of groups whose losses cannot be used."""
        if self.score == "loss" and self._may_read:
            left_out = ((self.unusable > 0) & (self.count >= self.min_count)).nonzero().flatten().tolist()
            if left_out:
                shown = ", ".join(map(str, left_out[:SHOWN])) + (", ..." if len(left_out) > SHOWN else "")
                warnings.warn(
                    f"{type(self).__name__} leaves out {len(left_out)} of {self.num_groups} groups, which have a loss "
                    f"that is nan, infinite or beyond 2**32: group {shown}",
                    stacklevel=3,
                )
        return super().compute()

    def of(self, groups: Groups) -> Tensor:
        """The discounted cumulative gain, float32 scalar; of losses that of those that this metric has seen."""
        options: dict[str, Any] = {"rank_by": self.rank_by, "k_unit": self.k_unit, "normalize": self.normalize}
        if self.score == "error":
            return error_dcg(groups, self.k, **options).float()  # type: ignore[no-any-return]
        whole, rest = self.loss_sum.to(groups.accuracy.dtype)
        mean = (whole + rest * LOSS_UNIT) / self.count.clamp(min=1)
        score = torch.where(groups.accuracy.isnan() | (self.unusable > 0), torch.nan, mean)
        return group_dcg(score, self.k, **options).float()
