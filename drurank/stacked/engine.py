"""Runs fits side by side: gathers those that wait for an epoch, stacks those that are alike, and lets them go on."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import partial
from typing import Any

import torch

from drurank.data.dataset import GroupedDataset, InMemory
from drurank.errors import InputError
from drurank.stacked.epoch import Epoch
from drurank.stacked.member import PLACE, Member
from drurank.stacked.optimizers import settings
from drurank.stacked.reasons import size_of
from drurank.stacked.structure import content, plain, structure
from drurank.stacked.turns import Turn
from drurank.training.loaders import as_list

SHARE = 0.5
"""Of the free memory, what stacks may take."""
NONE_ALIKE = "no other candidate has the same network, data, batches and optimizer"


class Fit:
    """A fit that is to be stacked with others.

    Args:
        work: trains, and whatever comes before and after it.
        ended: called with the error that ended it, or ``None``, when it is over.
        largest: most parameters of a network that trains with others; any number, if not given.

    Attributes:
        together: whether an epoch of it was trained with others.
    """

    def __init__(
        self,
        work: Callable[[], object],
        ended: Callable[[BaseException | None], None],
        largest: int | None = None,
    ) -> None:
        self._ended, self._largest = ended, largest
        self.turn = Turn(partial(self._run, work))
        self.member: Member | None = None
        self.together = False

    @property
    def alone(self) -> str | None:
        """Why it trained alone; ``None`` if it did not, or trained nothing here."""
        return None if self.together or self.member is None else self.member.alone

    def go_on(self) -> None:
        """Let it go on until it waits for an epoch, or is over."""
        self.turn.go_on()
        if self.turn.over:
            self._ended(self.turn.error)

    def end_if_told(self) -> None:
        """Raise the error by which it is to end, if there is one; called by the fit itself."""
        self.turn.end_if_told()

    def _run(self, work: Callable[[], object]) -> None:
        context = copy_context()
        context.run(PLACE.set, self)
        context.run(work)

    def join(self, trainer: Any, method: Any) -> None:
        """Have an epoch of it be trained with those of others; called by the fit itself as its training begins."""
        self.member = Member(trainer, method, self.turn.pause, self._largest)


def run_together(fits: Sequence[Fit]) -> bool:
    """Run fits to their ends, the epochs of those that are alike together.

    Whatever interrupts it ends all of them.

    Args:
        fits: not begun yet.

    Returns:
        Whether any of them trained together.
    """
    tables: dict[Any, InMemory] = {}
    try:
        for fit in fits:
            fit.go_on()
            if not fit.turn.over:
                _share_rows(_member(fit), tables)
        while waiting := [fit for fit in fits if not fit.turn.over]:
            for stack in _alike(waiting):
                _train(stack)
                for fit in stack:
                    fit.go_on()
    except BaseException as error:
        for fit in fits:
            fit.turn.end(error)
        raise
    return any(fit.together for fit in fits)


def _train(stack: list[Fit]) -> None:
    """Train an epoch of a stack, or have its fits train alone where that cannot be done."""
    members = [_member(fit) for fit in stack]
    if len(members) == 1:
        members[0].leave(NONE_ALIKE)
        return
    state = torch.get_rng_state()
    try:
        Epoch(members).train()
    except (InputError, RuntimeError, ValueError, TypeError, KeyError) as error:
        for member in members:
            member.leave(" ".join(f"{type(error).__name__}: {error}".split())[:200])
    else:
        for fit in stack:
            fit.together = True
    finally:
        torch.set_rng_state(state)


def _share_rows(member: Member, tables: dict[Any, InMemory]) -> None:
    """Have fits with the same rows hold them once."""
    datasets = [getattr(loader.dataset, "dataset", None) for loader in as_list(member.trainer.val_dataloaders)]
    for dataset in [member.loader.dataset, *datasets]:
        if type(dataset) is GroupedDataset and type(dataset.dataset) is InMemory:
            kind = dataset.fingerprint(), plain(dataset.dataset.transform)
            dataset.dataset = tables.setdefault(kind, dataset.dataset)


def _alike(fits: Sequence[Fit]) -> list[list[Fit]]:
    """Fits whose next epoch can be trained as one, those of equal settings of the optimizer one after the other."""
    found: dict[Any, list[Fit]] = {}
    for fit in fits:
        found.setdefault(_kind(_member(fit)), []).append(fit)
    stacks = []
    for alike in found.values():
        most = max(1, int(_free_bytes() * SHARE / _bytes(_member(alike[0]))))
        ordered = sorted(alike, key=_settings)
        stacks += [ordered[start : start + most] for start in range(0, len(ordered), most)]
    return stacks


def _bytes(member: Member) -> int:
    """Memory that a candidate takes within a stack: parameters, gradients and two moments; tables by row."""
    return 16 * size_of(member.method) + 32 * len(member.method.record.correct)


def _free_bytes() -> int:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _settings(fit: Fit) -> str:
    return settings(_member(fit))


def _member(fit: Fit) -> Member:
    assert fit.member is not None, "a fit pauses only once it has joined"
    return fit.member


def _kind(member: Member) -> tuple[Any, ...]:
    """What fits that can be stacked have in common."""
    method, trainer, sampler = member.method, member.trainer, member.loader.sampler
    clipping = trainer.gradient_clip_val, str(trainer.gradient_clip_algorithm)
    return (
        structure(method.network),
        content(method.loss),
        id(member.loader.dataset.dataset),  # the same for all that have the same rows
        (sampler.batch_size, len(sampler), sampler.num_rows),
        type(member.optimizer).__name__,
        clipping,
    )
