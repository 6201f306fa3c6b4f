"""The global batch, as every process sees it: its rows, and which of them are of one group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional

from drurank.errors import InputError
from drurank.processes import max_over_processes_, rank_and_world, sum_over_processes_
from drurank.ranking import add_group_sums_

GLOBAL = ("rows", "share", "largest")


class GlobalBatch(dict[str, Any]):
    """A batch with what is known of the global batch, that notes whether a method looked at it.

    Beside the batch's own entries: ``rows``, how many rows the global batch has (float32 scalar, or an int with one
    process); ``share``, the number of processes over ``rows``, by which a sum over this process's rows becomes the mean
    over the global batch; ``largest``, the rows that no process has more of, ``None`` where that is not known.

    Args:
        batch: the batch of this process.
        rows: how many rows this process has.
        largest: see above.
        device: where the batch is.
        overlap: whether a row may be in several groups, so that the batch does not say them.
    """

    def __init__(
        self, batch: Mapping[str, Any], rows: int, largest: int | None, device: torch.device, *, overlap: bool = False
    ) -> None:
        world = rank_and_world()[1]
        total: Tensor | int = rows
        if world > 1:
            total = sum_over_processes_(torch.full((), rows, dtype=torch.float32, device=device))
        super().__init__(batch, rows=total, share=world / total, largest=largest)
        self.overlap = overlap
        self.is_global = world == 1
        """Whether the method is known to look at the global batch."""

    def __getitem__(self, name: str) -> Any:
        """An entry."""
        self._look_at(name)
        return super().__getitem__(name)

    def __iter__(self) -> Iterator[str]:
        """Names of the entries; a copy may look at any of them."""
        self.is_global = True
        return super().__iter__()

    def get(self, name: str, default: Any = None) -> Any:
        """An entry, or ``default``."""
        self._look_at(name)
        return super().get(name, default)

    def _look_at(self, name: str) -> None:
        self.is_global |= name in GLOBAL
        if name == "group" and self.overlap:
            raise InputError(
                "the objective looks at batch['group'], the one group of each row, and groups overlap; give groups of "
                "which a row is in one, or weigh rows in reweight(record)"
            )

    def check_use(self, method: str) -> None:
        """Refuse an objective that looked at nothing of the global batch, which is that of this process alone.

        Raises:
            InputError: naming what to use.
        """
        if not self.is_global:
            raise InputError(
                f"{method}.reduce looks at this process's rows only, so over several processes its gradient is not "
                "that of the global batch; scale a sum over rows by batch['share'], or compute it from "
                "gather_losses(losses, batch, fill=...)"
            )


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
        largest = int(max_over_processes_(torch.tensor(rows.shape[-1], device=rows.device)))
    padded = functional.pad(rows, (0, largest - rows.shape[-1]), value=fill)
    parts = [torch.empty_like(padded) for _ in range(world)]
    dist.all_gather(parts, padded.contiguous())
    return torch.stack(parts, dim=-1).flatten(-2)


def gather_predictions(index: Tensor, correct: Tensor, largest: int | None = None) -> tuple[Tensor, Tensor]:
    """Rows of all processes and whether each is correct, in the order of the global batch; see ``gather_rows``."""
    index, correct = (gather_rows(rows.long(), fill=-1, largest=largest) for rows in (index, correct))
    # Places without a row repeat the very first row, which the first process always has.
    missing = index < 0
    return torch.where(missing, index[:1], index), torch.where(missing, correct[:1], correct)


def gather_losses(losses: Tensor, batch: Mapping[str, Any], *, fill: float) -> Tensor:
    """Losses of the global batch, with the gradient of this process's own, ``[..., B]`` to ``[..., N]``.

    What an objective of your own needs that is not a sum over rows: any function of these losses, returned from
    ``reduce`` as it is, has the value and the gradient that it would have in one process, however the rows are spread.

    Args:
        losses: of this process's rows, float ``[..., B]``.
        batch: the batch that ``reduce`` was given.
        fill: what stands where a process has fewer rows than others, such as ``-inf`` under a ``logsumexp``.
            ``batch["rows"]`` is how many rows there are.
    """
    rank, world = rank_and_world()
    if world == 1:
        return losses
    everywhere = gather_rows(losses.detach(), fill=fill, largest=batch["largest"])
    # Gradients are averaged over processes, so each process's own rows count as often as there are processes.
    own = losses + (world - 1) * (losses - losses.detach())
    place = torch.arange(losses.shape[-1], device=losses.device) * world + rank
    return everywhere.index_copy(-1, place, own)


def weighted_sum(weight: Tensor, losses: Tensor) -> Tensor:
    """This process's part of a weighted sum over the global batch, times the number of processes.

    Gradients are averaged over processes, so that they get that of the whole sum.

    Args:
        weight: of the rows of the global batch, in the order of ``gather_rows``, float ``[..., N]``.
        losses: of this process's rows, float ``[..., B]``.
    """
    rank, world = rank_and_world()
    own = (weight if world == 1 else weight[..., rank::world][..., : losses.shape[-1]]).to(losses.dtype)
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


def spread_in_batch(by_number: Tensor, number: Tensor) -> Tensor:
    """Give each row the value of its number, ``[..., N]`` to ``[..., N]``; 0 where there is no row."""
    return torch.where(number >= 0, by_number[..., number.clamp(min=0)], 0)


def first_in_batch(number: Tensor) -> Tensor:
    """Place of the first row of the same number, int64 ``[N]``; the own place where there is no row."""
    place = torch.arange(len(number), device=number.device)
    none = torch.full_like(place, len(place))
    first = none.scatter_reduce(0, number.clamp(min=0), torch.where(number >= 0, place, len(place)), "amin")
    return torch.where(number >= 0, first[number.clamp(min=0)], place)
