"""What a run is made of, for its loggers."""

from __future__ import annotations

import inspect
import os
from typing import Any

from lightning.pytorch import LightningDataModule

from drurank.networks.factory import is_plain
from drurank.training.loaders import batches_of
from drurank.training.optimization import optimizers_in_words


def log_hyperparameters(method: Any, trainer: Any) -> None:
    """Have the loggers note what the run is made of, each by its own means.

    They get it in one call, with the method's options, which Lightning has logged before: of several calls TensorBoard
    shows the last.

    Args:
        method: the ``GroupModule``, once its tables are made.
        trainer: what trains it.
    """
    made = run_made_of(method, trainer)
    for logger in trainer.loggers:
        logger.log_hyperparams(made)


def run_made_of(method: Any, trainer: Any) -> dict[str, Any]:
    """The method with its options, network, sizes, loss, optimizer, schedule, seed, batches and data, plain values."""
    options = {name: value for name, value in method.hparams.items() if name[:1] != "_" and is_plain(value)}
    sizes, parts = method.builder.sizes, method.optimization.state_dict()
    network = method if method.forwards_itself else method.network
    return {
        **options,
        **(sizes.as_plain() if sizes is not None else {}),
        "method": type(method).__name__,
        "title": method.title,
        "network": _made(method.builder.state_dict(method.network)["network"]) or {"class": type(network).__name__},
        "loss": type(method.loss).__name__,
        "optimizer": _made(parts["optimizer"]) or optimizers_in_words(trainer.optimizers),
        "lr_scheduler": _made(parts["lr_scheduler"]) or "given",
        "seed": int(os.environ["PL_GLOBAL_SEED"]) if "PL_GLOBAL_SEED" in os.environ else None,
        "batches": batches_of(trainer.train_dataloader),
        "data": _data(trainer.datamodule, trainer.train_dataloader.dataset, method.fingerprint),
    }


def _made(described: dict[str, Any] | None) -> dict[str, Any] | None:
    if described is None:
        return None
    return {"class": described["class_path"].rpartition(".")[2], **described["init_args"]}


def _data(datamodule: Any, train: Any, fingerprint: str) -> dict[str, Any]:
    facts = {"training_rows": len(train), "training_groups": train.num_training_groups, "fingerprint": fingerprint}
    if datamodule is None:
        return {"class": type(train.dataset).__name__, **facts}
    classes = [cls for cls in type(datamodule).__mro__ if issubclass(cls, LightningDataModule)]
    names = sorted({name for cls in classes for name in inspect.signature(cls).parameters})
    given = {name: getattr(datamodule, name) for name in names if hasattr(datamodule, name)}
    return {"class": type(datamodule).__name__, **{k: v for k, v in given.items() if is_plain(v)}, **facts}
