"""What is checked before a run of the command line begins, so that one that cannot leaves no trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from jsonargparse import Namespace
from lightning.pytorch import LightningDataModule
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
from lightning.pytorch.trainer.states import TrainerFn
from lightning.pytorch.utilities.rank_zero import rank_zero_warn
from torch.nn.parameter import is_lazy

from drurank.cli.early import needed_weights
from drurank.cli.run_folder import OF_THIS_PROCESS
from drurank.data import GroupDataModule
from drurank.data.encoded import saved_state
from drurank.errors import InputError
from drurank.methods import GroupModule
from drurank.networks import Sizes
from drurank.run_folder.checkpoint_io import read_checkpoint, read_saved
from drurank.run_folder.lock import hold
from drurank.run_folder.logger import is_first_process
from drurank.run_folder.loggers import refuse_taken
from drurank.training import loader_checks, preflight, resume_checks


def check_weights(command: str, config: Mapping[str, Any]) -> None:
    """Refuse checkpoints that only Python has, and to evaluate weights that were never trained.

    Args:
        command: ``fit``, ``validate``, ``test`` or ``predict``.
        config: its settings.

    Raises:
        InputError: saying what to give.
    """
    if config.get("ckpt_path") in OF_THIS_PROCESS:
        raise InputError(
            f"--ckpt_path {config['ckpt_path']} only works in Python, after a fit; give a file such as "
            "<run>/checkpoints/last.ckpt"
        )
    if command != "fit" and bool(config.get("ckpt_path")) == bool(config.get("run")):
        raise InputError(needed_weights(command))


def refuse_taken_version(trainer: Any, loggers: Any) -> None:
    """Refuse to log a new run where another one has.

    Args:
        trainer: of the run.
        loggers: its loggers, as the settings have them.

    Raises:
        InputError: if the version of the first logger was named and is taken.
    """
    first = loggers[0] if isinstance(loggers, list) and loggers else loggers
    named = first.get("init_args", {}).get("version") if isinstance(first, dict | Namespace) else None
    if named is None:
        return
    if is_first_process() and isinstance(trainer.logger, CSVLogger | TensorBoardLogger):
        hold(Path(trainer.logger.log_dir), "trains")
    refuse_taken(trainer.logger)


def check_fit(model: GroupModule, trainer: Any, data: LightningDataModule, checkpoint: str | None) -> None:
    """Read the data, and try what the run will need.

    Args:
        model: the method.
        trainer: of the run.
        data: what it trains on.
        checkpoint: what it is resumed from.

    Raises:
        InputError: if the run cannot start.
    """
    preflight.check_run(model, trainer, data)
    file = checkpoint if checkpoint and Path(checkpoint).is_file() else None
    if file is not None:
        _check_epochs(file, trainer.max_epochs, trainer.max_steps)
    if not isinstance(data, GroupDataModule):
        _try_network(model, data, getattr(data, "sizes", None))
        return
    data.setup("fit")
    if model.needs_groups:
        loader_checks.check_groups(data.dataset("train"), type(model).__name__, model.without_groups)
    data.training_loader(model)
    if file is None:
        _try_network(model, data, data.sizes)
        return
    resume_checks.check_resume(model, read_saved(file), data.sizes, data.dataset("train"))
    saved = read_checkpoint(file)
    state = saved_state(type(data), saved, file) if type(data).__qualname__ in saved else None
    data.trainer, trainer.state.fn = trainer, TrainerFn.FITTING
    if state is not None:
        data.load_state_dict(state)


def check_evaluation(
    model: GroupModule, trainer: Any, data: LightningDataModule, stage: TrainerFn, files: Sequence[str | Path]
) -> None:
    """Read what checkpoints and data hold; the datasets that are read are kept.

    Args:
        model: the method.
        trainer: of the run.
        data: what is evaluated.
        stage: that of the trainer.
        files: the checkpoints.

    Raises:
        InputError: if the run cannot start.
    """
    saved, *_ = [read_checkpoint(file) for file in files]
    # What the trainer does once it has made the folder.
    data.trainer, trainer.state.fn = trainer, stage
    preflight.check_run(model, trainer, data)
    if not isinstance(data, GroupDataModule):
        return
    state = saved_state(type(data), saved, files[0])
    if state is not None:
        data.load_state_dict(state)
    data.setup(stage.value)


def _check_epochs(file: str, most: int | None, most_steps: int) -> None:
    """Refuse a checkpoint of a later epoch than the last, and warn where it is of the end of the last."""
    saved = read_checkpoint(file)
    epoch, steps = saved.get("epoch"), saved.get("global_step")
    if most is not None and most != -1 and isinstance(epoch, int) and epoch > most:
        raise InputError(f"{file} is of epoch {epoch}, and max_epochs is {most}; give max_epochs={epoch + 2}")
    current = saved.get("loops", {}).get("fit_loop", {}).get("epoch_progress", {}).get("current", {})
    over = current.get("processed")
    if most is not None and most != -1 and isinstance(over, int) and over >= most:
        rank_zero_warn(
            f"nothing is left to train: {file} is of epoch {over} of max_epochs={most}; give a larger number, as "
            f"max_epochs={2 * most}"
        )
    elif most_steps != -1 and isinstance(steps, int) and steps >= most_steps:
        rank_zero_warn(
            f"nothing is left to train: {file} is of step {steps} of max_steps={most_steps}; give a larger number, as "
            f"max_steps={2 * most_steps}"
        )


def _try_network(model: GroupModule, data: LightningDataModule, sizes: Sizes | None) -> None:
    if model.network is not None or model.forwards_itself:
        return
    if sizes is None and model.builder.takes_sizes:
        kind = type(data).__name__
        raise InputError(
            f"{kind} has no sizes, which the network is made from: give {kind} a property sizes that returns "
            "drurank.networks.Sizes, or a network whose constructor has no argument sizes"
        )
    # Made for what it refuses; the run makes its own, from the random numbers that it would have had.
    with torch.random.fork_rng(devices=[]):
        network = model.builder.make(sizes)
        is_whole = not any(map(is_lazy, network.parameters()))
        if is_whole and type(model).configure_optimizers is GroupModule.configure_optimizers:
            model.optimization.configure(network, network, lambda *_: None)
