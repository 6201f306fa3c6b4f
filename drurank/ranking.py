"""Ranks of groups and what is made of them: pure functions of tensors.

Every function takes any leading dimensions, ``[..., m]`` for ``m`` groups, waits for no device and loops over no group.
A group without data has accuracy ``nan``; it has no rank, does not count in ``m``, and weighs 1.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from drurank.errors import InputError, check_choice, is_count

RankBy = Literal["index", "quantile"]
Ties = Literal["min", "average", "ordinal"]
KUnit = Literal["percent", "groups"]


def precise(device: torch.device) -> torch.dtype:
    """The widest float the device has: float64, or float32 on MPS."""
    return torch.float32 if device.type == "mps" else torch.float64


def add_group_sums_(total: Tensor, value: Tensor, group: Tensor) -> Tensor:
    """Add each sample's value to the entry of its group, in place.

    Args:
        total: sums so far, ``[..., m]``, any dtype.
        value: what each sample adds, ``[..., n]``; cast to the dtype of ``total``.
        group: group of each sample, integer, ``[n]`` or ``[..., n]``; samples with a negative group are left out.

    Returns:
        ``total``.
    """
    value = torch.where(group >= 0, value.to(total.dtype), torch.zeros((), dtype=total.dtype, device=total.device))
    index = group.clamp(min=0).long().expand(value.shape)
    return total.scatter_add_(-1, index, value)


def group_accuracy(correct: Tensor, group: Tensor, num_groups: int) -> tuple[Tensor, Tensor]:
    """Accuracy of each group, ``a_g = correct / seen in g``.

    Args:
        correct: whether each sample was classified rightly, bool or 0/1, ``[..., n]``.
        group: group of each sample, integer in ``[0, num_groups)``, ``[n]`` or ``[..., n]``; a negative group means
            that the sample belongs to none and is left out.
        num_groups: number of groups ``m``.

    Returns:
        The accuracy, float64 (float32 on MPS) ``[..., m]``, ``nan`` where no sample was seen, and the number of samples
        seen, int64 ``[..., m]``.
    """
    zeros = torch.zeros(*correct.shape[:-1], num_groups, dtype=torch.int64, device=correct.device)
    right = add_group_sums_(zeros, correct, group)
    count = add_group_sums_(torch.zeros_like(zeros), torch.ones_like(correct, dtype=torch.int64), group)
    return accuracy_from_counts(right, count), count


def accuracy_from_counts(correct: Tensor, count: Tensor) -> Tensor:
    """``correct / count``, ``nan`` where ``count`` is 0; both integer ``[..., m]``.

    The division is one correctly rounded float64 operation, so groups of equal accuracy (1 of 3, 2 of 6) tie exactly.
    """
    dtype = precise(correct.device)
    return torch.where(count > 0, correct.to(dtype) / count.clamp(min=1).to(dtype), torch.nan)


def rank_groups(accuracy: Tensor, *, rank_by: RankBy = "quantile", ties: Ties = "min") -> Tensor:
    """Rank of each group by accuracy, the worst first.

    With ``below_g`` the number of groups strictly worse than ``g``: ``r_g = below_g`` (``index``) or
    ``r_g = 100 below_g / m`` (``quantile``), ``m`` being the number of groups that have an accuracy.

    Args:
        accuracy: ``[..., m]``, float, ``nan`` where a group has none.
        rank_by: ``index`` counts groups, 0 for the worst; ``quantile`` is in percent, in [0, 100).
        ties: groups of equal accuracy share the lowest rank of their run (``min``), its mean (``average``), or are
            told apart by their number (``ordinal``). Only with ``ordinal`` does the numbering of groups matter.

    Returns:
        The ranks, dtype of ``accuracy``, ``[..., m]``, ``nan`` where ``accuracy`` is.

    Raises:
        InputError: if ``rank_by`` or ``ties`` is none of the above.
    """
    check_choice("rank_by", rank_by, RankBy)
    check_choice("ties", ties, Ties)
    known = ~accuracy.isnan()
    filled = torch.where(known, accuracy, torch.inf).contiguous()
    exact = precise(accuracy.device)
    if ties == "ordinal":
        below = filled.argsort(dim=-1, stable=True).argsort(dim=-1).to(exact)
    else:
        ordered = filled.sort(dim=-1).values
        below = torch.searchsorted(ordered, filled).to(exact)
        if ties == "average":
            below = (below + torch.searchsorted(ordered, filled, right=True) - 1) / 2
    if rank_by == "quantile":
        below = below * 100 / known.sum(dim=-1, keepdim=True).clamp(min=1)
    return torch.where(known, below, torch.nan).to(_float_like(accuracy))


def discounted_weights(rank: Tensor, cutoff: float) -> Tensor:
    r"""The DRU weight of each group.

    .. math:: w_g = \log_2(C + 2) / \log_2(r_g + 2) \text{ where } r_g \le C, \text{ else } 1

    Args:
        rank: ranks ``r``, ``[..., m]``, float, 0 for the worst group, ``nan`` for a group that has none.
        cutoff: ``C``, in the unit of the ranks; at 0 every weight is 1.

    Returns:
        The weights, dtype of ``rank``, ``[..., m]``; 1 where ``rank`` is ``nan``.

    Raises:
        InputError: if ``cutoff`` is negative or not finite.
    """
    if not 0 <= cutoff < float("inf"):
        raise InputError(f"cutoff is {cutoff!r}; give a finite number of 0 or more, e.g. cutoff=100")
    weight = math.log2(cutoff + 2) / torch.log2(rank.to(precise(rank.device)) + 2)
    return torch.where(rank <= cutoff, weight, 1.0).to(_float_like(rank))


def group_percentile(value: Tensor, percent: Tensor) -> Tensor:
    """Percentiles over groups with linear interpolation, as ``numpy.percentile``; ``nan`` values are left out.

    Args:
        value: ``[..., m]``, float.
        percent: which percentiles, float ``[q]``, in [0, 100].

    Returns:
        The percentiles, dtype of ``value``, ``[..., q]``, ``nan`` where no group has a value.
    """
    known = ~value.isnan()
    ordered = torch.where(known, value.to(precise(value.device)), torch.inf).sort(dim=-1).values
    last = known.sum(dim=-1, keepdim=True) - 1
    position = percent.to(ordered.dtype) * last.clamp(min=0) / 100
    low = position.floor().long()
    lower = ordered.gather(-1, low)
    upper = ordered.gather(-1, torch.minimum(low + 1, last.clamp(min=0)))
    # Between equal values, infinite ones too, there is nothing to interpolate.
    between = torch.where((lower == upper) | (position == low), lower, lower + (upper - lower) * (position - low))
    return torch.where(last >= 0, between, torch.nan).to(_float_like(value))


def group_dcg(
    score: Tensor,
    k: int = 10,
    *,
    rank_by: RankBy = "quantile",
    k_unit: KUnit = "percent",
    normalize: bool = False,
) -> Tensor:
    r"""Discounted cumulative gain of the worst groups' scores; lower is better.

    .. math:: \mathrm{DCG}(s) = \sum_i s_i / \log_2(i + 1), \quad s_1 \ge s_2 \ge \dots

    ``rank_by="index"`` (gDCG) takes as ``s`` the scores of the worst ``ceil(k m / 100)`` groups, or of the worst ``k``
    with ``k_unit="groups"``; ``rank_by="quantile"`` (qDCG) the ``k + 1`` percentiles ``100, 99, ..., 100 - k``.

    Args:
        score: ``[..., m]``, float, higher is worse (an error or a loss), ``nan`` for a group to leave out. Negative
            scores are added as they are.
        k: how far down the list to go, an int from 1 to 100 (with ``k_unit="groups"`` any from 1; all groups where
            there are fewer).
        rank_by: ``quantile`` or ``index``, see above.
        k_unit: what ``k`` counts, ``percent`` or ``groups``; the latter goes with ``rank_by="index"`` only.
        normalize: divide by the sum of the discounts used, which makes it a weighted mean.

    Returns:
        The DCG, dtype of ``score``, ``[...]``, ``nan`` where no group has a score.

    Raises:
        InputError: if ``k`` is out of range or the options do not go together.
    """
    check_k(k, rank_by=rank_by, k_unit=k_unit)
    dtype = _float_like(score)
    score = score.to(precise(score.device))
    known = ~score.isnan()
    m = known.sum(dim=-1, keepdim=True)
    if rank_by == "quantile":
        percent = 100 - torch.arange(k + 1, device=score.device)
        items = group_percentile(score, percent)
        used = torch.ones_like(items, dtype=torch.bool)
    else:
        take = min(k, score.shape[-1]) if k_unit == "groups" else -(-k * score.shape[-1] // 100)
        want = m.clamp(max=k) if k_unit == "groups" else (k * m + 99) // 100
        items = torch.where(known, score, -torch.inf).topk(take, dim=-1).values
        used = torch.arange(take, device=score.device) < want
    place = torch.arange(items.shape[-1], device=score.device, dtype=precise(score.device))
    discount = torch.where(used, 1 / torch.log2(place + 2), 0.0)
    total = torch.where(used, items * discount, 0.0).sum(dim=-1)
    if normalize:
        total = total / discount.sum(dim=-1)
    return torch.where(m.squeeze(-1) > 0, total, torch.nan).to(dtype)


def check_k(k: int, *, rank_by: str = "quantile", k_unit: str = "percent") -> None:
    """Refuse a ``k`` of a discounted cumulative gain that is out of range, or options that do not go together."""
    check_choice("rank_by", rank_by, RankBy)
    check_choice("k_unit", k_unit, KUnit)
    if k_unit == "groups" and rank_by != "index":
        raise InputError("k_unit='groups' counts groups, which quantiles are not; write rank_by='index' with it")
    if not is_count(k) or (k_unit == "percent" and k > 100):
        limit = "from 1 to 100" if k_unit == "percent" else "of 1 or more"
        raise InputError(f"k is {k!r}; give an int {limit} (k_unit={k_unit!r}), e.g. k=10")


def _float_like(value: Tensor) -> torch.dtype:
    return value.dtype if value.is_floating_point() else precise(value.device)
