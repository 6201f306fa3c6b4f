"""Invariant risk minimisation, with a penalty that looks at two halves of each group."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from drurank.errors import InputError, check_number, is_count
from drurank.methods.erm import ERM
from drurank.training import method_checks
from drurank.training.global_batch import (
    first_in_batch,
    gather_rows,
    number_in_batch,
    spread_in_batch,
    sum_in_batch,
    weighted_sum,
)
from drurank.training.roll import needed

ANNEAL_STEPS = 500


class IRM(ERM):
    r"""Invariant risk minimisation (IRMv1): one scale of the scores should be the best in every group.

    .. math:: \frac{1}{m} \sum_g L_g + \frac{w}{m'} \sum_g
        \Big(\tfrac{d}{ds} L_g^{even}(s)\Big) \Big(\tfrac{d}{ds} L_g^{odd}(s)\Big) \Big|_{s=1}

    over the ``m`` groups of the global batch, with ``L_g(s)`` the mean loss of a group's samples at scores times ``s``,
    over its samples at even or odd places of the batch. The product of two halves estimates the squared slope without
    bias, if no row of the group is drawn twice, and may be negative. The second mean is over the ``m'`` groups with two
    distinct rows or more. ``w`` is ``min(1, penalty_weight)`` for the first steps, then ``penalty_weight``. Where that
    is a change, the optimizer's moments are cleared; its learning rate goes on as scheduled. Batches hold some groups
    with equally many samples each (the sampler ``groups_per_batch``). Where there are many groups, a batch holds few of
    them; ``benchmarks/RESULTS.md`` shows the effect. (Arjovsky, Bottou, Gulrajani, Lopez-Paz: Invariant Risk
    Minimization, 2019; in this form in Koh et al.: WILDS, 2021.)

    Args:
        penalty_weight: ``lambda``, weight of the penalty beside the mean loss of the groups, 0 or more.
        anneal_steps: optimizer steps in which the penalty weighs 1 before it weighs ``penalty_weight``, 0 or more; 500,
            if not given. Only with a ``penalty_weight`` above 1, as up to there it is in force from the start.
        **kwargs: those of ``GroupModule``.

    Raises:
        InputError: if an option is out of range, or would have no effect.
    """

    needs_groups = True
    one_group_a_row = True
    sampler = "groups_per_batch"
    fit_checks = (method_checks.groups_have_halves,)
    begun_checks = (method_checks.penalty_comes_into_force,)

    def __init__(self, penalty_weight: float = 1, anneal_steps: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_number("penalty_weight", penalty_weight)
        if anneal_steps is not None and not (is_count(anneal_steps) or anneal_steps == 0):
            raise InputError(f"anneal_steps is {anneal_steps!r}; give a whole number of 0 or more")
        if anneal_steps is not None and penalty_weight <= 1:
            raise InputError(
                f"anneal_steps is {anneal_steps} and penalty_weight {penalty_weight}, with which nothing changes after "
                "them; leave anneal_steps out, or give a penalty_weight above 1"
            )
        self.penalty_weight = penalty_weight
        self.anneal_steps = ANNEAL_STEPS if anneal_steps is None else anneal_steps

    def objective(self, logits: Tensor, losses: Tensor, batch: dict[str, Any]) -> Tensor:
        """Mean loss of the groups plus the penalty; its gradient is that over the global batch.

        With ``d_i`` the slope of sample ``i``, the penalty of a group is ``mean_even(d) mean_odd(d)``. Its gradient is
        that of ``sum_i c_i d_i``, where ``c_i`` is the mean of the other half over the size of the own, and its value
        half of that sum.
        """
        slopes = self._slopes(logits, batch["label"])
        largest = batch.get("largest")
        group, index = (gather_rows(batch[key], fill=-1, largest=largest) for key in ("group", "index"))
        everywhere = gather_rows(slopes.detach(), fill=0.0, largest=largest)
        on_loss, on_slope = penalty_shares(group, index, everywhere)
        penalty = weighted_sum(on_slope, slopes)
        return weighted_sum(on_loss, losses) + self._weight() * (penalty - penalty.detach() / 2)

    @needed
    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        """Clear the optimizer's moments where the weight of the penalty changes."""
        super().on_train_batch_start(batch, batch_idx)
        if self.penalty_weight > 1 and self.global_step == self.anneal_steps:
            for optimizer in self.trainer.optimizers:
                optimizer.state.clear()

    def _weight(self) -> float:
        return self.penalty_weight if self.global_step >= self.anneal_steps else min(1.0, self.penalty_weight)

    def _slopes(self, logits: Tensor, label: Tensor) -> Tensor:
        """Slope of each sample's loss in a scale of its scores, at scale 1, ``[B]``; can be differentiated again."""
        scale = torch.ones_like(label, dtype=torch.float32).requires_grad_()
        losses = self.sample_losses(logits.float() * scale[:, None], label)
        (slopes,) = torch.autograd.grad(losses.sum(), scale, create_graph=True)
        return slopes


def penalty_shares(group: Tensor, index: Tensor, slopes: Tensor) -> tuple[Tensor, Tensor]:
    """What each sample's loss, and its slope, weighs in the objective.

    Args:
        group: of the samples of the global batch, int64 ``[N]``, negative where there is no sample.
        index: which row each sample is, int64 ``[N]``; where a row comes twice, both are in the same half.
        slopes: of their losses, float ``[N]``, without gradient.

    Returns:
        ``1 / (m n_g)`` and ``c_i / m'``, see ``IRM``, float ``[N]`` each; 0 where there is no sample, and in the latter
        for groups with one row.
    """
    number = number_in_batch(group)
    odd = place_in_group(number, first_in_batch(number_in_batch(index))) % 2 == 1
    one = torch.ones_like(slopes)
    count, odd_count = sum_in_batch(one, number), sum_in_batch(odd.to(one.dtype), number)
    total, odd_total = sum_in_batch(slopes, number), sum_in_batch(slopes * odd, number)
    even_count, even_total = count - odd_count, total - odd_total
    both = (odd_count > 0) & (even_count > 0)
    groups, with_two = (count > 0).sum(), both.sum().clamp(min=1)
    on_loss = torch.where(count > 0, 1 / (count * groups), 0.0)
    on_even, on_odd = (
        torch.where(both, mine / (own * other * with_two), 0.0)
        for mine, own, other in ((odd_total, even_count, odd_count), (even_total, even_count, odd_count))
    )
    on_slope = torch.where(odd, spread_in_batch(on_odd, number), spread_in_batch(on_even, number))
    return spread_in_batch(on_loss, number), on_slope


def place_in_group(number: Tensor, first: Tensor) -> Tensor:
    """Place of each sample among the distinct rows of its group in the batch, from 0, int64 ``[N]``.

    Args:
        number: of the group, int64 ``[N]``; see ``number_in_batch``.
        first: place of the first sample that is the same row, int64 ``[N]``.
    """
    place = torch.arange(len(number), device=number.device)
    distinct = ((first == place) & (number >= 0)).long()
    order = number.argsort(stable=True)
    before = distinct[order].cumsum(0) - distinct[order]
    start = torch.full_like(place, len(place)).scatter_reduce_(0, number[order].clamp(min=0), before, "amin")
    in_group = torch.empty_like(place).scatter_(0, order, before - start[number[order].clamp(min=0)])
    return in_group[first]
