"""Groups and categories that are written in several ways, as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from drurank.tabular.columns import Column
from drurank.tabular.spellings import plain_group, plain_spelling


def with_twins_joined(
    code: np.ndarray, names: Sequence[str], known: Sequence[str] = ()
) -> tuple[np.ndarray, list[str]]:
    """Groups whose names differ only by how they are written, as one.

    Such a group has the name that is known of it, or else the commonest one, of equally common ones the first.

    Args:
        code: group of each row, int64 ``[n]``, -1 where it has none.
        names: name by code.
        known: names that training has, among which none is written in two ways.

    Returns:
        The group of each row by its place among the names that are left, and these, sorted.
    """
    new = _as_one(names, np.bincount(code[code >= 0], minlength=len(names)), known, plain_group)
    left = sorted(set(new))
    number = {name: place for place, name in enumerate(left)}
    return np.array([*(number[name] for name in new), -1], dtype=np.int64)[code], left


def joined_texts(column: Column, rows: np.ndarray, known: Sequence[str] = ()) -> dict[str, str]:
    """What the texts of a column of categories are read as, for those that are written otherwise.

    Args:
        column: its cells.
        rows: places of the training rows, int64 ``[k]``, whose commonest way of writing is taken.
        known: texts that training has, as in ``with_twins_joined``.
    """
    code = column.codes[rows]
    times = np.bincount(code[code >= 0], minlength=len(column.texts))
    new = _as_one(column.texts, times, known, plain_spelling)
    return {text: meant for text, meant in zip(column.texts, new, strict=True) if text != meant}


def _as_one(names: Sequence[str], times: np.ndarray, known: Sequence[str], spell: Callable[[str], str]) -> list[str]:
    """What each name is called, by how many rows have it, int64 ``[len(names)]``."""
    meant = {spell(name): name for name in known}
    for place in sorted(range(len(names)), key=lambda place: (-times[place], names[place])):
        meant.setdefault(spell(names[place]), names[place])
    return [meant[spell(name)] for name in names]
