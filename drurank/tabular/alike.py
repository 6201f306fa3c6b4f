"""Rows that are equal to others, and whether chance makes them so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

BY_CHANCE = 2.0
"""So many times the pairs that independent columns would make are put down to chance."""
AGREE = 0.5
"""Share of the way from chance to certainty that the labels of copies agree at least."""


def alike_rows(codes: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Rows that another row equals in all columns.

    Args:
        codes: code of each row's value by column, int64 ``[n]`` each, -1 for missing.

    Returns:
        Their places in ascending order, int64 ``[k]``, and a number from 0 that rows which are equal share.
    """
    rows = np.arange(len(codes[0]))
    copy = np.zeros(len(rows), dtype=np.int64)
    # Columns of many values first, so that few rows are left for the others.
    for code in sorted(codes, key=lambda code: int(code.max(initial=0)), reverse=True):
        key = copy * (int(code.max(initial=0)) + 2) + code[rows] + 1
        copy, count = np.unique(key, return_inverse=True, return_counts=True)[1:]
        again = count[copy] > 1
        rows, copy = rows[again], copy[again]
    return rows, np.unique(copy, return_inverse=True)[1]


def copies(codes: Sequence[np.ndarray]) -> np.ndarray:
    """Which rows equal an earlier one in all columns, bool ``[n]``.

    Args:
        codes: code of each row's value by column, int64 ``[n]`` each, -1 for missing.
    """
    return later_ones(*alike_rows(codes), len(codes[0]))


def later_ones(rows: np.ndarray, copy: np.ndarray, n: int) -> np.ndarray:
    """Which of ``n`` rows equal an earlier one, bool ``[n]``.

    Args:
        rows: places of those that equal another, int64 ``[k]``, see ``alike_rows``.
        copy: the number that equal ones share, int64 ``[k]``.
        n: how many rows there are.
    """
    later = np.ones(len(rows), dtype=bool)
    later[np.unique(copy, return_index=True)[1]] = False
    found = np.zeros(n, dtype=bool)
    found[rows[later]] = True
    return found


def looks_like_chance(label: np.ndarray, others: Sequence[np.ndarray]) -> bool:
    """Whether pairs of rows that are equal in all columns are no more than is to be expected without copying.

    They are not where the other columns, were each independent of all others, would make half of these pairs or
    more; nor where rows that are equal in the other columns have different labels about as often as any two rows.

    Args:
        label: its code, int64 ``[n]``.
        others: code of each row's value by column, int64 ``[n]`` each.
    """
    rows, copy = alike_rows(others)
    width = int(label.max(initial=0)) + 2
    alike, equal = _pairs(copy), _pairs(np.unique(copy * width + label[rows], return_inverse=True)[1])
    n = len(label)
    every = n * (n - 1) / 2
    by_label = _pairs(label) / every
    if equal <= BY_CHANCE * every * by_label * float(np.prod([_pairs(code) / every for code in others])):
        return True
    return equal / alike - by_label < AGREE * (1 - by_label)


def _pairs(code: np.ndarray) -> float:
    """How many pairs of rows have the same code, of codes from -1."""
    count = np.bincount(code + 1)
    return float((count * (count - 1.0)).sum() / 2)
