"""Network factories as plain values, so that a checkpoint can build its network again."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from torch import nn

from drurank.errors import InputError
from drurank.networks import Sizes

NetworkFactory = Callable[[Sizes], nn.Module]


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
    kwargs: dict[str, Any] = {}
    target = factory
    if isinstance(factory, functools.partial):
        # The command line hands over partial(<instantiator>, <class>, **kwargs).
        target = next((part for part in (factory.func, *factory.args) if isinstance(part, type)), None)
        kwargs = dict(factory.keywords)
    if not isinstance(target, type) or not issubclass(target, base) or "<locals>" in target.__qualname__:
        return None
    parameters = list(inspect.signature(target).parameters.values())[1:]
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
    kwargs = {**defaults, **kwargs}
    if not is_plain(kwargs):
        return None
    return {"class_path": f"{target.__module__}.{target.__qualname__}", "init_args": kwargs}


def differences(one: dict[str, Any], other: dict[str, Any] | None) -> str:
    """A described factory in words: its class, and those arguments in which another one of the class differs."""
    name = one["class_path"].rpartition(".")[2]
    theirs = other["init_args"] if other is not None and one["class_path"] == other["class_path"] else {}
    arguments = ", ".join(f"{key}={value!r}" for key, value in one["init_args"].items() if theirs.get(key) != value)
    return f"{name}({arguments})"


def find_factory(description: dict[str, Any]) -> NetworkFactory:
    """The factory that ``describe_factory`` described.

    Only modules that are imported already are looked at, and only ``nn.Module`` classes taken, so that a checkpoint
    cannot run code of its choosing.

    Raises:
        InputError: if the class is not found so.
    """
    module, _, name = description["class_path"].rpartition(".")
    target: Any = sys.modules.get(module)
    target = getattr(target, name, None)
    if not (isinstance(target, type) and issubclass(target, nn.Module)):
        raise InputError(
            f"the checkpoint's network {description['class_path']} is not imported; import {module} first, "
            "or give network=..."
        )
    return functools.partial(target, **description["init_args"])
