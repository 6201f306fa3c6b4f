"""A class of ours is meant by its name alone, whatever other packages call theirs: torchvision has an MLP too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from jsonargparse import _typehints

import drurank.data
import drurank.methods
import drurank.networks

PUBLIC = (drurank.methods, drurank.data, drurank.networks)


@contextmanager
def own_names() -> Iterator[None]:
    """While a parser works; may be nested."""
    usual: Callable[[Any, str], str] = _typehints.resolve_class_path_by_name

    def resolve(base: Any, name: str) -> str:
        ours = _classes().get(name)
        bases = base if isinstance(base, tuple) else (base,)
        if ours is not None and any(isinstance(one, type) and issubclass(ours, one) for one in bases):
            return f"{_module_of(ours)}.{name}"
        return usual(base, name)

    _typehints.resolve_class_path_by_name = resolve  # type: ignore[assignment]
    try:
        yield
    finally:
        _typehints.resolve_class_path_by_name = usual  # type: ignore[assignment]


@cache
def _classes() -> dict[str, type]:
    """Our public classes by name."""
    found = {name: getattr(module, name) for module in PUBLIC for name in module.__all__}
    return {name: value for name, value in found.items() if isinstance(value, type)}


def _module_of(ours: type) -> str:
    return next(module.__name__ for module in PUBLIC if getattr(module, ours.__name__, None) is ours)
