"""Which classes a configuration may name: of modules that a person trusts, and of the kind that the option takes.

A run's folder may come from somebody else, and naming a class imports its module and calls it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import torch
from jsonargparse import Namespace, set_parsing_settings
from lightning.pytorch import Callback, LightningDataModule
from lightning.pytorch.loggers import Logger
from torch import nn

from drurank.errors import InputError
from drurank.imports import need, trusted_packages
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
}
"""What a class is derived from by the option that names it."""


_allowed: set[str] = set()


def only_trusted() -> None:
    """Have the parser import nothing else."""
    new = trusted_packages() - _allowed
    if new:  # jsonargparse logs each entry, and this is called for each of many values
        set_parsing_settings(import_path_denylist=["*"], import_path_allowlist=sorted(new))
        _allowed.update(new)


def check_kinds(settings: Any) -> None:
    """Refuse what is no class, or none of the kind that its option takes, before anything is called.

    Args:
        settings: what the parser read, nested.

    Raises:
        InputError: naming the option and the class.
    """
    for option, class_path in _classes(settings):
        found = _imported(class_path)
        need(class_path)
        kinds = KINDS.get(option.rpartition(".")[2], (object,))
        if not isinstance(found, type) or not issubclass(found, kinds):
            wanted = " or ".join(kind.__name__ for kind in kinds) if kinds != (object,) else "the option's type"
            raise InputError(f"--{option} names {class_path}; give a class derived from {wanted}")


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


def _classes(settings: Any, option: str = "") -> Iterator[tuple[str, str]]:
    if option.rpartition(".")[2] in KINDS and callable(settings) and not isinstance(settings, type):
        yield option, f"{settings.__module__}.{getattr(settings, '__qualname__', settings)}"
    elif isinstance(settings, list | tuple):
        for value in settings:
            yield from _classes(value, option)
    elif isinstance(settings, dict | Namespace):
        entries = vars(settings) if isinstance(settings, Namespace) else settings
        if isinstance(entries.get("class_path"), str):
            yield option, entries["class_path"]
        for name, value in entries.items():
            yield from _classes(
                value, option if name in ("init_args", "dict_kwargs") else f"{option}.{name}".strip(".")
            )
