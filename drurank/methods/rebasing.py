"""Modules of a person's own that are rebased on a method: which names are ours, and what their steps are spared."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from lightning.pytorch import LightningModule
from lightning.pytorch.utilities.rank_zero import rank_zero_warn
from torch import nn

from drurank.errors import InputError
from drurank.training.evaluation import Evaluation
from drurank.training.network import NetworkBuilder
from drurank.training.nonfinite import NonFiniteWatch
from drurank.training.optimization import Optimization
from drurank.training.progress import FitProgress
from drurank.training.record import EpochRecord
from drurank.training.requeue import Requeue
from drurank.training.roll import RollCall
from drurank.training.stages import Stages
from drurank.training.starting import StartingWeights
from drurank.training.stopping import StopTogether

ATTRIBUTES: dict[str, type | tuple[type, ...]] = {
    "network": (nn.Module, type(None)),
    "builder": NetworkBuilder,
    "loss": nn.Module,
    "optimization": Optimization,
    "evaluation": Evaluation,
    "starting": StartingWeights,
    "watch": NonFiniteWatch,
    "roll": RollCall,
    "requeue": Requeue,
    "together": StopTogether,
    "stages": Stages,
    "state": dict,
    "record": EpochRecord,
    "progress": FitProgress,
}
"""Attributes of a method, which a module of a person's own must not use for something else."""


OTHER_NAMESPACE = "pytorch_lightning"
"""The package of the same code as ``lightning.pytorch``, with classes of its own."""


def warn_of_other_namespace() -> None:
    """Warn where the program has imported the other package, whose trainer refuses our methods."""
    if OTHER_NAMESPACE in sys.modules:
        rank_zero_warn(
            f"{OTHER_NAMESPACE} is imported here; its Trainer, modules and callbacks do not work with drurank's, which "
            "are of lightning.pytorch: import lightning.pytorch as pl"
        )


def check_attribute(method: object, name: str, value: object) -> None:
    """Refuse a value of another kind under a name of ours.

    Raises:
        InputError: naming the attribute.
    """
    kind = ATTRIBUTES.get(name)
    if kind is not None and not isinstance(value, kind):
        raise InputError(
            f"{type(method).__name__} sets self.{name} to a {type(value).__name__}, and {name} is an attribute of "
            "drurank's; give yours another name"
        )


def check_class(cls: type, base: type) -> None:
    """Refuse a class that uses a name of ours for something else.

    Args:
        cls: the class, derived from a method.
        base: what all methods derive from.

    Raises:
        InputError: naming what to rename.
    """
    other = next((one.__name__ for one in cls.__mro__ if one.__module__.partition(".")[0] == OTHER_NAMESPACE), None)
    if other is not None:
        raise InputError(
            f"{cls.__name__} derives from {other} of {OTHER_NAMESPACE}; drurank's methods are of lightning.pytorch, so "
            "import that in its place: import lightning.pytorch as pl"
        )
    for name, value in vars(cls).items():
        ours = vars(base).get(name)
        if name in ATTRIBUTES:
            raise InputError(f"{cls.__name__} defines {name}, an attribute of drurank's; give yours another name")
        if isinstance(ours, property) and isinstance(value, FunctionType):
            raise InputError(
                f"{cls.__name__}.{name} is a method, and {base.__name__}.{name}, which it overrides, a property; "
                "rename it, or put @property above it"
            )
        is_hook = hasattr(LightningModule, name) or name.startswith("_")
        if isinstance(ours, FunctionType) and isinstance(value, FunctionType) and not is_hook:
            _check_arguments(cls, name, value, ours)


def _check_arguments(cls: type, name: str, theirs: FunctionType, ours: FunctionType) -> None:
    wanted, found = inspect.signature(ours), inspect.signature(theirs)
    positional = [one for one in wanted.parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
    try:
        found.bind(*positional)
    except TypeError as error:
        names = ", ".join([*wanted.parameters][1:])
        raise InputError(
            f"{cls.__name__}.{name}{found} overrides {name}({names}) of drurank's methods and takes other arguments; "
            "rename it, or take these"
        ) from error


def spared(step: Callable[..., Any], read_training_row: Callable[..., Any]) -> Callable[..., Any]:
    """A ``validation_step`` of a person's own that never sees the rows of the training pass, which ours reads.

    Args:
        step: theirs, with or without ``dataloader_idx``.
        read_training_row: ours.
    """
    takes_loader = len(inspect.signature(step).parameters) > 3 or _has_rest(step)

    @functools.wraps(step)
    def validation_step(self: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> Any:
        loader = dataloader_idx if self.roll.loader is None else self.roll.loader
        if self.evaluation.is_training_pass(loader):
            return read_training_row(self, batch, batch_idx, loader)
        return step(self, batch, batch_idx, *([dataloader_idx] if takes_loader else []))

    del validation_step.__wrapped__  # Lightning would ask theirs for a dataloader_idx
    return validation_step


def _has_rest(step: Callable[..., Any]) -> bool:
    return any(one.kind is one.VAR_POSITIONAL for one in inspect.signature(step).parameters.values())
