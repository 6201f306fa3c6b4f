"""The processes of a run: how many there are, and what they do together."""

from __future__ import annotations

from typing import Any

import torch.distributed as dist
from torch import Tensor


def rank_and_world() -> tuple[int, int]:
    """Number of this process, from 0, and number of processes; one, as long as they do not know each other."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def sum_over_processes_(table: Tensor) -> Tensor:
    """Replace a tensor by its sum over the processes; every one must call it."""
    if rank_and_world()[1] > 1:
        dist.all_reduce(table)
    return table


def max_over_processes_(table: Tensor) -> Tensor:
    """Replace each entry of a tensor by the largest of all processes; every one must call it."""
    if rank_and_world()[1] > 1:
        dist.all_reduce(table, op=dist.ReduceOp.MAX)
    return table


def gather_objects(mine: Any) -> list[Any]:
    """What each process gives, in the order of their numbers; every one must call it."""
    world = rank_and_world()[1]
    if world == 1:
        return [mine]
    everyone: list[Any] = [None] * world
    dist.all_gather_object(everyone, mine)
    return everyone
