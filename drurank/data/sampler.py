"""The one sampler: whole batches of indices, planned once an epoch for all processes together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset, DistributedSampler

from drurank.data.orders import (
    Draw,
    balanced,
    check_groups_per_batch,
    groups_per_batch,
    longest_first,
    pooled,
    subsample,
)
from drurank.errors import InputError, check_count, is_count
from drurank.processes import rank_and_world

Places = npt.NDArray[np.int64]
"""Places of rows in a dataset; an array, of which torch makes a tensor without a copy, as it does not of a list."""
EPOCH_BIT = 40
"""In ``Places`` the epoch stands from this bit on, plus one, where the dataset wants to know it; else zeros do."""
POOL_BATCHES = 50
"""Global batches whose rows are sorted by length together."""


def without_epoch(places: Places) -> tuple[Places, int | None]:
    """Places of a batch, and the training epoch that they were drawn for, where that was said."""
    epoch = int(places[0] >> EPOCH_BIT) - 1 if len(places) else -1
    return (places, None) if epoch < 0 else (places - ((epoch + 1) << EPOCH_BIT), epoch)


class GlobalBatchSampler(DistributedSampler[Places]):
    """Cuts one global order into global batches, and each global batch into disjoint shares of the processes.

    Two processes with ``batch_size`` 32 see the global batches of one with 64. With ``draw="shuffle"`` every row comes
    exactly once an epoch; in the last batch a share may be smaller, or empty. The order depends on the seed of the run
    (``PL_GLOBAL_SEED``, which ``seed_everything`` sets) and the epoch alone. Use it with ``DataLoader(..., sampler=...,
    batch_size=None)``. Lightning leaves it as it is, since it is a ``DistributedSampler``.

    Args:
        dataset: what to draw from; only its length is used.
        batch_size: rows of one process in one batch.
        shuffle: whether the order is random by epoch, else that of the rows.
        draw: which rows an epoch draws. ``shuffle``: all, once. ``balanced``: as many, with replacement, each group
            being equally likely. ``subsample``: as many of each group as the smallest has, the same in every epoch.
            ``groups_per_batch``: in each batch some distinct groups with equally many rows, a group's on one process.
        group: group of each row, int64 ``[n]``, for all but ``shuffle``.
        groups_per_batch: how many groups one process has in a batch.
        order_of: gives the epoch whose order an epoch draws, from 0; its own, if not given.
        lengths: length of each row, int64 ``[n]``, where rows of about one length are to be in a batch: what is drawn
            is sorted by length within each ``pool_batches`` global batches, whose order is random; without ``shuffle``
            all rows are, the longest first. ``groups_per_batch`` knows no lengths.
        pool_batches: see ``lengths``; 1 leaves all as it is drawn.
        drop_last: leave out the rows of an epoch's last global batch where they are fewer than those of the others.

    Raises:
        InputError: if ``batch_size`` is not an int of 1 or more, the rows cannot be drawn so, or ``drop_last`` leaves
            no batch.
    """

    def __init__(
        self,
        dataset: Dataset[object],
        batch_size: int,
        *,
        shuffle: bool,
        draw: Draw = "shuffle",
        group: torch.Tensor | None = None,
        groups_per_batch: int = 2,
        order_of: Callable[[int], int] | None = None,
        lengths: torch.Tensor | None = None,
        pool_batches: int = POOL_BATCHES,
        drop_last: bool = False,
    ) -> None:
        check_count("batch_size", batch_size)
        seed = int(os.environ.get("PL_GLOBAL_SEED", 0))
        super().__init__(dataset, num_replicas=1, rank=0, shuffle=shuffle, seed=seed, drop_last=drop_last)
        self.num_rows = len(dataset)  # type: ignore[arg-type]
        self.batch_size, self.draw, self.groups_per_batch = batch_size, draw, groups_per_batch
        self.order_of = order_of
        is_sorted = not shuffle or (draw != "groups_per_batch" and pool_batches > 1)
        self.lengths, self.pool_batches = lengths if is_sorted else None, pool_batches
        self.group = torch.zeros(0) if group is None else group
        if draw != "shuffle" and (len(self.group) != self.num_rows or bool((self.group < 0).any())):
            raise InputError(
                f"sampler={draw!r} needs the group of every training row; give the groups, or sampler='shuffle'"
            )
        if draw == "groups_per_batch" and (not is_count(groups_per_batch) or batch_size % groups_per_batch):
            raise InputError(
                f"groups_per_batch is {groups_per_batch!r} and batch_size {batch_size}; give a whole number that "
                "divides batch_size"
            )
        if draw == "groups_per_batch" and batch_size > self.num_rows:
            raise InputError(
                f"batch_size is {batch_size} and there are only {self.num_rows} training rows, some of which "
                "groups_per_batch would draw again and again; give a smaller batch_size"
            )
        if draw == "groups_per_batch":
            check_groups_per_batch(len(torch.unique(self.group)), groups_per_batch)
        if draw == "subsample":
            self.kept = subsample(self.group, self._generator(0))
            self.num_rows = len(self.kept)
        len(self)  # refuses a set that has no batch, as early as that is known

    def __len__(self) -> int:
        """Number of batches, the same on every process.

        Raises:
            InputError: if ``drop_last`` leaves none.
        """
        size = self.batch_size * rank_and_world()[1]
        if self.drop_last and self.num_rows < size:
            raise InputError(
                f"drop_last leaves no batch: an epoch has {self.num_rows:,} rows, and a batch of all processes {size:,}"
                "; give a smaller batch_size"
            )
        return self.num_rows // size if self.drop_last else -(-self.num_rows // size)

    @property
    def last_share(self) -> int:
        """Rows of the last batch that the process with the fewest has; it may have none."""
        size, world = self.batch_size * rank_and_world()[1], rank_and_world()[1]
        is_whole = self.drop_last or self.draw == "groups_per_batch"
        return self.batch_size if is_whole else (self.num_rows - (len(self) - 1) * size) // world

    def __iter__(self) -> Iterator[Places]:
        """This process's share of each global batch, as arrays of indices, int64 ``[B]``."""
        rank, world = rank_and_world()
        size, order = self.batch_size * world, self.order().numpy()
        if self.shuffle and getattr(self.dataset, "changes_by_epoch", False):
            order = order + ((self._order_epoch() + 1) << EPOCH_BIT)
        for start in range(0, len(self) * size, size):
            yield order[start : start + size][rank::world]

    def order(self) -> torch.Tensor:
        """The rows of this epoch in order, int64 ``[n]``."""
        generator = self._generator(self._order_epoch())
        if not self.shuffle:
            return torch.arange(self.num_rows) if self.lengths is None else longest_first(self.lengths)
        if self.draw == "groups_per_batch":
            return self._in_groups(generator)
        drawn = self._drawn(generator)
        if self.lengths is None:
            return drawn
        batch = self.batch_size * rank_and_world()[1]
        return pooled(drawn, self.lengths, generator, batch=batch, pool_batches=self.pool_batches)

    def _order_epoch(self) -> int:
        return self.epoch if self.order_of is None else self.order_of(self.epoch)

    def _drawn(self, generator: torch.Generator) -> torch.Tensor:
        if self.draw == "balanced":
            return balanced(self.group, generator)
        mixed = torch.randperm(self.num_rows, generator=generator)
        return self.kept[mixed] if self.draw == "subsample" else mixed

    def _in_groups(self, generator: torch.Generator) -> torch.Tensor:
        world = rank_and_world()[1]
        rows, groups = self.batch_size // self.groups_per_batch, self.groups_per_batch * world
        drawn = groups_per_batch(self.group, generator, groups=groups, rows=rows, batches=len(self))
        # A process takes every world-th row, so its groups' rows lie as far apart.
        return drawn.view(len(self), world, -1).transpose(1, 2).reshape(-1)

    def _generator(self, epoch: int) -> torch.Generator:
        return torch.Generator().manual_seed(self.seed * 1_000_003 + epoch)
