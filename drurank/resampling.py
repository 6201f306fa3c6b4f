"""Rows drawn again: within groups, to see how sure a figure of them is, and across, to see what chance alone gives."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

MOST, LEAST = 400, 50
"""Draws at the most and at the least."""
ROWS, GROUPS = 20_000_000, 20_000_000
"""Rows and groups over all draws at the most while there are more draws than the least."""
PRIOR = 8
"""Degrees of freedom that the variance of all groups' rows stands for beside a group's own."""


def draws_of(rows: int, groups: int) -> int:
    """How many draws are worth their time."""
    return min(MOST, max(LEAST, min(ROWS // max(rows, 1), GROUPS // max(groups, 1))))


def within(strata: np.ndarray, draws: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Rows drawn with replacement from those of the same stratum: the bootstrap.

    Args:
        strata: that of each row, int64 ``[n]``.
        draws: how many times.
        rng: where chance comes from.

    Yields:
        The row that stands in place of each row, int64 ``[n]``.
    """
    order = np.argsort(strata, kind="stable")
    _, place, rows = np.unique(strata, return_inverse=True, return_counts=True)
    place = place.reshape(-1)
    begin, size = (np.cumsum(rows) - rows)[place], rows[place]
    for _ in range(draws):
        yield order[begin + (rng.random(len(strata)) * size).astype(np.int64)]


def across(classes: np.ndarray | None, rows: int, draws: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Rows in any order: a permutation, which leaves the sizes of groups as they are.

    Args:
        classes: of each row, int64 or bool ``[n]``, where only rows of one class change places.
        rows: how many there are.
        draws: how many times.
        rng: where chance comes from.

    Yields:
        The row that stands in place of each row, int64 ``[n]``.
    """
    if classes is None:
        for _ in range(draws):
            yield rng.permutation(rows)
        return
    places = np.argsort(classes, kind="stable")
    for _ in range(draws):
        found = np.empty(rows, dtype=np.int64)
        found[places] = np.argsort(classes + rng.random(rows))
        yield found


def variances(draws: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Variance of each group's value, from values of drawn rows: its own, drawn to all groups' where it has few rows.

    Args:
        draws: values of rows drawn within groups, float64 ``[draws, m]``, ``nan`` where there is none.
        size: rows of each group, float ``[m]``; variances fall with it.

    Returns:
        Float64 ``[m]``; ``nan`` where no group has two rows.
    """
    number = (~np.isnan(draws)).sum(axis=0)
    mean = np.nansum(draws, axis=0) / np.maximum(number, 1)
    own = np.nansum((draws - mean) ** 2, axis=0) / np.maximum(number - 1, 1)
    freedom = np.maximum(size - 1, 0)
    if not freedom.any():
        return np.full(len(size), np.nan)
    # Of n rows the bootstrap has (n - 1) / n of the variance; of one row none.
    total = np.where(freedom > 0, own * size**2, 0)
    found: np.ndarray = (PRIOR * total.sum() / freedom.sum() + total) / (PRIOR + freedom) / size
    return found
