"""What cannot be stacked, and why."""

from __future__ import annotations

from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.strategies import SingleDeviceStrategy
from lightning.pytorch.utilities.model_helpers import is_overridden
from torch import nn

from drurank.data.dataset import GroupedDataset, InMemory
from drurank.data.sampler import GlobalBatchSampler

OF_A_STEP = (
    "on_before_batch_transfer",
    "transfer_batch_to_device",
    "on_after_batch_transfer",
    "on_train_batch_end",
    "on_before_zero_grad",
    "optimizer_zero_grad",
    "on_before_backward",
    "backward",
    "on_after_backward",
    "on_before_optimizer_step",
    "optimizer_step",
    "clip_gradients",
    "lr_scheduler_step",
)
"""Hooks of a module that a step calls, none of which is ours."""
OURS = (
    "training_step",
    "forward",
    "objective",
    "logits_of",
    "unpack",
    "sample_losses",
    "is_correct",
    "configure_gradient_clipping",
)
"""Parts of a step that are ours, and are called once for all; a class that has its own trains alone."""
OF_CALLBACKS = (
    "on_train_batch_start",
    "on_before_zero_grad",
    "on_before_backward",
    "on_after_backward",
    "on_before_optimizer_step",
    "on_train_batch_end",
)
TRAINER = {
    "world_size": 1,
    "accumulate_grad_batches": 1,
    "overfit_batches": 0.0,
    "limit_train_batches": 1.0,
    "fast_dev_run": False,
    "max_steps": -1,
    "precision": "32-true",
    "val_check_interval": 1.0,
}
"""Options of a trainer with which an epoch is all batches, one step each, in full precision."""
CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
"""Layers that a stack runs as one convolution in groups, which is slower than several without: 1.6 times on a CPU."""
ELEMENTWISE = (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, torch.optim.Adagrad)
"""Optimizers that move each parameter by its own gradient alone, so that those of a stack do not meet."""


def why_alone(trainer: Any, method: Any, largest: int | None = None) -> str | None:
    """Why a fit is not to be stacked with others; ``None`` if nothing is known to keep it from that.

    Args:
        trainer: of the fit.
        method: what it trains.
        largest: most parameters of a network that trains with others; any number, if not given.
    """
    size = size_of(method)
    if largest is not None and size > largest:
        return f"the network has {size:,} parameters, and steps of more than {largest:,} keep the machine busy"
    for look in (_of_trainer, _of_method, _of_callbacks, _of_optimizer, _of_data):
        reason = look(trainer, method)
        if reason is not None:
            return reason
    return None


def size_of(method: Any) -> int:
    """Number of parameters."""
    return sum(value.numel() for value in method.parameters())


def _of_trainer(trainer: Any, method: Any) -> str | None:
    for name, wanted in TRAINER.items():
        if getattr(trainer, name) != wanted:
            return f"trainer.{name} is {getattr(trainer, name)!r}"
    kind = type(trainer.strategy)
    return None if kind is SingleDeviceStrategy else f"the strategy is {kind.__name__}"


def _of_method(trainer: Any, method: Any) -> str | None:
    from drurank.methods.group_module import GroupModule  # here, since it imports this package

    kind = type(method)
    for name in OURS:
        if getattr(kind, name) is not getattr(GroupModule, name):
            return f"{kind.__name__} has its own {name}"
    for name in OF_A_STEP:
        if is_overridden(name, method, LightningModule):
            return f"{kind.__name__} has its own {name}"
    if not kind.on_train_batch_start.__module__.startswith("drurank."):
        return f"{kind.__name__} has its own on_train_batch_start"
    if method.relabels:
        return "the data module has a hook between loader and step"
    if method.watch.skips or method.watch.detect:
        return "on_nonfinite='skip' and detect look at each step"
    if any(isinstance(part, CONVOLUTIONS) for part in method.network.modules()):
        return "the network has convolutions, which take longer together than one after the other"
    if any(True for _ in method.loss.parameters()):
        return "the loss has parameters"
    return None


def _of_callbacks(trainer: Any, method: Any) -> str | None:
    for callback in trainer.callbacks:
        kind = type(callback)
        if kind.__module__.startswith("drurank."):
            continue
        by_steps = ("_every_n_train_steps", "_train_time_interval")
        if isinstance(callback, ModelCheckpoint) and not any(getattr(callback, name) for name in by_steps):
            continue
        found = [name for name in OF_CALLBACKS if getattr(kind, name) is not getattr(Callback, name)]
        if found:
            return f"{kind.__name__} has {found[0]}"
    return None


def _of_optimizer(trainer: Any, method: Any) -> str | None:
    if len(trainer.optimizers) != 1 or type(trainer.optimizers[0]) not in ELEMENTWISE:
        return f"the optimizer is {type(trainer.optimizers[0]).__name__}"
    if len(trainer.optimizers[0].param_groups) != 1:
        return "the optimizer has several parameter groups"
    steps = [config for config in trainer.lr_scheduler_configs if config.interval == "step"]
    return "the learning rate changes at each step" if steps else None


def _of_data(trainer: Any, method: Any) -> str | None:
    loader = trainer.train_dataloader
    dataset: Any = getattr(loader, "dataset", None)
    sampler = getattr(loader, "sampler", None)
    in_memory = type(dataset) is GroupedDataset and type(dataset.dataset) is InMemory
    if not in_memory:
        return "the training rows are not a tensor in memory, as texts are not"
    if type(sampler) is not GlobalBatchSampler or loader.num_workers:
        return "the batches are not drawn by the library's sampler in this process"
    return None
