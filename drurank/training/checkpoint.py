"""What a checkpoint holds of a method beside its parameters.

Per-sample tables stay out of ``state_dict``, so that a checkpoint loads whatever data is at hand. They go, as plain
tensors with a fingerprint of the training set, under the key ``drurank``, together with the network's class, arguments
and sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lightning.fabric.plugins import TorchCheckpointIO
from lightning.pytorch.utilities.rank_zero import rank_zero_info, rank_zero_warn
from torch import Tensor

from drurank.networks.factory import is_plain
from drurank.run_folder.checkpoint_checks import KEY
from drurank.run_folder.checkpoint_io import ReplacingCheckpointIO
from drurank.training.loaders import batches_of
from drurank.training.optimization import optimizers_in_words
from drurank.training.resume import unlogged


def method_state(method: Any) -> dict[str, Any]:
    """Class of a method, its options that a resumed run must share, and how network and optimizer were made."""
    return {
        "method": path_of(method),
        "fixed": {name: getattr(method, name) for name in method.fixed_options},
        "class_count": method.progress.class_count,
        **method.builder.state_dict(method.network),
        **({"network": None} if method.forwards_itself else {}),
        "optimization": method.optimization.state_dict(),
    }


def training_state(method: Any, trainer: Any) -> dict[str, Any]:
    """Tables of the training samples and the method's state, with what tells the run's data; every process calls it."""
    return {
        "fingerprint": method.progress.fingerprint,
        "record": method.record.state_dict(),
        "state": {name: tensor.cpu() for name, tensor in method.state.items()},
        "ended_epoch": method.progress.ended_epoch,
        "validated_batch": method.progress.validated_batch,
        "losses": method.watch.losses().cpu(),
        "criteria": {name: value.cpu() for name, value in method.evaluation.values.items()},
        "batches": batches_of(trainer.train_dataloader),
        "optimizers": optimizers_in_words(trainer.optimizers),
        "unlogged": unlogged(trainer),
    }


def load_training_state(method: Any, trainer: Any, saved: dict[str, Any]) -> None:
    """Put the tables of a checkpoint in force, at the start of training; ``preflight`` has looked at them."""
    before, now = saved.get("batches"), batches_of(trainer.train_dataloader)
    if before != now:
        rank_zero_warn(f"the checkpoint's run drew batches of {before}; this one goes on with {now}")
    method.record.load_state_dict(saved["record"])
    device = method.state["weight"].device
    method.state = {
        name: tensor.to(method.state[name].device if name in method.state else device)
        for name, tensor in saved["state"].items()
    }
    if "losses" in saved:
        method.watch.go_on_from(saved["losses"])
    method.progress.ended_epoch, method.progress.validated_batch = saved["ended_epoch"], saved.get("validated_batch")
    method.evaluation.values = {name: value.to(device) for name, value in saved.get("criteria", {}).items()}


def warn_of_changes(saved: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Warn of hyperparameters that a resumed run changes."""
    changed = [name for name in saved if name in now and is_plain(now[name]) and saved[name] != now[name]]
    if changed:
        before = ", ".join(f"{name}={saved[name]!r}" for name in changed)
        after = ", ".join(f"{name}={now[name]!r}" for name in changed)
        rank_zero_warn(f"the checkpoint was made with {before}; the run goes on with {after}, as given now")


def keep_plain(hyper_parameters: dict[str, Any]) -> None:
    """Leave only plain values, in place; you are warned of the others.

    A number of numpy's would make the file unreadable for a safe load, and so would an object.
    """
    for name, value in list(hyper_parameters.items()):
        value = value.item() if hasattr(value, "item") and not hasattr(value, "parameters") else value
        hyper_parameters[name] = value
        if not is_plain(value):
            rank_zero_warn(f"{name}={type(value).__name__} is not saved; give it again to load_from_checkpoint")
            del hyper_parameters[name]
    if "lr_scheduler" not in hyper_parameters:
        # What cannot be saved has no interval either.
        hyper_parameters.pop("lr_interval", None)


def load_network(method: Any, checkpoint: dict[str, Any]) -> None:
    """Build the network that a checkpoint holds, so that its weights can be loaded to evaluate it."""
    saved, state = checkpoint[KEY], checkpoint["state_dict"]
    if saved["method"] != path_of(method):
        rank_zero_info(f"Note: the checkpoint was made with {saved['method']}; its network is evaluated as it is.")
    method.progress.class_count = None if method.relabels else saved.get("class_count")
    # The loss is not needed to predict, and its weights may be those of another one.
    kept = method.loss.state_dict()
    for key in [key for key in state if key.startswith("loss.") and key.removeprefix("loss.") not in kept]:
        del state[key]
    if not method.forwards_itself and (method.network is None or method.builder.sizes is not None):
        weights = [value for value in state.values() if isinstance(value, Tensor)]
        method.network = method.builder.rebuild(saved, type(method).__name__, weights)


def write_whole(trainer: Any) -> None:
    """Have the trainer's checkpoints replaced whole."""
    if type(trainer.strategy.checkpoint_io) is TorchCheckpointIO:
        trainer.strategy.checkpoint_io = ReplacingCheckpointIO()


def path_of(method: object) -> str:
    """Import path of a method's class; ours are known by where they are offered, whichever file they stand in."""
    where = type(method).__module__
    where = "drurank.methods" if where.startswith("drurank.methods.") else where
    return f"{where}.{type(method).__qualname__}"


def known_as(path: str) -> str:
    """What a class is told by: of a script it is ``__main__``'s while that runs, and the script's where imported."""
    return path if path.startswith("drurank.") else path.rpartition(".")[2]
