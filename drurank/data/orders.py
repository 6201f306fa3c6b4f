"""Which training rows an epoch draws, and in which order."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from drurank.errors import InputError

Draw = Literal["shuffle", "balanced", "subsample", "groups_per_batch"]


def balanced(group: Tensor, generator: torch.Generator) -> Tensor:
    """As many draws as there are rows, each of a group that is as likely as any other, then of a row of it.

    Args:
        group: group of each row, int64 ``[n]``, 0 or more.
        generator: where chance comes from.

    Returns:
        Rows, int64 ``[n]``, some more than once and some not at all.
    """
    rows, start, count = _by_group(group)
    chosen = torch.randint(len(count), (len(group),), generator=generator)
    return rows[start[chosen] + _below(count[chosen], generator)]


def subsample(group: Tensor, generator: torch.Generator) -> Tensor:
    """As many rows of each group as the smallest has, none twice, int64 ``[m * smallest]``; see ``balanced``."""
    mixed = torch.randperm(len(group), generator=generator)
    rows, start, count = _by_group(group[mixed])
    place = torch.arange(len(group)) - start.repeat_interleave(count)
    return mixed[rows[place < count.min()]]


def groups_per_batch(group: Tensor, generator: torch.Generator, *, groups: int, rows: int, batches: int) -> Tensor:
    """Batches of some distinct groups with equally many rows of each.

    Args:
        group: group of each row, int64 ``[n]``, 0 or more.
        generator: where chance comes from.
        groups: distinct groups of a batch.
        rows: rows of each of them, none twice where the group has as many.
        batches: number of batches.

    Returns:
        Rows, int64 ``[batches, groups, rows]``.

    Raises:
        InputError: if there are fewer groups.
    """
    by_group, start, count = _by_group(group)
    check_groups_per_batch(len(count), groups)
    found = torch.empty(batches, groups, rows, dtype=torch.int64)
    for batch in found:
        for part, number in zip(batch, _distinct(len(count), groups, generator), strict=True):
            size = int(count[number])
            some = _distinct(size, rows, generator) if size >= rows else _below(count[number].expand(rows), generator)
            part.copy_(by_group[start[number] + some])
    return found


def pooled(drawn: Tensor, lengths: Tensor, generator: torch.Generator, *, batch: int, pool_batches: int) -> Tensor:
    """The same rows in batches of rows of about one length.

    What is drawn is cut into pools of so many batches, each pool is sorted by length and cut into batches, and the
    order of all batches is random. What is left for a last, smaller batch stays at the end.

    Args:
        drawn: rows in random order, int64 ``[k]``.
        lengths: length of each row there is, int64 ``[n]``.
        generator: where chance comes from.
        batch: rows of a batch.
        pool_batches: batches of a pool.

    Returns:
        The same rows, int64 ``[k]``.
    """
    whole = len(drawn) // batch * batch
    pools = torch.split(drawn[:whole], batch * pool_batches)
    batches = torch.cat([pool[lengths[pool].argsort(stable=True)] for pool in pools]).view(-1, batch)
    mixed = batches[torch.randperm(len(batches), generator=generator)]
    return torch.cat([mixed.reshape(-1), drawn[whole:]])


def longest_first(lengths: Tensor) -> Tensor:
    """All rows, the longest first, so that too little memory shows at once; int64 ``[n]``."""
    return lengths.argsort(descending=True, stable=True)


def check_groups_per_batch(found: int, wanted: int) -> None:
    """Refuse batches of more groups than training has."""
    if found < wanted:
        raise InputError(f"each batch needs {wanted} groups and training has {found}; give a smaller groups_per_batch")


def _by_group(group: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Rows in the order of their groups, int64 ``[n]``; where each group begins there, and its size, ``[m]``."""
    _, number, count = torch.unique(group, return_inverse=True, return_counts=True)
    return number.argsort(stable=True), count.cumsum(0) - count, count


def _below(limit: Tensor, generator: torch.Generator) -> Tensor:
    """A whole number from 0 to below each limit, int64, shape of ``limit``."""
    share = torch.rand(limit.shape, generator=generator, dtype=torch.float64)
    return (share * limit).long().clamp(max=limit - 1)


def _distinct(limit: int, number: int, generator: torch.Generator) -> Tensor:
    """Distinct whole numbers below a limit, int64 ``[number]``, at a cost that hardly grows with the limit."""
    if limit < 4 * number:
        return torch.randperm(limit, generator=generator)[:number]
    found = torch.empty(0, dtype=torch.int64)
    while len(found) < number:
        # In the order of drawing: the sorted unique ones would favour the low.
        drawn = torch.cat([found, torch.randint(limit, (number,), generator=generator)])
        first = torch.ones(len(drawn), dtype=torch.bool)
        ordered, place = drawn.sort(stable=True)
        first[place[1:]] = ordered[1:] != ordered[:-1]
        found = drawn[first]
    return found[:number]
