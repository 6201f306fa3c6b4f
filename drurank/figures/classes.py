"""Classes by their labels: which number each has, and which is the positive one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from drurank.errors import InputError, nearest
from drurank.tabular.columns import to_number

Numbering = Callable[[str], int | None]
"""Number of the class that a text names; ``None`` if none."""


def class_numbers(labels: Sequence[str], others: Iterable[str] = ()) -> Numbering:
    """How the classes are numbered; equal numbers are one class however they are written.

    Args:
        labels: of the classes, in the order of their numbers; of equal ones the first counts.
        others: further texts that name classes, which are compared as numbers if all of both are numbers.
    """
    are_numbers = all(map(_is_number, (*labels, *others)))
    key: Callable[[str], Any] = _exact if are_numbers else str
    place = {key(text): number for number, text in reversed(list(enumerate(labels)))}

    def number_of(text: str) -> int | None:
        return None if are_numbers and not _is_number(text) else place.get(key(text))

    return number_of


def positive_of(labels: Sequence[str], given: str | None, number_of: Numbering) -> int | None:
    """Number of the positive class; of classes 0 and 1 it is 1, if none is given.

    Args:
        labels: of all classes.
        given: label of the positive one.
        number_of: how they are numbered.

    Raises:
        InputError: if it is no label.
    """
    if given is None:
        is_binary = {number_of(text) for text in labels} == {number_of("0"), number_of("1")}
        return number_of("1") if is_binary else None
    found = number_of(given)
    if found is None:
        raise InputError(f"positive is {given!r}, which is no label: {nearest(given, list(dict.fromkeys(labels)))}")
    return found


def class_values(labels: Sequence[str]) -> np.ndarray | None:
    """What each class is as a number, float64 ``[c]``; ``None`` where not all are numbers."""
    values = np.array([to_number(text) for text in labels])
    return values if np.isfinite(values).all() else None


def _is_number(text: str) -> bool:
    return bool(np.isfinite(to_number(text)))


def _exact(text: str) -> Decimal:
    return Decimal(text.strip())
