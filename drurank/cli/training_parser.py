"""The parser of the commands that train: LightningCLI's, with a readable help."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from jsonargparse import DefaultHelpFormatter
from lightning.pytorch import Callback, LightningModule
from lightning.pytorch.cli import LightningArgumentParser
from lightning.pytorch.loggers import Logger
from torch import nn
from torchmetrics import Metric

from drurank.cli.flags import class_flags
from drurank.cli.parser import SentenceParser
from drurank.data import GroupDataModule
from drurank.files import replace_file
from drurank.methods import GroupModule

BASES: dict[str, type] = {
    "model": GroupModule,
    "data": GroupDataModule,
    "network": nn.Module,
    "loss": nn.Module,
    "optimizer": torch.optim.Optimizer,
    "lr_scheduler": torch.optim.lr_scheduler.LRScheduler,
    "callbacks": Callback,
    "logger": Logger,
}
MANY = 25


class ShortHelp(DefaultHelpFormatter):
    """Help without lists of hundreds of subclasses."""

    def _expand_help(self, action: Any) -> str:
        text = str(super()._expand_help(action))
        head, _, known = text.partition(", known subclasses: ")
        names = known.split(", ")
        if len(names) <= MANY:
            return text
        return f"{head}, any by its import path)"


class TrainingParser(SentenceParser, LightningArgumentParser):
    """LightningArgumentParser with one-sentence errors, no abbreviated options, and a short help."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("formatter_class", ShortHelp)
        super().__init__(*args, **kwargs)

    def save(self, namespace: Any, path: Any, *args: Any, **kwargs: Any) -> None:
        """Write a configuration in one step, so that a kill leaves a readable one."""
        replace_file(Path(path), lambda beside: super(TrainingParser, self).save(namespace, beside, *args, **kwargs))

    def flags_of(self, settings: Any) -> list[str]:
        """All flags, those of the classes that the settings name too.

        Where they name no method, as with ``inspect``, those of any method that mean nothing else.
        """
        plain = settings.as_dict()
        flags = [
            *self.all_options(),
            *class_flags("data", plain.get("data")),
            *class_flags("model", plain.get("model")),
        ]
        if not plain.get("model"):
            taken = {flag.rpartition(".")[2] for flag in flags}
            methods = ({"class_path": f"{cls.__module__}.{cls.__qualname__}"} for cls in concrete(GroupModule))
            found = dict.fromkeys(flag for method in methods for flag in class_flags("model", method))
            flags += [flag for flag in found if flag.rpartition(".")[2] not in taken]
        return flags

    def class_names(self, key: str) -> list[str]:
        """Names of the classes that this option takes, ours first."""
        base = BASES.get(key.removesuffix(".class_path"))
        if base is None:
            return []
        classes = list(concrete(base))
        classes.sort(key=lambda found: (not found.__module__.startswith("drurank"), found.__name__))
        return list(dict.fromkeys(found.__name__ for found in classes))


def concrete(base: type) -> Iterator[type]:
    """Subclasses of any depth that a person may name."""
    cls: type
    for cls in base.__subclasses__():
        if issubclass(cls, Metric) or (base is nn.Module and issubclass(cls, LightningModule)):
            continue
        if not inspect.isabstract(cls) and not cls.__name__.startswith("_"):
            yield cls
        yield from concrete(cls)
