"""Rows of the global batch, as every process sees them."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional

from drurank.data.sampler import rank_and_world


def gather_rows(rows: Tensor, *, fill: float) -> Tensor:
    """Rows of all processes, ``[..., B]`` to ``[..., world * largest B]``.

    The part of process ``r`` begins at ``r * largest B``; where a process has fewer rows, the rest is filled.

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
    return torch.cat(parts, dim=-1)
