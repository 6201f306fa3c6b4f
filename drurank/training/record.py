"""Which samples are known to be classified correctly, and what that makes of their groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from drurank.checks import NONE
from drurank.data.memberships import Memberships
from drurank.dcg import accuracy_from_counts, precise
from drurank.errors import InputError
from drurank.processes import max_over_processes_
from drurank.ranking import add_group_sums_
from drurank.spread import shrunk_accuracy

UNKNOWN = -1
Judge = Callable[[Tensor, Tensor], Tensor]
"""Says of scores ``[B, C]`` and labels ``[B]`` which are correct, bool ``[B]``."""
LARGEST = torch.finfo(torch.float32).max
MOST_WAITING = 2**14
"""Scores that wait to be judged; so few that one thread writes them in their order."""


class EpochRecord:
    """Right or wrong by sample, written batch by batch and combined over processes at the epoch's end.

    Predictions go to a fresh table by the sample's index, so a sample that a sampler repeats counts once; where two
    processes saw it, it counts as right if either had it right. ``commit`` puts the fresh table in force, and ``news``
    is then true until weights are made from it. Costs 6 bytes a sample on the device, 8 more with losses, and 8 for
    each membership where groups overlap.

    Args:
        group: group of each sample, integer ``[n]``, on the device where the tables are to live; negative for none. Or
            the memberships of samples that may be in several.
        num_groups: number of groups ``m``.
        keeps_loss: whether the loss of each sample is noted too.
    """

    def __init__(self, group: Tensor | Memberships, num_groups: int, *, keeps_loss: bool = False) -> None:
        self.num_groups = num_groups
        self._row: Tensor | None = None
        """Sample of each membership, int32 ``[p]``, where groups overlap."""
        self._group_of_row: Tensor | None = None
        """Its group, likewise."""
        if isinstance(group, Memberships):
            self._row, self._group_of_row = group.row.to(torch.int32), group.group.to(torch.int32)
            group = torch.full((group.rows,), NONE, dtype=torch.int32, device=self._row.device)
        self.group = group.clamp(min=-1).to(torch.int32)
        """Group of each sample, int32 ``[n]``, -1 where it has none, as all have where groups overlap."""
        self.correct = torch.full_like(self.group, UNKNOWN, dtype=torch.int8)
        """In force, int8 ``[n]``: 1 right, 0 wrong, -1 never seen."""
        self._fresh = self.correct.clone()
        self.loss = torch.zeros_like(self.group, dtype=torch.float32) if keeps_loss else None
        """In force, float32 ``[n]``, of samples that were seen; ``None`` where losses are not kept."""
        self._fresh_loss = None if self.loss is None else self.loss - torch.inf
        self._waiting: list[tuple[Tensor, Tensor, Tensor]] = []
        self._judge: Judge | None = None
        self.news = False
        """Whether predictions came into force that no weights were made from yet."""

    def write(self, index: Tensor, correct: Tensor, losses: Tensor | None = None) -> None:
        """Note a batch's predictions; does not wait for the device.

        Args:
            index: the samples' places in the dataset, int64 ``[B]``, in ``[0, n)``.
            correct: whether each was classified correctly, bool ``[B]``.
            losses: of each, float ``[B]``, where losses are kept; one that is nan or infinite is the largest there is.
        """
        self._settle()
        self._fresh.index_copy_(0, index, correct.to(torch.int8))
        if self._fresh_loss is not None and losses is not None:
            self._fresh_loss.index_copy_(0, index, losses.detach().float().nan_to_num(nan=LARGEST))

    def write_later(self, index: Tensor, scores: Tensor, label: Tensor, judge: Judge) -> None:
        """Note a batch's scores, to be judged together with those of other batches, which is faster for small ones.

        Args:
            index: as of ``write``.
            scores: float ``[B, C]``, on the CPU.
            label: int64 ``[B]``.
            judge: says which are correct, each for itself; the same at every call.
        """
        if self._waiting and self._waiting[0][1].shape[1:] != scores.shape[1:]:
            self._settle()
        # Copies, since what made them may use their memory again.
        self._waiting.append((index.clone(), scores.detach().clone(), label.clone()))
        self._judge = judge
        if len(self._waiting) * scores.numel() >= MOST_WAITING:
            self._settle()

    def _settle(self) -> None:
        """Judge what waits."""
        if self._waiting and self._judge is not None:
            index, scores, label = (torch.cat(parts) for parts in zip(*self._waiting, strict=True))
            self._waiting = []
            self._fresh.index_copy_(0, index, self._judge(scores, label).to(torch.int8))

    def commit(self, *, whole: bool = False) -> bool:
        """Combine the fresh predictions of all processes and put them in force; every process must call it.

        Args:
            whole: take them only if every sample was seen, else leave what was in force.

        Returns:
            Whether anything was put in force.
        """
        self._settle()
        seen = max_over_processes_(self._fresh) != UNKNOWN
        take = bool(seen.all() if whole else seen.any())
        if take:
            self.correct = torch.where(seen, self._fresh, self.correct)
            if self.loss is not None and self._fresh_loss is not None:
                self.loss = torch.where(seen, max_over_processes_(self._fresh_loss), self.loss)
            self.news = True
        self.forget_fresh()
        return take

    def forget_fresh(self) -> None:
        """Drop what was written since the last commit."""
        self._waiting = []
        self._fresh.fill_(UNKNOWN)
        if self._fresh_loss is not None:
            self._fresh_loss.fill_(-torch.inf)

    @property
    def overlap(self) -> bool:
        """Whether a sample may be in several groups, or in none and count among all samples."""
        return self._row is not None

    @property
    def _group(self) -> Tensor:
        """Group of each membership, int32 ``[p]``; without overlap each sample has one."""
        return self.group if self._group_of_row is None else self._group_of_row

    def known_group(self) -> Tensor:
        """Group of each sample that has a prediction in force, int32 ``[..., n]``, else -1."""
        return torch.where(self.correct != UNKNOWN, self.group, NONE)

    def known_members(self) -> tuple[Tensor, Tensor]:
        """Sample and group of each membership, int64 ``[p]``, the group -1 where its prediction is not in force.

        Without overlap, each sample has one.
        """
        row = torch.arange(len(self.group), device=self.group.device) if self._row is None else self._row.long()
        return row, torch.where(self.correct[row] != UNKNOWN, self._group, NONE).long()

    def counted(self) -> Tensor:
        """Samples that count among all, bool ``[n]``: known and, without overlap, of a group."""
        known = self.correct != UNKNOWN
        return known if self.overlap else known & (self.group >= 0)

    def group_accuracy(self, *, shrink: bool = False) -> tuple[Tensor, Tensor]:
        """Accuracy ``[..., m]`` (``nan`` where nothing was seen) and count, int64 ``[..., m]``, as in force.

        Args:
            shrink: give the posterior mean of the accuracy, see :func:`drurank.spread.shrunk_accuracy`; one value for
                all groups where no difference between them was found beyond chance.
        """
        right, count = self._sums(self.correct == 1), self._sums(self.correct != UNKNOWN)
        if shrink:
            return shrunk_accuracy(right, count, equal_if_alike=True), count
        return accuracy_from_counts(right, count), count

    def group_loss(self) -> Tensor:
        """Mean loss of each group's samples that were seen, ``[..., m]``, ``nan`` where none was; losses are kept."""
        assert self.loss is not None, "made with keeps_loss"
        known = self.correct != UNKNOWN
        zeros = torch.zeros(*known.shape[:-1], self.num_groups, dtype=precise(self.loss), device=known.device)
        return self._add_(zeros, torch.where(known, self.loss, 0.0)) / self._sums(known)

    def to_samples(self, group_value: Tensor, *, only_wrong: bool) -> Tensor:
        """Give each sample the value of its group.

        Args:
            group_value: value by group, float ``[..., m]``.
            only_wrong: only to samples whose prediction in force is wrong.

        Returns:
            Values by sample, float32 ``[..., n]``, whether the sample itself was seen or not; 1 for those without a
            group, those of a group of which no sample was seen, and, with ``only_wrong``, those not known to be wrong.
            Of several groups it is the largest value.
        """
        if self._row is not None:
            largest = self._largest(torch.where(self._seen_by_group(), group_value.to(torch.float32), 1.0))
            takes = self.correct == 0 if only_wrong else torch.ones_like(largest, dtype=torch.bool)
            return torch.where(takes & (largest > -torch.inf), largest, 1.0)
        index = self.group.clamp(min=0).long()
        value = group_value.to(torch.float32)[..., index]
        takes = self.correct == 0 if only_wrong else self._seen_by_group()[..., index]
        return torch.where(takes & (self.group >= 0), value, 1.0)

    def count_unseen(self) -> int:
        """How many groups have samples, of which none was seen; waits for the device."""
        every = torch.ones_like(self.correct, dtype=torch.bool)
        return int(((self._sums(every) > 0) & ~self._seen_by_group()).sum())

    def _seen_by_group(self) -> Tensor:
        """Whether a sample of each group has a prediction in force, bool ``[..., m]``."""
        return self._sums(self.correct != UNKNOWN) > 0

    def _sums(self, which: Tensor) -> Tensor:
        """Number of samples by group, of some, bool ``[..., n]``: int64 ``[..., m]``; does not wait for the device."""
        return self._add_(
            torch.zeros(*which.shape[:-1], self.num_groups, dtype=torch.int64, device=which.device), which
        )

    def _add_(self, total: Tensor, sample_value: Tensor) -> Tensor:
        """Add each sample's value, ``[..., n]``, to its groups', ``[..., m]``, in place."""
        return add_group_sums_(total, self._by_member(sample_value), self._group, all_grouped=self.overlap)

    def _by_member(self, sample_value: Tensor) -> Tensor:
        """A value of each sample, ``[..., n]``, once for each of its groups, ``[..., p]``."""
        return sample_value if self._row is None else sample_value.index_select(-1, self._row)

    def _largest(self, group_value: Tensor) -> Tensor:
        """Largest value of each sample's groups, ``[..., m]`` to ``[..., n]``; minus infinity for none."""
        assert self._row is not None, "groups overlap"
        value = group_value.index_select(-1, self._group)
        lowest = value.new_full((*value.shape[:-1], len(self.group)), -torch.inf)
        return lowest.scatter_reduce(-1, self._row.long().expand(value.shape), value, "amax")

    def group_mean(self, sample_value: Tensor) -> Tensor:
        """Mean of a per-sample value over each group's samples, ``[..., n]`` to ``[..., m]``, ``nan`` for none."""
        total = torch.zeros(
            *sample_value.shape[:-1], self.num_groups, dtype=precise(sample_value), device=sample_value.device
        )
        count = self._add_(torch.zeros_like(total), torch.ones_like(sample_value))
        return self._add_(total, sample_value) / count

    def group_max(self, sample_value: Tensor) -> Tensor:
        """Largest of a per-sample value in each group, ``[..., n]`` to ``[..., m]``, ``nan`` for none."""
        lowest = torch.full((*sample_value.shape[:-1], self.num_groups), -torch.inf, device=sample_value.device)
        value = self._by_member(sample_value.float())
        index = self._group.clamp(min=0).long().expand(value.shape)
        value = torch.where(self._group >= 0, value, -torch.inf)
        top = lowest.scatter_reduce(-1, index, value, "amax")
        return torch.where(top.isinf(), torch.nan, top)

    def state_dict(self) -> dict[str, Any]:
        """The predictions as plain tensors on the CPU, fresh ones of all processes included; every one must call it."""
        self._settle()
        fresh = max_over_processes_(self._fresh.clone())
        tables = {"correct": self.correct, "fresh": fresh}
        on_cpu = {name: table.detach().to("cpu", copy=True) for name, table in tables.items()}
        loss = {} if self.loss is None else {"loss": self.loss.detach().to("cpu", copy=True)}
        return {**on_cpu, **loss, "news": self.news}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Copy what ``state_dict`` gave onto this record's device.

        Raises:
            InputError: if it is of another number of samples.
        """
        if state["correct"].shape != self.correct.shape:
            raise InputError(
                f"the saved record has {len(state['correct']):,} samples and the training set {len(self.correct):,}; "
                "give the data it was made with"
            )
        device = self.correct.device
        self._waiting = []
        self.correct, self._fresh = (state[key].to(device, copy=True) for key in ("correct", "fresh"))
        if self.loss is not None and "loss" in state:
            self.loss = state["loss"].to(device, copy=True)
        self.news = state["news"]
