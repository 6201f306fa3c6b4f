"""Classes that are named by their import path: whether they can be imported, and what options they take."""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from typing import Any

from drurank.errors import InputError, nearest
from drurank.imports import why_not_trusted

SCHEDULERS = ("torch.optim.lr_scheduler", "lightning.pytorch.cli")


def import_problem(class_path: str) -> str | None:
    """Why an import path names no class that can be imported; ``None`` if it does, or this is no import path."""
    module, _, name = class_path.rpartition(".")
    if not module or not all(part.isidentifier() for part in class_path.split(".")):
        return None
    untrusted = why_not_trusted(class_path)
    if untrusted is not None:
        return untrusted
    try:
        found = importlib.import_module(module)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            return f"there is no module {error.name!r}, neither in the current folder nor installed"
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return f"the module {module} cannot be imported ({said})"
    if isinstance(getattr(found, name, None), type):
        return None
    if hasattr(found, name):
        return "that is a function, not a class; give a class" if callable(getattr(found, name)) else "give a class"
    classes = [key for key, value in vars(found).items() if isinstance(value, type)]
    return f"the module {module} has no {name!r}: {nearest(name, classes)}"


def made_of_path(option: str, text: str, base: type) -> Any:
    """What a text names: an object of the class of this import path, or the text itself if it is no import path.

    Args:
        option: that the text is given for.
        text: its value.
        base: what the class must be a subclass of.

    Raises:
        InputError: if there is no such class, or it needs arguments.
    """
    problem = import_problem(text)
    if problem is not None:
        raise InputError(f"{option} {text}: {problem}")
    module, _, name = text.rpartition(".")
    if not module or not all(part.isidentifier() for part in text.split(".")):
        return text
    made = getattr(importlib.import_module(module), name)
    if not issubclass(made, base):
        raise InputError(f"{option} {text}: that is no {base.__name__} of Lightning's; give a subclass of one")
    try:
        return made()
    except TypeError as error:
        raise InputError(
            f"{option} {text} cannot be created: {error}; give its arguments in a configuration, with class_path and "
            "init_args"
        ) from error


def options_of(class_path: str) -> list[str]:
    """Names of the arguments that a class, given by its import path, takes from the command line."""
    module, _, name = class_path.rpartition(".")
    if why_not_trusted(class_path) is not None:
        return []
    try:
        target = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError):
        return []
    return list(_arguments(target)) if isinstance(target, type) else []


@cache
def _arguments(target: type) -> tuple[str, ...]:
    """Names of the arguments that a class takes from the command line."""
    names: dict[str, None] = {}
    for base in inspect.getmro(target):
        if "__init__" in vars(base) and base is not object:
            parameters = inspect.signature(vars(base)["__init__"]).parameters.values()
            names |= {p.name: None for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
            if not any(p.kind == p.VAR_KEYWORD for p in parameters):
                break
    # Set by the training loop or the class itself, not by the user.
    given = {"self", "sizes", "params", *getattr(target, "fixed", ())}
    given |= {"optimizer"} if target.__module__ in SCHEDULERS else set()
    return tuple(name for name in names if name not in given)
