"""The one sampler: whole batches of indices, planned once an epoch for all processes together."""

from __future__ import annotations

import os
from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch.utils.data import Dataset, DistributedSampler

from drurank.errors import InputError, is_count


class GlobalBatchSampler(DistributedSampler[list[int]]):
    """Cuts one global order into global batches, and each global batch into disjoint shares of the processes.

    Two processes with ``batch_size`` 32 see the global batches of one with 64. Every row comes exactly once an epoch;
    in the last batch a share may be smaller, or empty. The order depends on the seed of the run (``PL_GLOBAL_SEED``,
    which ``seed_everything`` sets) and the epoch alone. Use it with ``DataLoader(..., sampler=..., batch_size=None)``.
    Lightning leaves it as it is, since it is a ``DistributedSampler``.

    Args:
        dataset: what to draw from; only its length is used.
        batch_size: rows of one process in one batch.
        shuffle: whether the order is random by epoch, else that of the rows.

    Raises:
        InputError: if ``batch_size`` is not an int of 1 or more.
    """

    def __init__(self, dataset: Dataset[object], batch_size: int, *, shuffle: bool) -> None:
        if not is_count(batch_size):
            raise InputError(f"batch_size is {batch_size!r}; give an int of 1 or more")
        seed = int(os.environ.get("PL_GLOBAL_SEED", 0))
        super().__init__(dataset, num_replicas=1, rank=0, shuffle=shuffle, seed=seed)
        self.num_rows = len(dataset)  # type: ignore[arg-type]
        self.batch_size = batch_size

    def __len__(self) -> int:
        """Number of batches, the same on every process."""
        return -(-self.num_rows // (self.batch_size * rank_and_world()[1]))

    def __iter__(self) -> Iterator[list[int]]:
        """This process's share of each global batch, as lists of indices."""
        rank, world = rank_and_world()
        for batch in torch.split(self.order(), self.batch_size * world):
            yield batch[rank::world].tolist()

    def order(self) -> torch.Tensor:
        """All rows in the order of this epoch, int64 ``[n]``."""
        if not self.shuffle:
            return torch.arange(self.num_rows)
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch)
        return torch.randperm(self.num_rows, generator=generator)


def rank_and_world() -> tuple[int, int]:
    """Number of this process, from 0, and number of processes; one, as long as they do not know each other."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1
