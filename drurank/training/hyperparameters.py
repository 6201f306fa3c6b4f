"""What a run is made of, for its loggers."""

from __future__ import annotations

import inspect
import os
from typing import Any

from lightning.pytorch import LightningDataModule
from lightning.pytorch.utilities.rank_zero import rank_zero_warn

from drurank.networks.factory import is_plain
from drurank.training.loaders import batches_of
from drurank.training.optimization import optimizers_in_words


def log_hyperparameters(method: Any, trainer: Any) -> None:
    """Have the loggers note what the run is made of, each by its own means.

    This comes before what Lightning logs, since TensorBoard shows the first of several.

    Args:
        method: the ``GroupModule``, at the start of a fit.
        trainer: what trains it.
    """
    _log(made_of(method, trainer), trainer.loggers)


def log_training_set(trainer: Any) -> None:
    """Have the loggers note the training rows and how they are drawn; see ``log_hyperparameters``."""
    loader = trainer.train_dataloader
    facts = {"rows": len(loader.dataset), "groups": loader.dataset.num_training_groups, "batches": batches_of(loader)}
    _log({"training": facts}, trainer.loggers)


def made_of(method: Any, trainer: Any) -> dict[str, Any]:
    """Method, network, sizes, loss, optimizer, schedule, seed and data, and the options of method and data.

    A module of your own may have options of the same names; those stay as they are.
    """
    sizes, parts, data = method.builder.sizes, method.optimization.state_dict(), trainer.datamodule
    network = method if method.forwards_itself else method.network
    known = _described(method.builder.state_dict(method.network)["network"])
    made = {
        **(sizes.as_plain() if sizes is not None else {}),
        "method": type(method).__name__,
        "title": method.title,
        "network": known or {"class": type(network).__name__},
        "loss": type(method.loss).__name__,
        "optimizer": _described(parts["optimizer"]) or optimizers_in_words(trainer.optimizers),
        "lr_scheduler": _described(parts["lr_scheduler"]) or "given",
        "seed": int(os.environ["PL_GLOBAL_SEED"]) if "PL_GLOBAL_SEED" in os.environ else None,
        "data": None if data is None else {"class": type(data).__name__, **_arguments(data)},
    }
    options = {**method.hparams, **({} if data is None else data.hparams)}
    return {**made, **{name: value for name, value in options.items() if name[:1] != "_" and is_plain(value)}}


def _log(facts: dict[str, Any], loggers: list[Any]) -> None:
    for logger in loggers:
        try:
            logger.log_hyperparams(_in_lists(facts))
        except Exception as error:  # MLflow's, where a resumed run has other values than it began with
            said = " ".join(str(error).split())
            rank_zero_warn(f"{type(logger).__name__} does not take the hyperparameters of this run: {said}")


def _described(factory: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if factory is None else {"class": factory["class_path"].rpartition(".")[2], **factory["init_args"]}


def _arguments(data: LightningDataModule) -> dict[str, Any]:
    classes = [cls for cls in type(data).__mro__ if issubclass(cls, LightningDataModule)]
    names = sorted({name for cls in classes for name in inspect.signature(cls).parameters})
    given = {name: getattr(data, name) for name in names if hasattr(data, name)}
    return {name: value for name, value in given.items() if is_plain(value)}


def _in_lists(value: Any) -> Any:
    """A nest of plain values without tuples, which YAML would save in a way that no safe loader reads."""
    if isinstance(value, dict):
        return {key: _in_lists(entry) for key, entry in value.items()}
    return [_in_lists(entry) for entry in value] if isinstance(value, list | tuple) else value
