"""The parser of the commands that train: LightningCLI's, with a readable help."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, get_type_hints

from jsonargparse import DefaultHelpFormatter
from lightning.pytorch import LightningDataModule, LightningModule
from lightning.pytorch.cli import LightningArgumentParser
from torch import nn
from torchmetrics import Metric

from drurank.cli.flags import class_flags
from drurank.cli.own_defaults import own_defaults
from drurank.cli.own_names import own_names
from drurank.cli.own_texts import kinds_of_text, own_texts
from drurank.cli.parser import SentenceParser
from drurank.cli.trusted import KINDS, only_trusted, start_no_python
from drurank.cli.words import trust_named, usual_text
from drurank.errors import InputError
from drurank.files import replace_file
from drurank.imports import why_not_trusted
from drurank.methods import GroupModule

MANY = 25
CLASS = re.compile(r"<class '(?:\w+\.)*(\w+)'>")


class ShortHelp(DefaultHelpFormatter):
    """Help without lists of hundreds of subclasses, and with classes by their names."""

    def _expand_help(self, action: Any) -> str:
        text = CLASS.sub(r"\1", str(super()._expand_help(action)))
        head, _, known = text.partition(", known subclasses: ")
        names = known.split(", ")
        if len(names) <= MANY:
            return text
        return f"{head}, any by its import path)"


class TrainingParser(SentenceParser, LightningArgumentParser):
    """LightningArgumentParser with one-sentence errors, no abbreviated options, and a short help."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("formatter_class", ShortHelp)
        start_no_python()
        super().__init__(*args, **kwargs)

    def trust(self, words: list[str]) -> None:
        """Trust the classes that these words name: in a program of a person's own, all of them are that person's."""
        trust_named(words)

    def parse_args(self, *args: Any, **kwargs: Any) -> Any:
        """As ever, with the own defaults of each class that is named."""
        self.trust([str(word) for word in (args[0] if args and args[0] is not None else sys.argv[1:])])
        only_trusted()
        with own_defaults(), own_names(), own_texts():
            return super().parse_args(*args, **kwargs)

    def parse_object(self, *args: Any, **kwargs: Any) -> Any:
        """As ever, with the own defaults of each class that is named."""
        only_trusted()
        with own_defaults(), own_names(), own_texts():
            return super().parse_object(*args, **kwargs)

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
        bases = KINDS.get(key.removesuffix(".class_path"), ())
        classes = [cls for base in bases for cls in concrete(base)]
        classes.sort(key=lambda found: (not found.__module__.startswith("drurank"), found.__name__))
        return list(dict.fromkeys(found.__name__ for found in classes))


class RunParser(TrainingParser):
    """That of our own commands, some of whose words are of a run's folder: ``main`` trusts those that were typed."""

    def trust(self, words: list[str]) -> None:
        """Trust nothing more."""

    def refuse(self, sentence: str) -> NoReturn:
        """Leave it to ``main`` to end the process, since the sentence may be of a word that nobody typed."""
        raise InputError(sentence)


def takes_text(class_path: str, name: str) -> tuple[bool, bool, bool] | None:
    """Whether an option of data takes a list, a mapping, and null, beside text; ``None`` if it takes other things."""
    cls = _class_of_data(class_path)
    for base in inspect.getmro(cls) if cls is not None else ():
        if "__init__" in vars(base):
            try:
                hints = get_type_hints(vars(base)["__init__"])
            except (NameError, TypeError):
                continue
            if name in hints:
                return kinds_of_text(hints[name])
    return usual_text(class_path, name) if cls is None else None


def _class_of_data(class_path: str) -> type | None:
    module, _, name = class_path.rpartition(".")
    if not module:
        return next((cls for cls in concrete(LightningDataModule) if cls.__name__ == name), None)
    if why_not_trusted(class_path) is not None:
        return None  # The parser refuses it.
    try:
        found = getattr(importlib.import_module(module), name, None)
    except (ImportError, ValueError):
        return None
    return found if isinstance(found, type) else None


def concrete(base: type) -> Iterator[type]:
    """Subclasses of any depth that a person may name."""
    cls: type
    for cls in base.__subclasses__():
        if issubclass(cls, Metric) or (base is nn.Module and issubclass(cls, LightningModule)):
            continue
        if not inspect.isabstract(cls) and not cls.__name__.startswith("_"):
            yield cls
        yield from concrete(cls)
