"""Figures of all groups at once, from the rows; ``nan`` for a group that has none.

Groups are codes of rows, int64 ``[n]``, from 0 to ``m - 1``; results are float64 ``[m]``.
"""

from __future__ import annotations

import numpy as np

BINS, LEAST_IN_BIN = 10, 10


def divided(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """A quotient, ``nan`` where the divisor is 0."""
    found: np.ndarray = np.where(below > 0, above / np.where(below > 0, below, 1), np.nan)
    return found


def means(value: np.ndarray, code: np.ndarray, m: int) -> np.ndarray:
    """Mean of a value of each row."""
    return divided(np.bincount(code, value, minlength=m), np.bincount(code, minlength=m))


def f1_positive(true: np.ndarray, said: np.ndarray, code: np.ndarray, m: int) -> np.ndarray:
    """F1 of the positive class, of whether each row is of it and is predicted so."""
    return divided(2 * np.bincount(code, true & said, minlength=m), f1_size(true, said, code, m) * 2)


def f1_size(true: np.ndarray, said: np.ndarray, code: np.ndarray, m: int) -> np.ndarray:
    """Rows that are of the positive class or predicted so, those that are both counting twice, by two."""
    size: np.ndarray = np.bincount(code, true.astype(float) + said, minlength=m) / 2
    return size


def f1_macro(label: np.ndarray, said: np.ndarray, code: np.ndarray, m: int) -> np.ndarray:
    """Mean F1 over the classes that occur among a group's labels or predictions."""
    classes, count, right = _by_class(label, code, m, max(label.max(), said.max()) + 1, label == said)
    both = count + np.bincount(code * classes + said, minlength=m * classes).reshape(m, classes)
    return _mean_known(divided(2 * right, both))


def balanced_accuracy(label: np.ndarray, right: np.ndarray, code: np.ndarray, m: int) -> np.ndarray:
    """Mean over the classes that a group has of the share of their rows that is right."""
    _, count, good = _by_class(label, code, m, label.max() + 1, right)
    return _mean_known(divided(good, count))


def balanced_size(label: np.ndarray, code: np.ndarray, m: int) -> np.ndarray:
    """Rows that would give a share as certain as the balanced accuracy is: classes squared over the sum of 1 / rows."""
    _, count, _ = _by_class(label, code, m, label.max() + 1, np.ones(len(label), dtype=bool))
    size: np.ndarray = (count > 0).sum(axis=1) ** 2 / np.nansum(divided(np.ones_like(count), count), axis=1)
    return size


def auroc(rank: np.ndarray, positive: np.ndarray, code: np.ndarray, m: int) -> np.ndarray:
    """How often a positive row's score is higher than a negative one's, equal ones counting half.

    Args:
        rank: of each row's score among all distinct ones, int64 ``[n]``, 0 for the lowest.
        positive: whether each row is of the positive class, bool ``[n]``.
        code: group of each row.
        m: how many groups there are.
    """
    ranks = int(rank.max(initial=0)) + 1
    ordered = np.sort((code * ranks + rank) * 2 + positive)  # sorted themselves, which is faster than their order
    is_positive, block = ordered & 1, ordered >> 1
    begin = np.flatnonzero(np.diff(block, prepend=-1))
    up = np.add.reduceat(is_positive, begin) if len(begin) else begin
    down = np.diff(begin, append=len(block)) - up
    group = block[begin] // ranks
    before = np.cumsum(down) - down
    negatives = np.bincount(group, down, minlength=m)
    below = before - (np.cumsum(negatives) - negatives)[group]
    won = np.bincount(group, up * (below + down / 2), minlength=m)
    return divided(won, negatives * np.bincount(group, up, minlength=m))


def pairs_size(positive: np.ndarray, code: np.ndarray, m: int) -> np.ndarray:
    """Positive times negative rows over all rows."""
    rows, up = np.bincount(code, minlength=m), np.bincount(code, positive, minlength=m)
    size: np.ndarray = up * (rows - up) / np.maximum(rows, 1)
    return size


def calibration_error(
    rank: np.ndarray, score: np.ndarray, event: np.ndarray, code: np.ndarray, m: int, bins: int = BINS
) -> np.ndarray:
    """Mean over a group's rows of how far the mean score of their bin is from the share of events there.

    Bins hold equal numbers of rows, ten or more of each; rows of equal scores are in one bin.

    Args:
        rank: of each row's score among all distinct ones, int64 ``[n]``, 0 for the lowest.
        score: probability of the event, float64 ``[n]``.
        event: whether it was so, bool ``[n]``.
        code: group of each row.
        m: how many groups there are.
        bins: how many a group has at most.
    """
    key = code * (int(rank.max(initial=0)) + 1) + rank
    order = np.argsort(key)
    group, block = code[order], key[order]
    begin = np.flatnonzero(np.diff(block, prepend=-1))
    rows = np.bincount(code, minlength=m)
    middle = np.repeat(begin + np.diff(begin, append=len(block)) / 2, np.diff(begin, append=len(block)))
    middle -= (np.cumsum(rows) - rows)[group]
    of_group = np.clip(rows // LEAST_IN_BIN, 1, bins)
    place = np.minimum((middle * of_group[group] / rows[group]).astype(np.int64), of_group[group] - 1)
    off = np.bincount(group * bins + place, score[order] - event[order], minlength=m * bins)
    return divided(np.abs(off).reshape(m, bins).sum(axis=1), rows)


def _by_class(
    label: np.ndarray, code: np.ndarray, m: int, classes: int, right: np.ndarray
) -> tuple[int, np.ndarray, np.ndarray]:
    """Number of classes, and by group and class all rows and those that are right, ``[m, c]`` each."""
    classes = int(classes)
    place = code * classes + label
    count = np.bincount(place, minlength=m * classes).reshape(m, classes)
    return classes, count, np.bincount(place, right, minlength=m * classes).reshape(m, classes)


def _mean_known(value: np.ndarray) -> np.ndarray:
    known = ~np.isnan(value)
    return divided(np.where(known, value, 0).sum(axis=1), known.sum(axis=1))
