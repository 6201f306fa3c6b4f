"""Stages of a training: how long each is, for schedules that end with it, and which epochs may be chosen."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from lightning.pytorch.callbacks import (
    GradientAccumulationScheduler,
    ModelCheckpoint,
    StochasticWeightAveraging,
    WeightAveraging,
)
from lightning.pytorch.strategies import DeepSpeedStrategy, FSDPStrategy, ModelParallelStrategy
from lightning.pytorch.utilities.rank_zero import rank_zero_warn

from drurank.errors import InputError
from drurank.training.schedules import Decay

SHARDED = (FSDPStrategy, ModelParallelStrategy, DeepSpeedStrategy)
"""Strategies that leave each process a part of the weights."""
CHOOSING = ("on_train_batch_end", "on_train_epoch_end", "on_validation_end")
"""Hooks in which callbacks that monitor a criterion look at it."""


def end_schedules(trainer: Any, first: int, end: int) -> None:
    """Tell the schedules that end with a stage how long it is.

    Args:
        trainer: what runs it; its training data is known.
        first: first epoch of the stage.
        end: epoch that the stage ends before, -1 where only the trainer's ``max_steps`` ends it.
    """
    epoch_steps, last = steps_of_epoch(trainer), steps_of_run(trainer, end)
    if last is None:
        return
    steps = max(last - first * epoch_steps, 1)
    for config in trainer.lr_scheduler_configs:
        if isinstance(config.scheduler, Decay) and not config.scheduler.own_horizon:
            if any(isinstance(callback, GradientAccumulationScheduler) for callback in trainer.callbacks):
                raise InputError(
                    "with a GradientAccumulationScheduler the end of the training is not known; give lr_scheduler a "
                    "horizon=<number of steps>"
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


def check_replaceable(trainer: Any, method: str) -> None:
    """Refuse a trainer in which a method cannot replace the whole weights, as JTT and DFR do at the end of a stage.

    Raises:
        InputError: naming what averages weights over that point, or leaves each process a part of them.
    """
    for callback in trainer.callbacks:
        if isinstance(callback, WeightAveraging | StochasticWeightAveraging):
            raise InputError(
                f"{type(callback).__name__} would average weights from before and after {method} replaces them; leave "
                "it out"
            )
    if isinstance(trainer.strategy, SHARDED):
        raise InputError(
            f"{type(trainer.strategy).__name__} splits the weights over processes and {method} replaces whole ones; "
            "give --trainer.strategy ddp"
        )


def choose_only_selectable(trainer: Any) -> None:
    """Have the trainer's callbacks that monitor a criterion leave out epochs that the method says are not selectable.

    Those of any class, Lightning's ``ModelCheckpoint`` and ``EarlyStopping`` among them, which have no such option. One
    with ``save_last`` saves nothing in those epochs; that is said, if no other callback does.
    """
    keepers = [callback for callback in trainer.callbacks if isinstance(callback, ModelCheckpoint)]
    if any(keeper.save_last for keeper in keepers) and all(keeper.monitor for keeper in keepers):
        rank_zero_warn(
            "until epochs can be chosen no last checkpoint is saved; for one add a ModelCheckpoint without monitor"
        )
    for callback in trainer.callbacks:
        if not isinstance(getattr(callback, "monitor", None), str):
            continue
        for name in CHOOSING:
            if name not in vars(callback):  # a second fit with the same trainer
                setattr(callback, name, partial(_where_selectable, getattr(callback, name)))


def _where_selectable(look: Callable[..., None], trainer: Any, method: Any, *of_batch: Any) -> None:
    if getattr(method, "selectable", True):
        look(trainer, method, *of_batch)
