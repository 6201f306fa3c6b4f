"""A fit's place in a stack: where its trainer waits for the others, and takes over what was trained."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Protocol

import torch
from lightning.pytorch import Callback
from lightning.pytorch.utilities.rank_zero import rank_zero_info
from torch import Generator

from drurank.stacked.dropout import generator_of_now, go_on_from
from drurank.stacked.reasons import why_alone
from drurank.training.lean_callback import LeanCallback


class Place(Protocol):
    """What a fit knows of the stack that it is to be in."""

    def join(self, trainer: Any, method: Any) -> None:
        """Be stacked with others."""

    def end_if_told(self) -> None:
        """Raise the error by which the fit is to end, if there is one."""


PLACE: ContextVar[Place | None] = ContextVar("place", default=None)
"""The place of a fit that begins in this context."""


class Joins(LeanCallback):
    """Has a fit join a stack as its training begins, and end between two batches if it is told to."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Join."""
        self.place.join(trainer, pl_module)

    def on_train_batch_start(self, *of_batch: Any) -> None:
        """Look whether it is to end, as it trains alone."""
        self.place.end_if_told()

    def on_validation_batch_start(self, *of_batch: Any) -> None:
        """The same."""
        self.place.end_if_told()

    def on_test_batch_start(self, *of_batch: Any) -> None:
        """The same."""
        self.place.end_if_told()


def joins() -> list[Callback]:
    """The callback of a fit that is to be stacked; none elsewhere."""
    place = PLACE.get()
    return [] if place is None else [Joins(place)]


class Member:
    """A fit in a stack, which trains the batches of an epoch in place of the trainer's own loop.

    Args:
        trainer: of the fit.
        method: what it trains.
        wait: returns once the epoch is trained, or is known to be trained alone.
        largest: most parameters of a network that trains with others; any number, if not given.

    Attributes:
        alone: why this fit trains alone; ``None`` where it is stacked.
        generator: draws dropout of an epoch.
    """

    def __init__(self, trainer: Any, method: Any, wait: Callable[[], None], largest: int | None) -> None:
        self.trainer, self.method, self._wait, self._largest = trainer, method, wait, largest
        self._loop = trainer.fit_loop.epoch_loop
        self._advance = self._loop.advance
        self._loop.advance = self.advance
        self.alone: str | None = None
        self.generator = Generator()

    @property
    def loader(self) -> Any:
        """The training loader."""
        return self.trainer.train_dataloader

    @property
    def optimizer(self) -> Any:
        """The optimizer, as the present stage of the method has it."""
        return self.trainer.optimizers[0]

    def advance(self, fetcher: Any) -> None:
        """Train the next batch alone, or all batches of the epoch with the others."""
        loop = self._loop
        begun = loop.batch_progress.current.ready > 0
        if begun or self.alone or (loop.restarting and loop._should_check_val_fx(fetcher)):
            self._advance(fetcher)
            return
        reason = why_alone(self.trainer, self.method, self._largest)
        if reason is None:
            before = torch.get_rng_state()
            self.method.on_train_batch_start(None, 0)  # which seeds what is drawn now
            self.generator = generator_of_now(self.method.device)
            self._wait()
            reason = self.alone
            if reason is not None:
                torch.set_rng_state(before)  # the trainer's own loop seeds it later
        else:
            self.leave(reason)
        if reason is not None:
            self._advance(fetcher)
            return
        go_on_from(self.generator)
        self._take_over(fetcher)

    def leave(self, reason: str) -> None:
        """Train alone from here on."""
        self.alone = reason
        rank_zero_info(f"{self.method.title}: trains alone, not in a stack: {reason}")

    def _take_over(self, fetcher: Any) -> None:
        """Count the batches of the epoch as the trainer's loop would have."""
        loop, batches = self._loop, self.trainer.num_training_batches
        loop.val_loop.restarting = False
        loop.batch_progress.increment_by(batches, is_last_batch=True)
        progress = loop.automatic_optimization.optim_progress.optimizer
        progress.step.increment_by(batches)
        progress.zero_grad.increment_by(batches)
        loop._batches_that_stepped += batches - 1  # and one more where the loop ends the batch
        fetcher.fetched, fetcher.done = batches, True
        self.optimizer._opt_called = True  # for torch's schedulers, which warn where no step came before theirs
        loop.update_lr_schedulers("epoch", update_plateau_schedulers=False)
        for callback in self.trainer.callbacks:
            # The roll is called for steps that were made here; of the others some have nothing to do at batches.
            if callback is not self.method.roll and callback.on_train_batch_end is not None:
                callback.on_train_batch_end(self.trainer, self.method, None, None, batches - 1)
