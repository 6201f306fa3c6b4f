"""Network factories as plain values, so that a checkpoint can build its network again."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any, Protocol

from torch import nn

from drurank.acting import why_acting
from drurank.errors import InputError
from drurank.networks import Sizes

GIVEN = "sizes"
"""The argument that a network gets from the data, if its constructor has one of that name."""

PARSER = "jsonargparse"
PASSED_ON = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


class NetworkFactory(Protocol):
    """Makes a network; the command line takes any ``nn.Module`` class with its own arguments."""

    def __call__(self, sizes: Sizes) -> nn.Module:
        """The network for these sizes."""
        ...


def is_plain(value: Any) -> bool:
    """Whether a value is made of None, bool, int, float, str, lists, tuples and dicts alone."""
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(is_plain(k) and is_plain(v) for k, v in value.items())
    return value is None or type(value) in (bool, int, float, str)


def describe_factory(factory: Any, base: type = nn.Module) -> dict[str, Any] | None:
    """Class and arguments of a factory that is a class or a ``partial`` of one.

    Args:
        factory: makes an object of that class.
        base: what the class is a subclass of.

    Returns:
        ``{"class_path": ..., "init_args": {...}}``, defaults written out, or ``None`` where that cannot say it all.
    """
    target, args, kwargs = _taken_apart(factory)
    if args or not (isinstance(target, type) and issubclass(target, base)) or "<locals>" in target.__qualname__:
        return None
    parameters = inspect.signature(target).parameters
    given = GIVEN if GIVEN in parameters else _first_required(parameters, kwargs)
    defaults = {p.name: p.default for p in parameters.values() if p.default is not p.empty and p.name != given}
    kwargs = {**defaults, **kwargs}
    if not is_plain(kwargs):
        return None
    return {"class_path": f"{target.__module__}.{target.__qualname__}", "init_args": kwargs}


def takes_sizes(factory: Any) -> bool:
    """Whether the sizes of the data are needed: a class that has no argument for them makes its network without."""
    return _how_to_give(factory) != "not"


def make_network(factory: Any, sizes: Sizes | None) -> nn.Module:
    """The network of a factory.

    Args:
        factory: a class, a ``partial`` of one, or any other callable.
        sizes: of the data; ``None`` only where they are not needed.
    """
    how = _how_to_give(factory)
    network: nn.Module = {"not": factory, "by name": partial(factory, sizes=sizes), "first": partial(factory, sizes)}[
        how
    ]()
    return network


def _how_to_give(factory: Any) -> str:
    """How a factory gets the sizes: ``by name``, as its ``first`` argument, or ``not``."""
    target, args, kwargs = _taken_apart(factory)
    try:
        own = inspect.signature(target).parameters
    except (TypeError, ValueError):
        return "first"
    kinds = {parameter.kind for parameter in own.values()}
    if GIVEN in own and own[GIVEN].kind is not inspect.Parameter.POSITIONAL_ONLY:
        return "by name"
    if isinstance(target, type) and GIVEN in _inherited(target):
        return "by name" if inspect.Parameter.VAR_KEYWORD in kinds else "first"
    takes_any = not isinstance(target, type) and inspect.Parameter.VAR_POSITIONAL in kinds
    return "not" if args or not (takes_any or _first_required(own, kwargs)) else "first"


def _inherited(target: type) -> set[str]:
    """Names of the arguments of a constructor, and of those that it passes on to, as far as ``*`` and ``**`` reach."""
    names: set[str] = set()
    for base in inspect.getmro(target):
        if "__init__" in vars(base):
            parameters = inspect.signature(vars(base)["__init__"]).parameters.values()
            names |= {parameter.name for parameter in parameters}
            if not any(parameter.kind in PASSED_ON for parameter in parameters):
                break
    return names


def _first_required(parameters: Mapping[str, inspect.Parameter], kwargs: dict[str, Any]) -> str | None:
    """The first argument of a constructor, where it has no default and no value: it is for the sizes."""
    first = next(iter(parameters.values()), None)
    if first is None or first.kind in (*PASSED_ON, first.KEYWORD_ONLY):
        return None
    return first.name if first.default is first.empty and first.name not in kwargs else None


def _taken_apart(factory: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """What a factory calls, a class or a function, with arguments by place and arguments by name."""
    if not isinstance(factory, partial):
        return factory, (), {}
    # The command line hands over partial(<functions of its parser>, <class>, **kwargs).
    target, *args = (part for part in (factory.func, *factory.args) if not _is_of_parser(part))
    return target, tuple(args), dict(factory.keywords)


def _is_of_parser(part: Any) -> bool:
    return inspect.isfunction(part) and part.__module__.partition(".")[0] == PARSER


def differences(one: dict[str, Any], other: dict[str, Any] | None) -> str:
    """A described factory in words: its class, and those arguments in which another one of the class differs."""
    name = one["class_path"].rpartition(".")[2]
    theirs = other["init_args"] if other is not None and one["class_path"] == other["class_path"] else {}
    arguments = ", ".join(f"{key}={value!r}" for key, value in one["init_args"].items() if theirs.get(key) != value)
    return f"{name}({arguments})"


def find_factory(description: dict[str, Any]) -> partial[nn.Module]:
    """The factory that ``describe_factory`` described.

    Only modules that are imported already are looked at, and only ``nn.Module`` classes taken that do not act as they
    are made, so that a checkpoint cannot run code of its choosing.

    Raises:
        InputError: if the class is not found so, or would act.
    """
    module, _, name = description["class_path"].rpartition(".")
    target: Any = sys.modules.get(module)
    target = getattr(target, name, None)
    if not (isinstance(target, type) and issubclass(target, nn.Module)):
        raise InputError(
            f"the checkpoint's network {description['class_path']} is not imported; import {module} first, "
            "or give network=..."
        )
    acting = why_acting(description["class_path"], target)
    if acting is not None:
        raise InputError(f"the checkpoint's network is {description['class_path']}; {acting}, or give network=...")
    if not all(isinstance(name, str) for name in description["init_args"]):
        raise InputError(f"the checkpoint is damaged: its network has the arguments {description['init_args']!r:.200}")
    needed = getattr(target, "rebuilt_by", None)
    if needed is not None and description["init_args"].get(needed) is None:
        raise InputError(
            f"the checkpoint is damaged: it lacks {needed!r} of its network {target.__name__}, which would be loaded "
            "from a folder or the hub in its place; give another checkpoint of the run, or network=..."
        )
    return partial(target, **description["init_args"])
