"""How much groups truly differ: accuracies of groups as draws from a beta distribution, fitted by likelihood.

A group of ``n`` samples is right in ``Binomial(n, p)`` of them and its true accuracy ``p`` is one draw from a beta
distribution with a mean ``mu`` and a standard deviation ``sd``, the spread: ``Beta(mu k, (1 - mu) k)`` with
``k = mu (1 - mu) / sd^2 - 1``. With ``sd = 0`` all groups are alike and differ by chance alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace, device
from scipy.special import betaincinv, betaln, gammaln, xlog1py, xlogy

from drurank.dcg import Array

LEAST, MOST = 1e-3, 0.999
"""Range of relative spreads, ``sd / sqrt(mu (1 - mu))``. Smaller ones count as none: rounding would decide them."""
SPREADS, MEANS = 48, 15
NONE_BEFOREHAND = 1 / 2
"""Prior probability that groups do not differ, against all spreads that the data makes likely. (Not against all
possible ones: no spread would then seem certain wherever groups differ little.) With this value intervals hold the
truth as often as they should, see benchmarks/noise.py."""
LIKELY, NEGLIGIBLE = 1.353, 8.0
"""How far the log-likelihood is below its maximum at the ends of a 90 % interval (half of the chi-square quantile), and
where it is neglected (1 in 3,000)."""


@dataclass(frozen=True)
class Spread:
    """The distribution of true group accuracy, as fitted.

    Attributes:
        mean: ``mu``, of the likeliest distribution.
        sd: standard deviation of the likeliest distribution; 0 where groups differ no more than by chance.
        low: lowest standard deviation that the data allows, by its likelihood, at 90 %.
        high: highest.
        means: means that are likely enough, ``[g]``.
        precisions: ``k`` that goes with each of them, ``[g]``, infinite for no spread.
        share: how likely each pair is, ``[g]``, sums to 1.
    """

    mean: float
    sd: float
    low: float
    high: float
    means: np.ndarray
    precisions: np.ndarray
    share: np.ndarray

    def posterior_mean(self, correct: np.ndarray, count: np.ndarray) -> np.ndarray:
        """``(mu k + correct) / (k + count)``, ``nan`` where ``count`` is 0; all ``[m]``."""
        if self.sd == 0:
            return np.where(count > 0, self.mean, np.nan)
        k = self.mean * (1 - self.mean) / self.sd**2 - 1
        return np.where(count > 0, (self.mean * k + correct) / (k + count), np.nan)


def fit_spread(correct: np.ndarray, count: np.ndarray) -> Spread:
    """Fit the distribution of true group accuracy by likelihood.

    Args:
        correct: samples classified correctly by group, integer ``[m]``.
        count: samples by group, integer ``[m]``; groups without samples are left out.

    Returns:
        The likeliest mean and standard deviation, and how likely others are.
    """
    if not (count > 0).any():
        none = np.zeros(0)
        return Spread(math.nan, math.nan, math.nan, math.nan, none, none, none)
    tally = _Tally(correct[count > 0], count[count > 0])
    mean, relative = tally.best()
    spreads, means, weight = tally.likely(mean, relative)
    total = weight.sum(axis=1)
    low, high = _ends(spreads, np.log(total / total.max()) + LIKELY)
    low, high = min(low, relative), max(high, relative)
    weight[spreads == 0] *= NONE_BEFOREHAND * SPREADS
    precisions = np.repeat(_precision(spreads), MEANS)
    scale = math.sqrt(tally.inner(mean) * (1 - tally.inner(mean)))
    return Spread(
        mean, scale * relative, scale * low, scale * high, means.ravel(), precisions, weight.ravel() / weight.sum()
    )


def _ends(place: np.ndarray, height: np.ndarray) -> tuple[float, float]:
    """Where a curve crosses 0 before and after its peak, by linear interpolation; its ends where it does not."""
    above = np.flatnonzero(height >= 0)
    first, last = above[0], above[-1]
    low = np.interp(0, height[first - 1 : first + 1], place[first - 1 : first + 1]) if first else place[0]
    high = np.interp(0, -height[last : last + 2], place[last : last + 2])
    return float(low), float(high)


def _precision(relative: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        found: np.ndarray = 1 / np.square(relative) - 1
    return found


def shrunk_accuracy(correct: Array, count: Array) -> Array:
    """Posterior mean of each group's true accuracy: the fewer its samples, the nearer to the mean of all.

    Args:
        correct: samples classified correctly by group, int64 ``[..., m]``, of numpy or torch.
        count: samples by group, int64 ``[..., m]``.

    Returns:
        ``(mu k + correct) / (k + count)`` with ``mu`` and ``k`` of ``fit_spread``, float64 (float32 on MPS)
        ``[..., m]``, ``nan`` where ``count`` is 0.
    """
    xp = array_namespace(correct, count)
    shape, m = tuple(count.shape), count.shape[-1]
    right, seen = (np.asarray(xp.asarray(a, device="cpu")).reshape(-1, m) for a in (correct, count))
    rows = [fit_spread(c, n).posterior_mean(c, n) for c, n in zip(right, seen, strict=True)]
    found = np.array(rows).reshape(shape)
    return xp.asarray(found, device=device(count))  # type: ignore[no-any-return]


class _Tally:
    """Counts of groups, equal ones pooled, and the likelihood of a distribution given them."""

    def __init__(self, correct: np.ndarray, count: np.ndarray) -> None:
        self.correct, self.count = correct.astype(np.float64), count.astype(np.float64)
        wrong = self.count - self.correct
        self.right_total, self.wrong_total = self.correct.sum(), wrong.sum()
        self._values = [np.unique(value, return_counts=True) for value in (self.correct, wrong, self.count)]

    def log_likelihood(self, mean: np.ndarray, relative: np.ndarray) -> np.ndarray:
        """Of each mean and relative spread, ``[g]``, up to a constant."""
        found: np.ndarray = xlogy(self.right_total, mean) + xlog1py(self.wrong_total, -mean)
        wide = relative >= LEAST
        k, mean = _precision(relative[wide]), mean[wide]
        parts = (mean * k, (1 - mean) * k, k)
        right, wrong, seen = (self._rising(part, *value) for part, value in zip(parts, self._values, strict=True))
        found[wide] = right + wrong - seen
        return found

    @staticmethod
    def _rising(start: np.ndarray, value: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Sum over groups of ``log(start (start + 1) ... (start + value - 1))``, ``[g]``."""
        found: np.ndarray = np.array([times @ (gammaln(x + value) - gammaln(x)) for x in start])
        return found

    def _of(self, mean: float, relative: float) -> float:
        return float(self.log_likelihood(np.array([mean]), np.array([relative]))[0])

    def best(self) -> tuple[float, float]:
        """Likeliest mean and relative spread."""
        pooled = float(self.right_total / (self.right_total + self.wrong_total))
        if len(self.count) < 2 or pooled in (0, 1):
            return pooled, 0.0
        from scipy.optimize import minimize  # here, since it is slow to import and most commands fit nothing

        apart = math.sqrt(np.var(self.correct / self.count) / (pooled * (1 - pooled)))
        found = minimize(
            lambda point: -self._of(*point),
            [pooled, min(max(apart, 0.05), 0.9)],
            method="Nelder-Mead",
            bounds=[(pooled / 100, 1 - (1 - pooled) / 100), (0.0, MOST)],
            options={"fatol": 1e-6},
        )
        no_better = -found.fun < self._of(pooled, 0.0) + 1e-4
        return (pooled, 0.0) if no_better else (float(found.x[0]), float(found.x[1]))

    def likely(self, mean: float, relative: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Relative spreads ``[SPREADS]`` and means that are likely enough, and how likely each pair is.

        Every spread counts alike; the mean has Jeffreys' prior. Means ``[SPREADS, MEANS]`` are placed at equal shares
        of a beta distribution near their posterior, so a pair weighs its likelihood over the density there.
        """
        low, high = self._reach(mean, relative)
        spreads = np.linspace(max(low, LEAST), max(high, 2 * LEAST), SPREADS)
        if low == 0:
            spreads[0] = 0.0
        spreads = spreads[:, None]
        weight = 1 / (1 + (self.count - 1) * spreads**2)
        right = (weight * self.correct).sum(axis=1, keepdims=True) + 0.5
        wrong = (weight * (self.count - self.correct)).sum(axis=1, keepdims=True) + 0.5
        means = betaincinv(right, wrong, (np.arange(MEANS) + 0.5) / MEANS).clip(1e-12, 1 - 1e-12)
        density = xlogy(right - 0.5, means) + xlog1py(wrong - 0.5, -means) - betaln(right, wrong)
        log = self.log_likelihood(means.ravel(), np.repeat(spreads, MEANS)).reshape(means.shape) - density
        return spreads[:, 0], means, np.exp(log - log.max())

    def inner(self, mean: float) -> float:
        """The mean, kept away from 0 and 1 where none or all are right."""
        least = 0.5 / float(self.right_total + self.wrong_total + 1)
        return min(max(mean, least), 1 - least)

    def _reach(self, mean: float, relative: float) -> tuple[float, float]:
        """Lowest and highest relative spread that is not negligible."""
        mean = self.inner(mean)
        best = self._of(mean, relative)

        from scipy.optimize import brentq

        def above(value: float) -> float:
            return self._of(mean, value) - best + NEGLIGIBLE

        peak = max(relative, LEAST)
        if above(peak) <= 0:
            return 0.0, 2 * LEAST  # with so many samples, no spread in the range is likely
        low = 0.0 if above(LEAST) >= 0 else float(brentq(above, LEAST, peak))
        high = MOST if above(MOST) >= 0 else float(brentq(above, peak, MOST))
        return low, high
