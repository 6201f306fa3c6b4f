"""Runs fits side by side: gathers those that wait for an epoch, stacks those that are alike, and lets them go on."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import partial
from typing import Any

import torch

from drurank.errors import InputError
from drurank.stacked.epoch import Epoch, structure
from drurank.stacked.member import JOIN, Member
from drurank.stacked.optimizers import settings
from drurank.stacked.turns import Turn

NONE_ALIKE = "no other candidate has the same network, data, batches and optimizer"


class Fit:
    """A fit that is to be stacked with others.

    Args:
        work: trains, and whatever comes before and after it.
        ended: called with the error that ended it, or ``None``, when it is over.
    """

    def __init__(self, work: Callable[[], object], ended: Callable[[BaseException | None], None]) -> None:
        self._ended, self.member = ended, None
        self.turn = Turn(partial(self._run, work))
        self.member: Member | None = None

    def go_on(self) -> None:
        """Let it go on until it waits for an epoch, or is over."""
        self.turn.go_on()
        if self.turn.over:
            self._ended(self.turn.error)

    def _run(self, work: Callable[[], object]) -> None:
        context = copy_context()
        context.run(JOIN.set, self._join)
        context.run(work)

    def _join(self, trainer: Any, method: Any) -> None:
        self.member = Member(trainer, method, self.turn.pause)


def run_together(fits: Sequence[Fit]) -> None:
    """Run fits to their ends, the epochs of those that are alike together.

    Whatever interrupts it ends all of them.
    """
    try:
        for fit in fits:
            fit.go_on()
        while waiting := [fit for fit in fits if not fit.turn.over]:
            for stack in _alike(waiting):
                _train(stack)
                for fit in stack:
                    fit.go_on()
    except BaseException as error:
        for fit in fits:
            fit.turn.end(error)
        raise


def _train(stack: list[Fit]) -> None:
    """Train an epoch of a stack, or have its fits train alone where that cannot be done."""
    members = [fit.member for fit in stack if fit.member is not None]
    if len(members) == 1:
        members[0].leave(NONE_ALIKE)
        return
    state = torch.get_rng_state()
    try:
        torch.manual_seed(members[0].trainer.current_epoch * 7_919 + len(members))
        Epoch(members).train()
    except (InputError, RuntimeError, ValueError, TypeError, KeyError) as error:
        for member in members:
            member.leave(" ".join(f"{type(error).__name__}: {error}".split())[:200])
    finally:
        torch.set_rng_state(state)


def _alike(fits: Sequence[Fit]) -> list[list[Fit]]:
    """Fits whose next epoch can be trained as one, those of equal settings of the optimizer one after the other."""
    found: dict[Any, list[Fit]] = {}
    for fit in fits:
        assert fit.member is not None, "a fit pauses only after it has joined"
        found.setdefault(_kind(fit.member), []).append(fit)
    return [sorted(stack, key=_settings) for stack in found.values()]


def _settings(fit: Fit) -> str:
    assert fit.member is not None
    return settings(fit.member)


def _kind(member: Member) -> tuple[Any, ...]:
    """What fits that can be stacked have in common."""
    method, trainer, sampler = member.method, member.trainer, member.loader.sampler
    clipping = trainer.gradient_clip_val, str(trainer.gradient_clip_algorithm)
    return (
        structure(method.network),
        pickle.dumps(method.loss),
        member.loader.dataset.fingerprint(),
        (sampler.batch_size, len(sampler), sampler.num_rows),
        type(member.optimizer).__name__,
        clipping,
    )
