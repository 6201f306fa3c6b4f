"""What a checkpoint of somebody else may not hold: lists in lists without end, and names put over torch's own.

A file of a few bytes may hold a list of twice the same list, sixty times over; whoever looks at each value has no end.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from torch import Tensor

from drurank.errors import InputError
from drurank.limits import LIFT, are_lifted

DEEPEST = 100
"""Lists in lists; no checkpoint of ours has a tenth of it."""
MOST, TIMES = 1_000_000, 10
"""Values that any checkpoint may have, each counted as often as it is repeated, and how many for each that it holds."""

HOLDING = (OrderedDict, Counter)
"""Mappings to which torch gives attributes that a file holds."""


def refuse_odd_nest(of: str, content: Any, remedy: str) -> None:
    """Refuse what cannot be looked at value by value; comes before everything that does.

    Args:
        of: what it is called in the sentence.
        content: what was read of a file.
        remedy: end of the sentence.

    Raises:
        InputError: if lists or mappings are nested too deep or hold themselves, or are repeated so often that they
            become far more than they are, or an attribute stands over one of torch's or Python's own.
    """
    nest = _Nest(of, remedy)
    values = nest.size(content, 0)
    if values > max(MOST, TIMES * nest.held) and not are_lifted():
        raise InputError(
            f"{of} holds {nest.held:,} values and becomes {values:,} where its lists repeat one another, as files do "
            f"that are made to fill the day; {LIFT}"
        )


class _Nest:
    """Sizes and heights of lists and mappings, each of which is looked at once.

    Args:
        of: what they are of, in sentences.
        remedy: end of the sentences.

    Attributes:
        held: values that were looked at.
    """

    def __init__(self, of: str, remedy: str) -> None:
        self._of, self._remedy = of, remedy
        self._known: dict[int, tuple[int, int] | None] = {}
        self.held = 0

    def size(self, part: Any, depth: int) -> int:
        """Number of values in a list, at any depth."""
        return self._measured(part, depth)[0]

    def _measured(self, part: Any, depth: int) -> tuple[int, int]:
        self._refuse_hiding(part)
        inner = _values_of(part)
        if inner is None:
            return 1, 0
        if id(part) in self._known:
            known = self._known[id(part)]
            if known is None:
                raise InputError(f"{self._of} is damaged: it has a {type(part).__name__} in itself; {self._remedy}")
            self._refuse_depth(depth + known[1])
            return known
        self._refuse_depth(depth)
        self._known[id(part)], size, height = None, 1, 0
        for value in inner:
            self.held += 1
            more, above = self._measured(value, depth + 1)
            size, height = size + more, max(height, above + 1)
        self._known[id(part)] = size, height
        return size, height

    def _refuse_depth(self, depth: int) -> None:
        if depth > DEEPEST:
            raise InputError(f"{self._of} is damaged: it has lists in lists, {DEEPEST} deep and more; {self._remedy}")

    def _refuse_hiding(self, part: Any) -> None:
        """Refuse a tensor or mapping on which an attribute of the file is called in place of a method."""
        kind = type(part)
        if isinstance(part, Tensor) or kind in HOLDING:
            for name in getattr(part, "__dict__", ()):
                if hasattr(kind, name):
                    raise InputError(
                        f"{self._of} is damaged: it has an attribute in place of {kind.__name__}.{name}; {self._remedy}"
                    )


def _values_of(part: Any) -> Iterable[Any] | None:
    if isinstance(part, Mapping):
        return part.values()
    return part if isinstance(part, list | tuple) else None
