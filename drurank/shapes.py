"""Whether what a file holds has the keys and the kinds of values that are read of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import UnionType
from typing import Any

from drurank.errors import InputError

MANY = "*"
"""The only key of a shape whose value is that of all keys, which are text."""


def check_shape(of: str, found: Any, shape: Mapping[str, Any], remedy: str, where: str = "") -> None:
    """Refuse a mapping that lacks a key, or has a value of another kind there, at any depth.

    Args:
        of: what it is read from, for the sentence.
        found: what was read.
        shape: key to a type, a union of types or a shape; a number is finite, and true and false are no numbers.
        remedy: end of the sentence.
        where: place of ``found`` in the whole.

    Raises:
        InputError: naming the first place.
    """
    if not isinstance(found, Mapping):
        raise wrong(of, where or "content", found, remedy)
    if MANY in shape:
        odd = next((name for name in found if not isinstance(name, str)), None)
        if odd is not None:
            raise wrong(of, f"{where} key".strip(), odd, remedy)
        shape = dict.fromkeys(found, shape[MANY])
    for name, kind in shape.items():
        place = f"{where}.{name}".removeprefix(".")
        if name not in found:
            raise InputError(f"{of} is damaged: its {place} is missing; {remedy}")
        if isinstance(kind, Mapping):
            check_shape(of, found[name], kind, remedy, place)
        elif not _is(found[name], kind):
            raise wrong(of, place, found[name], remedy)


def wrong(of: str, place: str, value: Any, remedy: str) -> InputError:
    """The error for a value that cannot be used."""
    is_tensor = hasattr(value, "dtype") and hasattr(value, "shape")
    said = f"a tensor of {value.dtype} {tuple(value.shape)}" if is_tensor else ascii(value)[:80]
    return InputError(f"{of} is damaged: its {place} is {said}; {remedy}")


def _is(value: Any, kind: type | UnionType) -> bool:
    if isinstance(value, bool):
        return bool in getattr(kind, "__args__", (kind,))
    if not isinstance(value, kind):
        return False
    # Where fractions may stand, a whole number becomes one.
    is_number = isinstance(value, float) or (isinstance(value, int) and float in getattr(kind, "__args__", ()))
    return not is_number or _is_finite(value)


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
