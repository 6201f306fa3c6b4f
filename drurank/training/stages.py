"""Stages of a training: how long each is, for schedules that end with it, and which epochs may be chosen."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import torch
from lightning.pytorch import Callback
from lightning.pytorch.callbacks import GradientAccumulationScheduler, ModelCheckpoint
from lightning.pytorch.utilities.rank_zero import rank_zero_warn

from drurank.errors import InputError
from drurank.training.schedules import Decay


@dataclass(frozen=True)
class Stages:
    """The one stage of a training, or the two of a method that trains a second time from the start.

    Attributes:
        starts_anew_at: epoch with which the second stage begins; ``None`` where there is one stage.
    """

    starts_anew_at: int | None = None

    def epoch_of(self, epoch: int) -> int:
        """Number of an epoch within its stage, from 0; the second stage draws its rows as the first did."""
        anew = self.starts_anew_at
        return epoch if anew is None or epoch < anew else epoch - anew

    def is_last(self, epoch: int) -> bool:
        """Whether an epoch lies in the last stage, whose epochs may be chosen as best."""
        return self.starts_anew_at is None or epoch >= self.starts_anew_at

    def seed(self, epoch: int, rank: int) -> None:
        """Draw dropout of an epoch from the run's seed, if it has one, the number of the process and the epoch."""
        seed = os.environ.get("PL_GLOBAL_SEED")
        if seed is not None:
            torch.manual_seed(int(seed) * 1_000_003 + self.epoch_of(epoch) * 7_919 + rank)

    def end_schedules(self, trainer: Any, epoch: int) -> None:
        """Tell the schedules that end with a stage how long the stage of this epoch is.

        Raises:
            InputError: if that cannot be known.
        """
        anew = self.starts_anew_at
        first, end = (0, anew) if anew is not None and epoch < anew else (anew or 0, trainer.max_epochs)
        epoch_steps, last = steps_of_epoch(trainer), steps_of_run(trainer, end)
        if last is None:
            return
        steps = max(last - first * epoch_steps, 1)
        for config in trainer.lr_scheduler_configs:
            if isinstance(config.scheduler, Decay) and not config.scheduler.own_horizon:
                if any(isinstance(callback, GradientAccumulationScheduler) for callback in trainer.callbacks):
                    raise InputError(
                        "with a GradientAccumulationScheduler the end of the training is not known; give lr_scheduler "
                        "a horizon=<number of steps>"
                    )
                length = steps if config.interval == "step" else -(-steps // epoch_steps)
                config.scheduler.end_after(max(length // config.frequency, 1))


def steps_of_epoch(trainer: Any) -> int:
    """Optimizer steps of an epoch, in which the last batch always ends one."""
    return int(-(-trainer.num_training_batches // trainer.accumulate_grad_batches))


def steps_of_run(trainer: Any, epochs: int | None = None) -> int | None:
    """Optimizer steps of so many epochs, all if not given, or up to ``max_steps``; ``None`` where nothing ends them."""
    epochs = trainer.max_epochs if epochs is None else epochs
    limits = [epochs * steps_of_epoch(trainer)] if epochs != -1 else []
    limits += [trainer.max_steps] if trainer.max_steps != -1 else []
    return min(limits, default=None)


class SelectableOnly:
    """A callback that monitors a criterion, wrapped so that it sees only epochs that may be chosen.

    To the trainer it is the callback: of its class, with its state and its other hooks. Callbacks of any class can be
    wrapped, Lightning's ``ModelCheckpoint`` and ``EarlyStopping`` among them, which have no such option.

    Args:
        callback: what looks at a monitored criterion in one of the hooks below.
    """

    callback: Callback

    def __init__(self, callback: Callback) -> None:
        object.__setattr__(self, "callback", callback)

    def __getattribute__(self, name: str) -> Any:
        """Of the callback, except the hooks below."""
        if name in ("callback", "on_train_batch_end", "on_train_epoch_end", "on_validation_end"):
            return object.__getattribute__(self, name)
        return getattr(object.__getattribute__(self, "callback"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Of the callback."""
        setattr(self.callback, name, value)

    def on_train_batch_end(self, trainer: Any, method: Any, *of_batch: Any) -> None:
        """Only where the epoch may be chosen."""
        if getattr(method, "selectable", True):
            self.callback.on_train_batch_end(trainer, method, *of_batch)

    def on_train_epoch_end(self, trainer: Any, method: Any) -> None:
        """Only where the epoch may be chosen."""
        if getattr(method, "selectable", True):
            self.callback.on_train_epoch_end(trainer, method)

    def on_validation_end(self, trainer: Any, method: Any) -> None:
        """Only where the epoch may be chosen."""
        if getattr(method, "selectable", True):
            self.callback.on_validation_end(trainer, method)


def choose_only_selectable(trainer: Any) -> None:
    """Wrap the trainer's callbacks that monitor a criterion, so that they leave out epochs that are not selectable.

    One with ``save_last`` saves nothing at the end of those epochs; you are warned if no other callback does.
    """
    keepers = [callback for callback in trainer.callbacks if isinstance(callback, ModelCheckpoint)]
    if any(keeper.save_last for keeper in keepers) and all(keeper.monitor for keeper in keepers):
        rank_zero_warn(
            "at the end of epochs that cannot be chosen no last checkpoint is saved; for one add a ModelCheckpoint "
            "without monitor"
        )
    trainer.callbacks[:] = [
        SelectableOnly(callback)
        if isinstance(getattr(callback, "monitor", None), str) and type(callback) is not SelectableOnly
        else callback
        for callback in trainer.callbacks
    ]


def choose_any(trainer: Any) -> None:
    """Give the trainer its own callbacks back, after ``choose_only_selectable``."""
    trainer.callbacks[:] = [
        callback.callback if type(callback) is SelectableOnly else callback for callback in trainer.callbacks
    ]
