"""How much groups truly differ: accuracies of groups as draws from a beta distribution, fitted by likelihood.

A group of ``n`` samples is right in ``Binomial(n, p)`` of them and its true accuracy ``p`` is one draw from a beta
distribution with a mean ``mu`` and a standard deviation ``sd``, the spread: ``Beta(mu k, (1 - mu) k)`` with
``k = mu (1 - mu) / sd^2 - 1``. With ``sd = 0`` all groups are alike and differ by chance alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from scipy.optimize import brentq, minimize
from scipy.special import betaincinv, betaln, gammaln, xlog1py, xlogy

from drurank.dcg import Array

LEAST_SPREAD = 1e-4
"""Spreads below it count as none: less than a hundredth of a point."""
SPREADS, MEANS = 48, 15
NONE_BEFOREHAND = 1 / 2
"""How likely it is beforehand that groups do not differ, against all other spreads together: one case in three."""
LIKELY, NEGLIGIBLE = 1.353, 8.0
"""Log-likelihood below the best of the ends of a 90 % interval (half of the chi-square quantile), and of what is left
out of account (one in 3,000)."""


@dataclass(frozen=True)
class Spread:
    """The distribution of true group accuracy, as fitted.

    Attributes:
        mean: ``mu``, of the likeliest distribution.
        sd: standard deviation of the likeliest distribution; 0 where groups differ no more than by chance.
        low: lowest standard deviation that the data allows, by its likelihood, at 90 %.
        high: highest.
        means: means that are likely enough, ``[g]``.
        sds: standard deviation that goes with each of them, ``[g]``.
        share: how likely each pair is, ``[g]``, sums to 1.
    """

    mean: float
    sd: float
    low: float
    high: float
    means: np.ndarray
    sds: np.ndarray
    share: np.ndarray

    def posterior_mean(self, correct: np.ndarray, count: np.ndarray) -> np.ndarray:
        """``(mu k + correct) / (k + count)``, ``nan`` where ``count`` is 0; all ``[m]``."""
        with np.errstate(invalid="ignore"):
            if self.sd == 0:
                return np.where(count > 0, self.mean, np.nan)
            k = precision(self.mean, self.sd)
            return np.where(count > 0, (self.mean * k + correct) / (k + count), np.nan)


def precision(mean: Any, sd: Any) -> Any:
    """``k = mu (1 - mu) / sd^2 - 1`` of a beta distribution with that mean and standard deviation."""
    return mean * (1 - mean) / np.square(sd) - 1


def fit_spread(correct: np.ndarray, count: np.ndarray) -> Spread:
    """Fit the distribution of true group accuracy by likelihood.

    Args:
        correct: samples classified rightly by group, integer ``[m]``.
        count: samples by group, integer ``[m]``; groups without any are left out.

    Returns:
        The likeliest mean and standard deviation, and how likely others are.
    """
    tally = _Tally(correct[count > 0], count[count > 0])
    mean, sd = tally.best()
    sds, means, weight = tally.likely(mean, sd)
    likely = sds[:, 0][weight.sum(axis=1) >= weight.sum(axis=1).max() * math.exp(-LIKELY)]
    weight = np.where(sds == 0, NONE_BEFOREHAND * SPREADS * weight, weight)
    low, high = min(float(likely[0]), sd), max(float(likely[-1]), sd)
    return Spread(mean, sd, low, high, means.ravel(), sds.ravel(), weight.ravel() / weight.sum())


def shrunk_accuracy(correct: Array, count: Array) -> Array:
    """Posterior mean of each group's true accuracy: the fewer its samples, the nearer to the mean of all.

    Args:
        correct: samples classified rightly by group, int64 ``[..., m]``, of numpy or torch.
        count: samples by group, int64 ``[..., m]``.

    Returns:
        ``(mu k + correct) / (k + count)`` with ``mu`` and ``k`` of ``fit_spread``, float64 (float32 on MPS)
        ``[..., m]``, ``nan`` where ``count`` is 0.
    """
    xp = array_namespace(correct, count)
    shape, m = tuple(count.shape), count.shape[-1]
    right, seen = (np.asarray(xp.asarray(a, device="cpu")).reshape(-1, m) for a in (correct, count))
    rows = [fit_spread(c, n).posterior_mean(c, n) for c, n in zip(right, seen, strict=True)]
    found = np.stack(rows).reshape(shape)
    return xp.asarray(found, device=device(count))  # type: ignore[no-any-return]


class _Tally:
    """Counts of groups, those that are alike put together, and the likelihood of a distribution given them."""

    def __init__(self, correct: np.ndarray, count: np.ndarray) -> None:
        self.correct, self.count = correct.astype(np.float64), count.astype(np.float64)
        wrong = self.count - self.correct
        self.right_total, self.wrong_total = self.correct.sum(), wrong.sum()
        self._values = [np.unique(value, return_counts=True) for value in (self.correct, wrong, self.count)]

    def log_likelihood(self, mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
        """Of each distribution, ``[g]``, up to a constant; ``-inf`` where no beta distribution is as wide."""
        found: np.ndarray = xlogy(self.right_total, mean) + xlog1py(self.wrong_total, -mean)
        wide = sd >= LEAST_SPREAD
        k = precision(mean[wide], sd[wide])
        can = k > 0
        k = np.where(can, k, 1.0)
        parts = (mean[wide] * k, (1 - mean[wide]) * k, k)
        right, wrong, seen = (self._rising(part, *value) for part, value in zip(parts, self._values, strict=True))
        found[wide] = np.where(can, right + wrong - seen, -np.inf)
        return found

    @staticmethod
    def _rising(start: np.ndarray, value: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Sum over groups of ``log(start (start + 1) ... (start + value - 1))``, ``[g]``."""
        found: np.ndarray = np.array([times @ (gammaln(x + value) - gammaln(x)) for x in start])
        return found

    def best(self) -> tuple[float, float]:
        """Likeliest mean and standard deviation."""
        pooled = self.right_total / (self.right_total + self.wrong_total)
        if len(self.count) < 2 or pooled in (0, 1):
            return float(pooled), 0.0

        def loss(point: np.ndarray) -> float:
            mean, sd = np.array([point[0]]), np.array([point[1] * math.sqrt(point[0] * (1 - point[0]))])
            return -float(self.log_likelihood(mean, sd)[0])

        start = np.clip(np.sqrt(np.var(self.correct / self.count) / (pooled * (1 - pooled))), 0.05, 0.9)
        bounds = [(1e-6, 1 - 1e-6), (0.0, 0.999)]
        found = minimize(loss, [pooled, start], method="Nelder-Mead", bounds=bounds, options={"fatol": 1e-6})
        if found.fun > loss(np.array([pooled, 0.0])) - 1e-4:
            return float(pooled), 0.0
        mean, relative = found.x
        return float(mean), float(relative * math.sqrt(mean * (1 - mean)))

    def likely(self, mean: float, sd: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Standard deviations and means that are likely enough, and how likely each pair is, ``[SPREADS, MEANS]``.

        Every standard deviation counts alike; the mean has Jeffreys' prior. Means are placed at equal
        shares of a beta distribution near their posterior, so a pair weighs its likelihood over the density there.
        """
        sds = np.linspace(*self._reach(mean, sd), SPREADS)[:, None]
        sds = np.where(sds < LEAST_SPREAD, 0.0, sds)
        within = sds**2 / max(mean * (1 - mean), 1e-9)
        weight = 1 / (1 + (self.count - 1) * within)
        right = (weight * self.correct).sum(axis=1, keepdims=True) + 0.5
        wrong = (weight * (self.count - self.correct)).sum(axis=1, keepdims=True) + 0.5
        means = betaincinv(right, wrong, (np.arange(MEANS) + 0.5) / MEANS).clip(1e-9, 1 - 1e-9)
        sds = np.broadcast_to(sds, means.shape)
        density = xlogy(right - 0.5, means) + xlog1py(wrong - 0.5, -means) - betaln(right, wrong)
        log = self.log_likelihood(means.ravel(), sds.ravel()).reshape(means.shape) - density
        return sds, means, np.exp(log - log.max())

    def _reach(self, mean: float, sd: float) -> tuple[float, float]:
        """From where to where standard deviations are not negligible."""
        least = 0.5 / (self.right_total + self.wrong_total + 1)  # Where all or none are right, not quite that.
        mean = min(max(mean, least), 1 - least)
        widest = 0.999 * math.sqrt(mean * (1 - mean))
        best = float(self.log_likelihood(np.array([mean]), np.array([sd]))[0])

        def above(value: float) -> float:
            found = float(self.log_likelihood(np.array([mean]), np.array([value]))[0])
            return max(found, best - 1e6) - best + NEGLIGIBLE

        low = 0.0 if above(0.0) >= 0 else float(brentq(above, LEAST_SPREAD, sd))
        high = widest if above(widest) >= 0 else float(brentq(above, max(sd, LEAST_SPREAD), widest))
        return low, high
