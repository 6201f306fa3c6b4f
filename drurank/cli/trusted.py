"""Which classes a configuration may name: of modules that a person trusts, and of the kind that the option takes.

A run's folder may come from somebody else, and naming a class imports its module and calls it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
import typeshed_client
from jsonargparse import Namespace, _util, set_parsing_settings
from jsonargparse._common import ImportDenied, check_import_path
from lightning.pytorch import Callback, LightningDataModule
from lightning.pytorch.accelerators import Accelerator
from lightning.pytorch.loggers import Logger
from lightning.pytorch.plugins import CheckpointIO, ClusterEnvironment, LayerSync, Precision
from lightning.pytorch.profilers import Profiler
from lightning.pytorch.strategies import Strategy
from torch import nn
from torchmetrics import Metric
from typeshed_client import get_search_context

from drurank.acting import why_acting
from drurank.errors import InputError
from drurank.imports import is_named, need, trust_changes, trusted_packages, why_not_trusted
from drurank.methods import GroupModule

KINDS: dict[str, tuple[type, ...]] = {
    "model": (GroupModule,),
    "data": (LightningDataModule,),
    "network": (nn.Module,),
    "loss": (nn.Module,),
    "optimizer": (torch.optim.Optimizer,),
    "lr_scheduler": (torch.optim.lr_scheduler.LRScheduler, torch.optim.lr_scheduler.ReduceLROnPlateau),
    "callbacks": (Callback,),
    "logger": (Logger,),
    "strategy": (Strategy,),
    "accelerator": (Accelerator,),
    "plugins": (Precision, ClusterEnvironment, CheckpointIO, LayerSync),
    "profiler": (Profiler,),
}
"""What a class is derived from by the option that names it."""
ANY_KIND = (Metric, *dict.fromkeys(kind for kinds in KINDS.values() for kind in kinds))
"""What a class that nobody named is derived from, where another option takes one."""


def start_no_python() -> None:
    """Have the parser look for stubs where this process imports from.

    It would ask a process of its own, which imports from the current folder first.
    """
    path = [Path(folder) for folder in sys.path if folder]
    setattr(typeshed_client, "get_search_context", partial(get_search_context, search_path=path))  # noqa: B010


def _check_path(path: str) -> None:
    """Refuse modules of trusted packages too, of which the parser knows no more than the first names."""
    check_import_path(path)
    if why_not_trusted(path) is not None:
        raise ImportDenied(f"Importing '{path}' is not allowed")


_allowed: set[str] = set()
_seen: tuple[int, ...] = ()


def only_trusted() -> None:
    """Have the parser import nothing else."""
    global _seen
    if _seen == (now := trust_changes()):  # this is called for each of many values
        return
    _seen = now
    new = trusted_packages() - _allowed
    if new:  # jsonargparse logs each entry
        set_parsing_settings(import_path_denylist=["*"], import_path_allowlist=sorted(new))
        setattr(_util, "check_import_path", _check_path)  # noqa: B010
        _allowed.update(new)


def check_kinds(settings: Any) -> None:
    """Refuse what is no class, or none of the kind that its option takes, before anything is called.

    A class at another option, and a function, is one that a person named, or the default.

    Args:
        settings: what the parser read, nested.

    Raises:
        InputError: naming the option and the class.
    """
    for option, class_path in _classes(settings):
        found = _imported(class_path)
        named = is_named(class_path, found)
        need(class_path)
        kinds = KINDS.get(option.rpartition(".")[2], (object,) if named else ANY_KIND)
        if not isinstance(found, type) or not issubclass(found, kinds):
            wanted = " or ".join(kind.__name__ for kind in kinds) if kinds is not ANY_KIND else "Module, or name it"
            raise InputError(f"--{option} names {class_path}; give a class derived from {wanted}")
        acting = why_acting(class_path, found)
        if acting is not None:
            raise InputError(f"--{option} names {class_path}; {acting}")


def _imported(class_path: str) -> Any:
    """What a path names, which the parser has imported."""
    parts = class_path.split(".")
    for length in range(len(parts) - 1, 0, -1):
        found: Any = sys.modules.get(".".join(parts[:length]))
        if found is not None:
            for name in parts[length:]:
                found = getattr(found, name, None)
            return found
    return None


def _classes(settings: Any, option: str = "", default: Any = None) -> Iterator[tuple[str, str]]:
    """Each class that is named, with its option; functions too, but for those that are an argument's default."""
    if isinstance(settings, list | tuple):
        for value in settings:
            yield from _classes(value, option)
    elif isinstance(settings, dict | Namespace):
        entries = vars(settings) if isinstance(settings, Namespace) else settings
        defaults = {}
        if isinstance(entries.get("class_path"), str):
            yield option, entries["class_path"]
            defaults = _defaults_of(_imported(entries["class_path"]))
        for name, value in entries.items():
            if name in ("init_args", "dict_kwargs") and isinstance(value, dict | Namespace):
                for argument, given in (vars(value) if isinstance(value, Namespace) else value).items():
                    yield from _classes(given, f"{option}.{argument}".strip("."), defaults.get(argument))
            else:
                yield from _classes(value, f"{option}.{name}".strip("."))
    elif isinstance(settings, type) or inspect.isroutine(settings):
        if settings is default:
            return
        path = f"{settings.__module__}.{getattr(settings, '__qualname__', settings)}"
        if not is_named(path, settings) or option.rpartition(".")[2] in KINDS:
            yield option, path


def _defaults_of(found: Any) -> dict[str, Any]:
    """Default of each argument of a class."""
    try:
        return {name: one.default for name, one in inspect.signature(found).parameters.items()}
    except (TypeError, ValueError):
        return {}
