"""The form in which `fit` saves a configuration, in which alone that of a run is taken.

A parser reads more: ``callbacks+``, ``profiler.init_args.dirpath``, YAML within a text, and files that a text names,
all of which would evade what is looked for in a run that may be of somebody else.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drurank.errors import InputError
from drurank.imports import CLASS_OPTIONS, CLASS_PATH

REMEDY = "give a run that `fit` made"
PARTS = ("class_path", "init_args", "dict_kwargs")
"""What stands beside the name of a class."""
SEVERAL = ("callbacks", "logger", "plugins")
"""Options that take a list of classes."""


def sections(file: Path, saved: Mapping[str, Any], kept: list[str]) -> dict[str, Any]:
    """Those sections of a saved configuration that are kept.

    Raises:
        InputError: if one is not of the kind that `fit` writes.
    """
    kinds = {"trainer": dict | None, "model": dict | str, "data": dict | str}
    for key, kind in kinds.items():
        if key in saved and not isinstance(saved[key], kind):
            raise _damaged(file, key, saved[key])
    return {key: saved[key] for key in kept if key in saved}


def check_form(file: Path, config: Mapping[str, Any]) -> None:
    """Refuse what `fit` writes in no other form: a dotted or extended name, and a class that is no plain mapping.

    Args:
        file: where the configuration was read.
        config: its sections.

    Raises:
        InputError: naming the file and the option.
    """
    trainer = config.get("trainer") or {}
    _check_names(file, "trainer", trainer)
    for name, value in trainer.items():
        if name in CLASS_OPTIONS:
            for one in value if isinstance(value, list) and name in SEVERAL else [value]:
                _check_class(file, f"trainer.{name}", one, named=name != "callbacks")
    for section in ("model", "data"):
        _check_class(file, section, config.get(section), named=True)


def _check_class(file: Path, option: str, given: Any, named: bool) -> None:
    """Refuse all but a mapping of a class and its arguments, and, where it may be named alone, its name."""
    if not isinstance(given, str | list | dict):  # which the parser refuses, or is none
        return
    if isinstance(given, str):
        if not named or not CLASS_PATH.fullmatch(given) or Path(given).is_file():
            raise _damaged(file, option, given)
        return
    if not isinstance(given, dict) or not isinstance(given.get("class_path"), str):
        raise _damaged(file, option, given)
    for part in given:
        if part not in PARTS:
            raise _damaged(file, f"{option}.{part}", given[part])
    for part in PARTS[1:]:
        arguments = given.get(part)
        if arguments is None:
            continue
        if not isinstance(arguments, dict):
            raise _damaged(file, f"{option}.{part}", arguments)
        _check_names(file, option, arguments)
        for name, value in arguments.items():
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, dict) and "class_path" in one:
                    _check_class(file, f"{option}.{name}", one, named=False)


def _check_names(file: Path, option: str, arguments: Mapping[Any, Any]) -> None:
    for name, value in arguments.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise _damaged(file, f"{option}.{name}", value)


def _damaged(file: Path, option: str, given: Any) -> InputError:
    return InputError(f"{file} is damaged: its {option} is {str(given)[:80]!r}; {REMEDY}")
