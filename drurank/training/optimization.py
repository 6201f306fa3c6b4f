"""The optimizer and the learning-rate schedule, made as they are given."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import torch
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable, ReduceLROnPlateau
from lightning.pytorch.utilities.rank_zero import rank_zero_warn
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from drurank.errors import InputError, check_choice
from drurank.networks.factory import describe_factory
from drurank.training.schedules import Decay

LRInterval = Literal["epoch", "step"]
LARGEST = torch.finfo(torch.float32).max
REFUSED = {
    "learning rate": "lr",
    "momentum value": "momentum",
    "weight_decay value": "weight_decay",
    "epsilon value": "eps",
}
"""What torch calls the arguments of an optimizer that it refuses, and their names."""


class Optimization:
    """Makes the optimizer and the schedule of a method.

    Args:
        optimizer: makes the optimizer from the parameters; AdamW with a learning rate of 1e-3, if ``None``.
        lr_scheduler: makes the scheduler from the optimizer; a constant rate, if ``None``.
        lr_interval: whether the scheduler steps at each ``epoch`` or each optimizer ``step``.

    Raises:
        InputError: if an interval is given and no scheduler.
    """

    def __init__(
        self, optimizer: OptimizerCallable | None, lr_scheduler: LRSchedulerCallable | None, lr_interval: LRInterval
    ) -> None:
        check_choice("lr_interval", lr_interval, LRInterval)
        if lr_scheduler is None and lr_interval != "epoch":
            raise InputError(f"lr_interval is {lr_interval!r} but lr_scheduler is missing; give one, or leave it out")
        self.optimizer = partial(torch.optim.AdamW, lr=1e-3) if optimizer is None else optimizer
        self.lr_scheduler, self.lr_interval = lr_scheduler, lr_interval

    def configure(self, module: nn.Module, network: Any, monitor: Callable[[str, str | None], None]) -> Any:
        """What ``configure_optimizers`` gives to Lightning.

        Args:
            module: the method, whose parameters are trained.
            network: its network; where that has ``parameter_groups()``, those are trained in their place.
            monitor: is told the key and the mode of a criterion that the scheduler follows.

        Raises:
            InputError: if nothing would train, or the first epoch would train at a rate of 0.
        """
        groups = getattr(network, "parameter_groups", None)
        params = groups() if callable(groups) else module.parameters()
        if not any(parameter.requires_grad for parameter in module.parameters()):
            raise InputError("no parameter of the network requires a gradient, so nothing trains; unfreeze some")
        optimizer = _made("optimizer", lambda: self.optimizer(params))
        _refuse_too_large(optimizer)
        _warn_of_rate(optimizer, getattr(network, "highest_rate", None))
        if self.lr_scheduler is None:
            return optimizer
        make = self.lr_scheduler
        scheduler = _made("lr_scheduler", lambda: make(optimizer))
        if isinstance(scheduler, Decay) and scheduler.warmup and self.lr_interval == "epoch":
            raise InputError("a warmup by epochs trains the first one at a rate of 0; give lr_interval='step' too")
        config: dict[str, Any] = {"scheduler": scheduler, "interval": self.lr_interval}
        if isinstance(scheduler, ReduceLROnPlateau):
            config["monitor"] = scheduler.monitor
            monitor(scheduler.monitor, scheduler.mode)
        return {"optimizer": optimizer, "lr_scheduler": config}

    def state_dict(self) -> dict[str, Any]:
        """Class and arguments of optimizer and scheduler, ``None`` where they cannot be told from the object."""
        made: Any = {"class_path": "constant", "init_args": {}}
        if self.lr_scheduler is not None:
            known = describe_factory(self.lr_scheduler, LRScheduler)
            made = None if known is None else {**known, "interval": self.lr_interval}
        return {"optimizer": describe_factory(self.optimizer, Optimizer), "lr_scheduler": made}


def optimizers_in_words(optimizers: list[Any]) -> str:
    """Class and plain defaults of each optimizer, which loading a checkpoint does not change."""

    def words(value: Any) -> str:
        return f"{value.item():g}" if isinstance(value, torch.Tensor) and value.numel() == 1 else repr(value)

    found = []
    for optimizer in optimizers:
        defaults = ", ".join(f"{name}={words(value)}" for name, value in optimizer.defaults.items())
        found.append(f"{type(optimizer).__name__}({defaults})")
    return "; ".join(found)


def _made(what: str, make: Callable[[], Any]) -> Any:
    """What a constructor of torch's makes.

    Raises:
        InputError: with its reason, if it refuses its arguments.
    """
    try:
        return make()
    except (ValueError, TypeError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        said = " ".join(str(error).split())
        named = next((name for words, name in REFUSED.items() if f"{words}: " in said), None)
        argument = "" if named is None else f" ({named}={said.rpartition(' ')[2]})"
        raise InputError(f"the {what} cannot be created: {said}{argument}; give other options") from error


def _refuse_too_large(optimizer: Optimizer) -> None:
    for group in optimizer.param_groups:
        for name, value in group.items():
            if isinstance(value, float) and not abs(value) <= LARGEST:
                raise InputError(
                    f"{name} of {type(optimizer).__name__} is {value!r}; give a number that float32 can hold, below "
                    f"{LARGEST:.0e}"
                )


def _warn_of_rate(optimizer: Optimizer, most: float | None) -> None:
    rate = max(group["lr"] for group in optimizer.param_groups)
    if most is not None and rate > most:
        rank_zero_warn(
            f"the learning rate is {float(rate):g}; above {most:g} a pretrained network almost always loses what it "
            f"has learned, so give about {most / 10:g}: optimizer=AdamW with lr={most / 10:g}"
        )
