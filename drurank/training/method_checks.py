"""What a fit of one method is refused for, by its ``fit_checks`` and ``begun_checks``; see ``preflight``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lightning.pytorch.callbacks import (
    EarlyStopping,
    StochasticWeightAveraging,
    Timer,
    WeightAveraging,
)
from lightning.pytorch.strategies import DeepSpeedStrategy, FSDPStrategy, ModelParallelStrategy
from torch import nn

from drurank.errors import InputError
from drurank.training.evaluated import key_prefixes
from drurank.training.loaders import reads_all
from drurank.training.resume import waits_for_its_end
from drurank.training.stages import steps_of_epoch, steps_of_run

SHARDED = (FSDPStrategy, ModelParallelStrategy, DeepSpeedStrategy)
"""Strategies that leave each process a part of the weights."""


def weights_can_be_replaced(method: Any, trainer: Any, datamodule: Any) -> None:
    """Nothing averages or shards weights that a method replaces whole at the end of a stage, as JTT and DFR do."""
    for callback in trainer.callbacks:
        if isinstance(callback, WeightAveraging | StochasticWeightAveraging):
            raise InputError(
                f"{type(callback).__name__} would average weights from before and after {method.title} replaces them; "
                "leave it out"
            )
    if isinstance(trainer.strategy, SHARDED):
        raise InputError(
            f"{type(trainer.strategy).__name__} splits the weights over processes and {method.title} replaces whole "
            "ones; give strategy='ddp'"
        )


def both_stages_train(method: Any, trainer: Any, datamodule: Any) -> None:
    """A run of two stages ends in the second, and validates at the end of the first."""
    if trainer.fast_dev_run:
        raise InputError(
            "fast_dev_run trains one epoch and JTT two stages; give max_epochs=2 and limit_train_batches=2 in its place"
        )
    epochs, first, every = trainer.max_epochs, method.first_stage_epochs, trainer.check_val_every_n_epoch
    if epochs is not None and 0 <= epochs <= first:
        raise InputError(
            f"max_epochs is {epochs} and first_stage_epochs {first}: max_epochs counts both stages and must be larger"
        )
    if method.accuracy_from == "evaluation" and (every is None or first % every):
        raise InputError(
            f"the errors of epoch {first} would not be known with check_val_every_n_epoch={every}; validate in it, "
            "or set accuracy_from='training'"
        )


def last_epoch_is_known(method: Any, trainer: Any, datamodule: Any) -> None:
    """A method that does its work after the last epoch knows which it is, and has it validated."""
    if trainer.fast_dev_run:
        raise InputError(
            "fast_dev_run ends before DFR fits the last layer; give max_epochs=1 and limit_train_batches=2 in its place"
        )
    if trainer.max_epochs == -1 or trainer.max_steps != -1 or _has(trainer, Timer):
        raise InputError(
            "DFR fits the last layer after the last epoch, which must be known: give max_epochs, no max_steps or "
            "max_time"
        )
    every = trainer.check_val_every_n_epoch
    if every is None or trainer.max_epochs % every or getattr(trainer, "val_check_interval", 0) != 1.0:
        raise InputError(
            f"the last of max_epochs={trainer.max_epochs} is the one to validate; give a check_val_every_n_epoch "
            "that divides it, and no val_check_interval"
        )
    if _has(trainer, EarlyStopping):
        raise InputError("DFR chooses no epoch but the last, so EarlyStopping would have no effect; leave it out")


def fitted_split_chooses_nothing(method: Any, trainer: Any, datamodule: Any) -> None:
    """The split that DFR fits is there, and no checkpoint is chosen by it."""
    split = method.split
    if split == "train":
        return
    splits = datamodule.splits() if hasattr(datamodule, "splits") else []
    if split not in splits:
        have = f"only {', '.join(splits)}" if splits else "no data module of drurank"
        raise InputError(f"DFR is to fit rows of split {split!r} and there is {have}; give split='train'")
    prefix = key_prefixes([name for name in splits if name.endswith("val")], "val")[split]
    keys = [str(getattr(callback, "monitor", None)) for callback in trainer.callbacks]
    if prefix == "val" or any(key.startswith(f"{prefix}_") for key in keys):
        raise InputError(
            f"checkpoints are chosen by split {split!r}, whose rows DFR is to fit; give it another split, as 'train'"
        )


def groups_have_halves(method: Any, trainer: Any, datamodule: Any) -> None:
    """Batches hold two rows or more of each group, as IRM's penalty needs."""
    groups = 2 if getattr(datamodule, "groups_per_batch", None) is None else datamodule.groups_per_batch
    by_group = hasattr(datamodule, "draw_of") and datamodule.draw_of(method) == "groups_per_batch"
    if by_group and datamodule.batch_size < 2 * groups:
        raise InputError(
            f"batch_size={datamodule.batch_size} has fewer than two rows for each of {groups} groups, so IRM would "
            "have no penalty; give larger batches, or fewer groups_per_batch"
        )


def second_stage_is_reached(method: Any, trainer: Any, datamodule: Any) -> None:
    """The first of two stages ends before ``max_steps``, with its errors known."""
    if method.accuracy_from == "evaluation" and not reads_all(trainer) and not bool(method.state["second_stage"]):
        raise InputError(
            f"limit_val_batches={trainer.limit_val_batches} leaves out training rows whose errors are to be known; "
            "leave it out, or set accuracy_from='training'"
        )
    first = method.first_stage_epochs * steps_of_epoch(trainer)
    if trainer.max_steps != -1 and trainer.max_steps <= first:
        raise InputError(
            f"max_steps is {trainer.max_steps} and the first stage has {first}; give more, or leave it out"
        )


def penalty_comes_into_force(method: Any, trainer: Any, datamodule: Any) -> None:
    """A run with IRM goes on after ``anneal_steps``."""
    steps = steps_of_run(trainer)
    if method.penalty_weight > 1 and steps is not None and steps <= method.anneal_steps:
        raise InputError(
            f"the run has {steps:,} steps and penalty_weight is in force after anneal_steps={method.anneal_steps}; "
            "give fewer, or train longer"
        )


def last_layer_is_unfitted(method: Any, trainer: Any, datamodule: Any) -> None:
    """A resumed run of DFR has not fitted its last layer yet, or has only the end of that epoch left."""
    if method.selectable and not waits_for_its_end(trainer):
        raise InputError(
            "the checkpoint's last layer was fitted by DFR, so its training is over; test it, or start anew with more "
            "max_epochs"
        )


def check_last_layer(owner: Any, parameters: Sequence[nn.Parameter]) -> None:
    """Refuse a network without ``features`` and a last layer ``head`` that DFR can fit.

    Args:
        owner: what should have them.
        parameters: all parameters of the method, those that are shared as often as they are.

    Raises:
        InputError: naming the network.
    """
    head: Any = getattr(owner, "head", None)
    own = dict(head.named_parameters()) if isinstance(head, nn.Linear) else {}
    shared = sum(value is own.get("weight") for value in parameters)
    if own.keys() != {"weight", "bias"} or shared > 1 or not callable(getattr(owner, "features", None)):
        raise InputError(
            "DFR needs a network with features(x) and head, an nn.Linear with a plain weight and bias of its own; "
            f"{type(owner).__name__} lacks one of them"
        )


def _has(trainer: Any, kind: type) -> bool:
    return any(isinstance(callback, kind) for callback in trainer.callbacks)
