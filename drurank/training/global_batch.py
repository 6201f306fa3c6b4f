"""The global batch, as every process sees it: its rows, and which of them are of one group."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional

from drurank.data.sampler import rank_and_world
from drurank.ranking import add_group_sums_


def gather_rows(rows: Tensor, *, fill: float, largest: int | None = None) -> Tensor:
    """Rows of all processes, ``[..., B]`` to ``[..., world * largest]``.

    The rows of process ``r`` stand at ``r``, ``r + world`` and so on, which is the order of the global batch that
    ``GlobalBatchSampler`` cut; where a process has fewer rows, the rest is filled.

    Args:
        rows: of this process, without gradient.
        fill: what stands where there is no row.
        largest: rows that no process has more of; where it is not known the processes are asked, which waits for the
            device.
    """
    world = rank_and_world()[1]
    if world == 1:
        return rows
    if largest is None:
        most = torch.tensor(rows.shape[-1], device=rows.device)
        dist.all_reduce(most, op=dist.ReduceOp.MAX)
        largest = int(most)
    padded = functional.pad(rows, (0, largest - rows.shape[-1]), value=fill)
    parts = [torch.empty_like(padded) for _ in range(world)]
    dist.all_gather(parts, padded.contiguous())
    return torch.stack(parts, dim=-1).flatten(-2)


def gather_predictions(index: Tensor, right: Tensor, largest: int | None = None) -> tuple[Tensor, Tensor]:
    """Rows of all processes and whether each is right, in the order of the global batch; see ``gather_rows``."""
    index, right = (gather_rows(rows.long(), fill=-1, largest=largest) for rows in (index, right))
    # Where there is no row stands the first of all once more, which the first process always has.
    none = index < 0
    return torch.where(none, index[:1], index), torch.where(none, right[:1], right)


def weighted_sum(weight: Tensor, losses: Tensor) -> Tensor:
    """This process's part of a weighted sum over the global batch, times the number of processes.

    Gradients are averaged over processes, so that they get that of the whole sum.

    Args:
        weight: of the rows of the global batch, in the order of ``gather_rows``, float ``[..., N]``.
        losses: of this process's rows, float ``[..., B]``.
    """
    rank, world = rank_and_world()
    own = weight[..., rank::world][..., : losses.shape[-1]].to(losses.dtype)
    total: Tensor = (own * losses).sum(dim=-1) * world
    return total


def number_in_batch(code: Tensor) -> Tensor:
    """Numbers the codes of a batch from 0, equal ones alike, without waiting for the device as ``unique`` does.

    Args:
        code: int64 ``[N]``, negative where there is no row.

    Returns:
        Numbers below ``N``, int64 ``[N]``, in the order of the codes, -1 where there is no row.
    """
    ordered, place = code.sort(stable=True)
    known = ordered >= 0
    new = known & (ordered != functional.pad(ordered, (1, 0), value=-1)[:-1])
    number = torch.where(known, new.cumsum(0) - 1, -1)
    return torch.empty_like(number).scatter_(0, place, number)


def sum_in_batch(value: Tensor, number: Tensor) -> Tensor:
    """Sum by number, ``[..., N]`` to ``[..., N]``: an entry for each number there can be; see ``number_in_batch``."""
    return add_group_sums_(torch.zeros_like(value), value, number)


def spread_in_batch(by_number: Tensor, number: Tensor, default: float = 0) -> Tensor:
    """Give each row the value of its number, ``[..., N]`` to ``[..., N]``."""
    return torch.where(number >= 0, by_number[..., number.clamp(min=0)], default)


def first_in_batch(number: Tensor) -> Tensor:
    """Place of the first row of the same number, int64 ``[N]``; the own place where there is no row."""
    place = torch.arange(len(number), device=number.device)
    none = torch.full_like(place, len(place))
    first = none.scatter_reduce(0, number.clamp(min=0), torch.where(number >= 0, place, len(place)), "amin")
    return torch.where(number >= 0, first[number.clamp(min=0)], place)
