"""Modules of a person's own that are rebased on a method: which names are ours, and what their steps are spared."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

from lightning.pytorch import LightningModule
from lightning.pytorch.utilities.rank_zero import rank_zero_warn
from torch import nn
from torch.nn.modules.loss import _Loss

from drurank import namespace
from drurank.errors import InputError
from drurank.training.evaluation import Evaluation
from drurank.training.losses import CrossEntropy
from drurank.training.network import NetworkBuilder
from drurank.training.nonfinite import NonFiniteWatch
from drurank.training.optimization import Optimization
from drurank.training.progress import FitProgress
from drurank.training.record import EpochRecord
from drurank.training.requeue import Requeue
from drurank.training.roll import RollCall
from drurank.training.stages import Stages
from drurank.training.starting import StartingWeights
from drurank.training.stop_together import StopTogether

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

VALIDATION_HOOKS = {"validation_step": 2, "on_validation_batch_start": 2, "on_validation_batch_end": 3}
"""Hooks that see the rows of a validation batch, and how many arguments Lightning gives before ``dataloader_idx``."""


def warn_of_unused_loss(method: Any, base: type) -> None:
    """Warn of a loss of a module of a person's own that is not ours, since the method trains on ``self.loss``.

    Args:
        method: which is to be fitted.
        base: what all methods derive from.
    """
    steps = [getattr(type(method), name) for name in ("training_step", "sample_losses", "objective", "reduce")]
    package = base.__module__.partition(".")[0]
    if type(method.loss) is not CrossEntropy or any(step.__module__.partition(".")[0] != package for step in steps):
        return
    for name, child in method.named_children():
        if child is not method.loss and isinstance(child, _Loss) and not _is_plain(child):
            rank_zero_warn(
                f"{type(method).__name__} trains on self.loss and never on self.{name}, a {type(child).__name__}; give "
                "that as loss=..., with reduction='none', or override sample_losses"
            )


def _is_plain(loss: nn.Module) -> bool:
    """Whether a loss is what a method trains on where it is given none."""
    if not isinstance(loss, nn.CrossEntropyLoss):
        return False
    return loss.weight is None and loss.label_smoothing == 0 and loss.ignore_index == -100


def check_attribute(method: object, name: str, value: object) -> None:
    """Refuse a value of another kind under a name of ours.

    Raises:
        InputError: naming the attribute.
    """
    kind = ATTRIBUTES.get(name)
    if name == "loss" and callable(value) and not isinstance(value, nn.Module):
        raise InputError(
            f"the loss of {type(method).__name__} is a {type(value).__name__}; give an nn.Module that gives one value "
            "per sample, as nn.CrossEntropyLoss(reduction='none'), or override sample_losses"
        )
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
    other = next((one.__name__ for one in cls.__mro__ if one.__module__.partition(".")[0] == namespace.OTHER), None)
    if other is not None:
        raise InputError(
            f"{cls.__name__} derives from {other} of {namespace.OTHER}; drurank's methods are of lightning.pytorch, so "
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


def spare(cls: type[Any], base: type[Any]) -> None:
    """Keep the rows of the training pass from a class's hooks of a validation batch, inherited ones of others too.

    Args:
        cls: the class, derived from a method.
        base: what all methods derive from, whose ``validation_step`` reads those rows.
    """
    for name, arguments in VALIDATION_HOOKS.items():
        found = getattr(cls, name)
        is_ours = found in (getattr(base, name), getattr(LightningModule, name, None))
        if isinstance(found, FunctionType) and not is_ours and not hasattr(found, "is_spared"):
            setattr(cls, name, _spared(found, arguments, base.validation_step if name == "validation_step" else None))


def _spared(hook: Callable[..., Any], arguments: int, instead: Callable[..., Any] | None) -> Callable[..., Any]:
    """A hook of a person's own that never sees the rows of the training pass.

    Args:
        hook: theirs, with or without the number of the batch and ``dataloader_idx``.
        arguments: how many Lightning gives before ``dataloader_idx``.
        instead: what reads those rows.
    """

    def sparing(self: Any, *given: Any, **named: Any) -> Any:
        found = given[arguments] if len(given) > arguments else named.pop("dataloader_idx", 0)
        loader = found if self.roll.loader is None else self.roll.loader
        before = given[:arguments]
        if self.evaluation.is_training_pass(loader):
            return None if instead is None else instead(self, *before, loader)
        places, names, has_rest = _wanted(hook)
        if "dataloader_idx" in names:
            return hook(self, *before, dataloader_idx=found, **named)
        is_asked = has_rest and len(self.evaluation.splits) > 1
        return hook(
            self, *before[: None if has_rest else places], *([found] if is_asked or places > arguments else []), **named
        )

    spared: Any = functools.wraps(hook)(sparing)
    del spared.__wrapped__  # Lightning would ask theirs for a dataloader_idx
    spared.is_spared = True
    return cast("Callable[..., Any]", spared)


@functools.cache
def _wanted(hook: Callable[..., Any]) -> tuple[int, frozenset[str], bool]:
    """How many arguments a hook takes by place, what its arguments are called, and whether it takes any number."""
    every = [*inspect.signature(hook).parameters.values()]
    parameters = every[1:]
    places = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    # Of all, since a decorator's ``*args`` holds the module itself.
    has_rest = any(one.kind is one.VAR_POSITIONAL for one in every)
    return len(places), frozenset(one.name for one in parameters), has_rest
