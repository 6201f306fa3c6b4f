"""Binomial tails, and likelihoods of counts, of any size up to the 2^53 rows that counts of files may have.

``scipy.special.bdtr`` takes the number of trials as a C ``int``, above which it gives ``nan``, and is off by a tenth
near the middle from some ten million on. A difference of two ``betaln`` of such counts has no digit left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtrik, betainc, betaincc, betainccinv, betaincinv, gammaln, ndtr, ndtri

LARGE = 2**31
"""Rows above which likelihoods are computed relative to the largest that counts can have."""
NORMAL, EITHER = 2**40, 10**6
"""Trials above which distributions are normal but for their skew, where so many succeed and fail: SciPy's beta
distribution loses its digits, and is nan near the middle from 2^52 on."""
STIRLING = 10.0
"""From here on the series for the rest of Stirling's formula has all digits."""


def at_most(number: ArrayLike, count: ArrayLike, chance: ArrayLike) -> np.ndarray:
    """How likely it is that no more than a number of trials succeed.

    Args:
        number: of successes, from -1 to ``count``; of numbers that are not whole the beta distribution is taken.
        count: of trials.
        chance: that one succeeds.

    Returns:
        Float64 of the common shape.
    """
    number, count = np.asarray(number, np.float64), np.asarray(count, np.float64)
    found = betaincc(np.maximum(number, 0) + 1, np.where(number < count, count - number, 1), chance)
    found = np.where(number < 0, 0.0, np.where(number >= count, 1.0, found))
    return _corrected(found, number + 0.5, count, chance, 1)


def at_least(number: ArrayLike, count: ArrayLike, chance: ArrayLike) -> np.ndarray:
    """How likely it is that a number of trials or more succeed; as ``at_most``."""
    number, count = np.asarray(number, np.float64), np.asarray(count, np.float64)
    found = betainc(np.where(number > 0, number, 1), np.maximum(count - number, 0) + 1, chance)
    found = np.where(number <= 0, 1.0, np.where(number > count, 0.0, found))
    return _corrected(found, number - 0.5, count, chance, -1)


def _corrected(tail: np.ndarray, number: np.ndarray, count: np.ndarray, chance: ArrayLike, sign: int) -> np.ndarray:
    """A tail, or that of the normal distribution of the signed root of the deviance where numbers are large."""
    tail = np.array(tail)
    number, count, share, _ = np.broadcast_arrays(number, count, np.asarray(chance, np.float64), tail)
    is_normal = (count > NORMAL) & (count * np.minimum(share, 1 - share) > EITHER) & (tail > 0) & (tail < 1)
    is_normal |= np.isnan(tail)
    if is_normal.any():
        n, p, found = count[is_normal], share[is_normal], np.clip(number / count, 0, 1)[is_normal]
        root = np.sign(found - p) * np.sqrt(2 * n * _divergence((found, 1 - found), (p, 1 - p), p - found))
        tail[is_normal] = ndtr(sign * (root + (1 - 2 * p) / np.sqrt(n * p * (1 - p)) / 6))
    return tail


def quantile(level: float, count: np.ndarray, chance: float) -> np.ndarray:
    """The least number of successes that has no more than so many in this share of cases, float64 ``[m]``.

    Args:
        level: the share, in (0, 1).
        count: of trials, ``[m]``.
        chance: that one succeeds, in (0, 1).
    """
    if chance <= 0.5:
        number = np.ceil(bdtrik(level, count, chance))
    else:
        # The failures, whose small chance is known to more digits.
        number = count - 1 - np.floor(bdtrik(1 - level, count, 1 - chance))
    number = np.clip(number, 0, count)
    # Rounding may put it one off.
    number += at_most(number, count, chance) < level
    fewer: np.ndarray = np.maximum(number - 1, 0)
    return np.where(at_most(fewer, count, chance) >= level, fewer, number)


def ends(correct: np.ndarray, count: np.ndarray, tail: float) -> tuple[np.ndarray, np.ndarray]:
    """The interval of Clopper and Pearson of the chance that a trial succeeds, float64 ``[m]`` each.

    Args:
        correct: trials that succeeded, ``[m]``; they need not be whole, as effective numbers of weighted ones.
        count: trials, ``[m]``, 1 or more.
        tail: how likely so many or more of them are at the lower end, and so few or fewer at the upper one.
    """
    wrong = count - correct
    low = betaincinv(np.where(correct > 0, correct, 1), wrong + 1, tail)
    high = betainccinv(correct + 1, np.where(wrong > 0, wrong, 1), tail)
    low, high = np.where(correct == 0, 0.0, low), np.where(wrong == 0, 1.0, high)
    is_normal = (count > NORMAL) & (np.minimum(correct, wrong) > EITHER)
    if is_normal.any():
        right, off, z = correct[is_normal].astype(np.float64), wrong[is_normal].astype(np.float64), -ndtri(tail)
        low[is_normal], high[is_normal] = _near_normal(right, off + 1, -z), _near_normal(right + 1, off, z)
    return low, high


def _near_normal(a: np.ndarray, b: np.ndarray, z: float) -> np.ndarray:
    """Quantiles of beta distributions for a normal one at ``z``, by the expansion of Cornish and Fisher."""
    total = a + b
    sd = np.sqrt(a / total * (b / total) / (total + 1))
    skew = 2 * (b - a) / (total + 2) * np.sqrt((total + 1) / (a * b))
    found: np.ndarray = a / total + sd * (z + skew * (z * z - 1) / 6)
    return found


def relative_likelihood(
    correct: np.ndarray, count: np.ndarray, mean: np.ndarray | float, precision: np.ndarray | float
) -> np.ndarray:
    """Log of how likely counts are under beta-binomials, over how likely they would be at the accuracy that they have.

    Args:
        correct: samples classified correctly.
        count: samples.
        mean: in (0, 1).
        precision: infinite for a binomial distribution.

    Returns:
        Float64 of the common shape, off by less than 1e-8 of itself.
    """
    correct, count, mean, precision = np.broadcast_arrays(
        *(np.asarray(each, np.float64) for each in (correct, count, mean, precision))
    )
    seen = np.maximum(count, 1)
    right, wrong = correct / seen, (count - correct) / seen
    miss = 1 - mean
    # A mean of 0 or 1 is taken of binomials alone.
    away = np.where(mean > 0.5, wrong - miss, mean - right)  # of the two the smaller ones
    is_point = np.isinf(precision)
    k = np.where(is_point, 1.0, precision)
    total = k + count
    a, b, well, ill = mean * k, miss * k, mean * k + correct, miss * k + (count - correct)
    near = -k * _divergence((mean, miss), (well / total, ill / total), -away * (count / total))
    near -= count * _divergence((right, wrong), (well / total, ill / total), away * (k / total))
    with np.errstate(divide="ignore", invalid="ignore"):
        near += 0.5 * (np.log(a / well) + np.log(b / ill) + np.log(total / k))
    near += _rest(well) + _rest(ill) - _rest(total) - _rest(a) - _rest(b) + _rest(k)
    found: np.ndarray = np.where(is_point, -count * _divergence((right, wrong), (mean, miss), away), near)
    return found


Two = tuple[np.ndarray, np.ndarray]


def _divergence(of: Two, other: Two, away: np.ndarray) -> np.ndarray:
    """Of Kullback and Leibler, of two shares from others, of which the first is larger by ``away``."""
    found = np.zeros(np.shape(away))
    for share, target, step in ((of[0], other[0], away), (of[1], other[1], -away)):
        part = np.where(share > 0, share, 1.0)
        ratio = np.where(share > 0, step / part, 0.0)
        is_near = np.abs(ratio) < 0.5
        with np.errstate(divide="ignore"):  # infinite where what is there cannot be
            far = np.log(np.where(is_near, 1.0, target / part))
        found -= share * np.where(is_near, np.log1p(np.where(is_near, ratio, 0.0)), far)
    return found


def _rest(x: np.ndarray) -> np.ndarray:
    """Of the logarithm of the gamma function what Stirling's formula leaves."""
    large, small = np.maximum(x, STIRLING), np.clip(x, 1e-300, STIRLING)
    inverse = 1 / large**2
    series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse * (1 / 1680 - inverse / 1188)))) / large
    exact = gammaln(small) - ((small - 0.5) * np.log(small) - small + 0.5 * np.log(2 * np.pi))
    found: np.ndarray = np.where(x >= STIRLING, series, exact)
    return found
