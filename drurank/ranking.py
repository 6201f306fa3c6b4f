"""Ranks of groups and the weights they give: pure functions of tensors.

Every function takes any leading dimensions, ``[..., m]`` for ``m`` groups, and has no loop over groups. All but
``group_accuracy``, which checks the groups of samples, never wait for the device.
A group without data has accuracy ``nan``; it has no rank, does not count in ``m``, and weighs 1.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from drurank.checks import check_group, check_group_of, check_tensor, on_host
from drurank.dcg import RankBy, accuracy_from_counts, float_like, group_dcg, precise
from drurank.errors import InputError, check_choice, check_count, check_number

__all__ = [
    "Ties",
    "discounted_weights",
    "group_accuracy",
    "group_dcg",
    "groups_differ",
    "rank_groups",
]

Ties = Literal["min", "average", "ordinal"]


def add_group_sums_(total: Tensor, value: Tensor, group: Tensor, *, all_grouped: bool = False) -> Tensor:
    """Add each sample's value to the entry of its group, in place; for use within steps, so that nothing is checked.

    Args:
        total: sums so far, ``[..., m]``, any dtype.
        value: what each sample adds, ``[..., n]``; cast to the dtype of ``total``.
        group: group of each sample, integer, ``[n]`` or ``[..., n]``; samples with a negative group are left out.
        all_grouped: whether no group is known to be negative, so that none need be looked for.

    Returns:
        ``total``.
    """
    if all_grouped:
        return total.scatter_add_(-1, group.long().expand(value.shape), value.to(total.dtype))
    value = torch.where(group >= 0, value.to(total.dtype), 0)
    index = group.clamp(min=0).long().expand(value.shape)
    return total.scatter_add_(-1, index, value)


def group_accuracy(correct: Tensor, group: Tensor, num_groups: int) -> tuple[Tensor, Tensor]:
    """Accuracy of each group, ``a_g = correct / seen in g``.

    Within a step, where checking would wait for the device, use ``add_group_sums_``.

    Args:
        correct: whether each sample was classified correctly, bool or 0/1, ``[..., n]``.
        group: group of each sample, integer in ``[0, num_groups)``, ``[n]`` or ``[..., n]``; -1 means that the sample
            belongs to none and is left out.
        num_groups: number of groups ``m``.

    Returns:
        The accuracy, float64 (float32 on MPS) ``[..., m]``, ``nan`` where no sample was seen, and the number of samples
        seen, int64 ``[..., m]``.

    Raises:
        InputError: if types or lengths do not agree, a group is out of range, or ``correct`` is neither 0 nor 1.
    """
    check_count("num_groups", num_groups)
    check_tensor("correct", correct)
    check_group_of("correct", correct, group)
    check_group(group, num_groups)
    strange = (correct != 0) & (correct != 1)
    if bool(strange.any()):
        raise InputError(f"correct holds {correct[strange][0].item():g}; give bool or 0 and 1")
    zeros = torch.zeros(*correct.shape[:-1], num_groups, dtype=torch.int64, device=correct.device)
    right = add_group_sums_(zeros, correct, group)
    count = add_group_sums_(torch.zeros_like(zeros), torch.ones_like(correct, dtype=torch.int64), group)
    return accuracy_from_counts(right, count), count


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
        The ranks, dtype of ``accuracy`` but at least float32, ``[..., m]``, ``nan`` where ``accuracy`` is.

    Raises:
        InputError: if ``accuracy`` is not a tensor ``[..., m]``, or ``rank_by`` or ``ties`` has another value.
    """
    check_tensor("accuracy", accuracy, each="group")
    check_choice("rank_by", rank_by, RankBy)
    check_choice("ties", ties, Ties)
    known = ~accuracy.isnan()
    filled = torch.where(known, accuracy, torch.inf).contiguous()
    exact = precise(accuracy)
    if ties == "ordinal":
        below = filled.argsort(dim=-1, stable=True).argsort(dim=-1).to(exact)
    else:
        ordered = filled.sort(dim=-1).values
        below = torch.searchsorted(ordered, filled).to(exact)
        if ties == "average":
            below = (below + torch.searchsorted(ordered, filled, right=True) - 1) / 2
    if rank_by == "quantile":
        below = below * 100 / known.sum(dim=-1, keepdim=True).clamp(min=1)
    return torch.where(known, below, torch.nan).to(float_like(accuracy))


def groups_differ(accuracy: Tensor) -> Tensor:
    """Whether some group is worse than another, so that there is something to upweight.

    Args:
        accuracy: ``[..., m]``, float, ``nan`` where a group has none.

    Returns:
        Bool ``[..., 1]``; false where all that are known have the same accuracy, as with a single group or none.

    Raises:
        InputError: if ``accuracy`` is not a tensor ``[..., m]``.
    """
    return (rank_groups(accuracy, rank_by="index") > 0).any(dim=-1, keepdim=True)


def discounted_weights(rank: Tensor, cutoff: float) -> Tensor:
    r"""The DRU weight of each group.

    .. math:: w_g = \log_2(C + 2) / \log_2(r_g + 2) \text{ where } r_g \le C, \text{ else } 1

    Args:
        rank: ranks ``r``, ``[..., m]``, float, 0 for the worst group, ``nan`` for a group that has none.
        cutoff: ``C``, in the unit of the ranks; at 0 every weight is 1.

    Returns:
        The weights, dtype of ``rank`` but at least float32, ``[..., m]``; 1 where ``rank`` is ``nan``.

    Raises:
        InputError: if ``rank`` is not a tensor ``[..., m]``, a rank is negative (where that is known without a wait, on
            the CPU), or ``cutoff`` is negative or not finite.
    """
    check_number("cutoff", cutoff)
    check_tensor("rank", rank, each="group")
    if on_host(rank) and bool((rank < 0).any()):
        raise InputError(f"rank is {rank[rank < 0][0].item():g}; ranks count from 0, see rank_groups")
    weight = math.log2(cutoff + 2) / torch.log2(rank.to(precise(rank)) + 2)
    return torch.where(rank <= cutoff, weight, 1.0).to(float_like(rank))
