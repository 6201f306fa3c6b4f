"""Rows of the global batch, as every process sees them."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional

from drurank.data.sampler import rank_and_world


def same_group(group: Tensor) -> Tensor:
    """Whether two rows are of the same group, bool ``[N, N]``.

    Args:
        group: of each row, int64 ``[N]``, negative where there is no row.
    """
    known = group >= 0
    return (group[:, None] == group[None, :]) & known[:, None] & known[None, :]


def own_rows(everywhere: Tensor, rows: int) -> Tensor:
    """This process's part of what ``gather_rows`` made, ``[..., N]`` to ``[..., rows]``."""
    rank, world = rank_and_world()
    return everywhere[..., rank::world][..., :rows]


def gather_rows(rows: Tensor, *, fill: float) -> Tensor:
    """Rows of all processes, ``[..., B]`` to ``[..., world * largest B]``.

    The rows of process ``r`` stand at ``r``, ``r + world`` and so on, which is the order of the global batch that
    ``GlobalBatchSampler`` cut; where a process has fewer rows, the rest is filled.

    Args:
        rows: of this process, without gradient.
        fill: what stands where there is no row.
    """
    world = rank_and_world()[1]
    if world == 1:
        return rows
    largest = torch.tensor(rows.shape[-1], device=rows.device)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    padded = functional.pad(rows, (0, int(largest) - rows.shape[-1]), value=fill)
    parts = [torch.empty_like(padded) for _ in range(world)]
    dist.all_gather(parts, padded.contiguous())
    return torch.stack(parts, dim=-1).flatten(-2)
