"""Notices a training whose steps use nothing of the method's objective, so that its weights have no effect."""

from __future__ import annotations

from typing import Any

import torch
from lightning.pytorch.utilities.rank_zero import rank_zero_warn
from torch import Tensor

from drurank.errors import InputError

LOOKED_AT = 10
"""Steps of an epoch that are looked at, since a look takes time."""


class ObjectiveUse:
    """Counts, of an epoch's first steps, those that a gradient through an objective of ours preceded, and the others.

    A step is a batch that gave a loss to train on or, where optimization is not automatic, one that moved an optimizer.
    """

    def __init__(self) -> None:
        self._warned = False
        self.begin_epoch(0)

    @property
    def is_known(self) -> bool:
        """Whether so many steps of the epoch were looked at that the others need not be."""
        return self._with + self._without >= LOOKED_AT

    def begin_epoch(self, steps: int) -> None:
        """Count anew, after so many steps of optimizers."""
        self._steps = steps
        self._given = self._reached = False
        """Whether, since the last step, there was an objective that needs gradients, and a gradient reached one."""
        self._with = self._without = 0

    def expect(self, objective: Tensor) -> None:
        """Notice a gradient that reaches this objective. Does not wait for the device."""
        if objective.requires_grad and not self.is_known:
            self._given = True
            self._listen(objective)

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def _listen(self, objective: Tensor) -> None:
        objective.register_hook(self._note)  # type: ignore[no-untyped-call]

    def _note(self, gradient: Tensor) -> None:
        self._reached = True

    def end_batch(self, trainer: Any, method: Any, outputs: Any) -> None:
        """A batch is over; ``outputs`` is what Lightning gives its callbacks, empty where a step gave no loss."""
        if self.is_known:
            return
        steps: int = trainer.global_step
        stepped = bool(outputs) if method.automatic_optimization else steps > self._steps
        self._steps = steps
        if stepped and self._given:
            self._with += self._reached
            self._without += not self._reached
            self._given = self._reached = False

    def end_epoch(self, trainer: Any, method: Any) -> None:
        """Judge the epoch, unless the method says that it trains on a loss of its own.

        Raises:
            InputError: naming what to return, if no step used an objective of ours.
        """
        if trainer.current_epoch < method.own_loss_epochs:
            return
        name = type(method).__name__
        unused = self._without > 0 or (not method.automatic_optimization and self._given and not self._reached)
        if unused and not self._with:
            raise InputError(
                f"{name} trains on nothing that super().training_step(batch, batch_idx) gave, so the method's weights "
                "have no effect; return that from training_step, with terms of your own added, or, where optimization "
                "is not automatic, give it to manual_backward; losses of your own belong in sample_losses or "
                "objective; if the first epochs are to train on a loss of your own, set own_loss_epochs to their number"
            )
        if self._without and not self._warned:
            self._warned = True
            rank_zero_warn(
                f"{self._without} of the first {self._without + self._with} training steps of epoch "
                f"{trainer.current_epoch} used nothing that super().training_step(batch, batch_idx) of {name} gave, so "
                "the method's weights had no effect in them"
            )
