"""Groups that are written in several ways, as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from drurank.tabular.rules.spelling import plain_group


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
    rows = np.bincount(code[code >= 0], minlength=len(names))
    meant = {plain_group(name): name for name in known}
    for place in sorted(range(len(names)), key=lambda place: (-rows[place], names[place])):
        meant.setdefault(plain_group(names[place]), names[place])
    new = [meant[plain_group(name)] for name in names]
    left = sorted(set(new))
    number = {name: place for place, name in enumerate(left)}
    return np.array([*(number[name] for name in new), -1], dtype=np.int64)[code], left
