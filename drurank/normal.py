"""True values of groups whose observed ones scatter about them: the normal model of random effects.

What is observed of a group is its true value and an error of known variance; true values are normal around their mean.
Their standard deviation has a flat prior, up to twice the range of what is observed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PRIOR = 8
"""Degrees of freedom that the variance of all groups' rows stands for beside a group's own."""
GRID = 80
"""Standard deviations that are tried."""
TINY = 1e-12


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
    # Of n rows the bootstrap has (n - 1) / n of the variance; of one row none.
    total = np.where(freedom > 0, own * size**2, 0)
    if not freedom.any():
        return np.full(len(size), np.nan)
    pooled = total.sum() / freedom.sum()
    found: np.ndarray = (PRIOR * pooled + total) / (PRIOR + freedom) / size
    return found


@dataclass(frozen=True, eq=False)
class NormalGroups:
    """The true values of groups, as estimated.

    Attributes:
        value: observed, float64 ``[m]``.
        variance: of its error, float64 ``[m]``.
        sd: standard deviations of the true values that are tried, float64 ``[s]``.
        weight: posterior probability of each, float64 ``[s]``.
        mean: of the true values, for each, float64 ``[s]``.
        of_mean: its variance, float64 ``[s]``.
    """

    value: np.ndarray
    variance: np.ndarray
    sd: np.ndarray
    weight: np.ndarray
    mean: np.ndarray
    of_mean: np.ndarray

    @classmethod
    def fit(cls, value: np.ndarray, variance: np.ndarray) -> NormalGroups:
        """Estimate how much true values differ.

        Args:
            value: observed, float64 ``[m]``.
            variance: of its error, float64 ``[m]``.
        """
        variance = np.maximum(variance, TINY)
        top = 2 * max(float(np.ptp(value)), float(np.sqrt(variance.min())))
        # Closer near 0, where it matters most; each weighs as much as it is far from the next.
        sd = top * np.linspace(0, 1, GRID) ** 2
        rows = []
        for tried in sd:
            precision = 1 / (variance + tried**2)
            total = precision.sum()
            mean = (precision * value).sum() / total
            log = (np.log(precision).sum() - (precision * (value - mean) ** 2).sum() - np.log(total)) / 2
            rows.append((log, mean, 1 / total))
        log, means, of_mean = np.array(rows).T
        weight = np.exp(log - log.max()) * np.gradient(sd)
        return cls(value, variance, sd, weight / weight.sum(), means, of_mean)

    def draw(self, draws: int, rng: np.random.Generator) -> np.ndarray:
        """True values that are possible, float64 ``[draws, m]``.

        Args:
            draws: how many times.
            rng: where chance comes from.
        """
        m = len(self.value)
        if m == 1:  # nothing is known of how groups differ
            alone: np.ndarray = self.value + np.sqrt(self.variance) * rng.standard_normal((draws, 1))
            return alone
        at = rng.choice(len(self.sd), draws, p=self.weight)
        mean = self.mean[at] + np.sqrt(self.of_mean[at]) * rng.standard_normal(draws)
        own = self.sd[at, None] ** 2 / (self.sd[at, None] ** 2 + self.variance)
        scatter = np.sqrt(own * self.variance) * rng.standard_normal((draws, m))
        found: np.ndarray = mean[:, None] + own * (self.value - mean[:, None]) + scatter
        return found

    def posterior_mean(self) -> np.ndarray:
        """Mean of each group's true value, float64 ``[m]``."""
        if len(self.value) == 1:
            return self.value
        found = np.zeros(len(self.value))
        for weight, sd, mean in zip(self.weight, self.sd, self.mean, strict=True):
            found += weight * (mean + sd**2 / (sd**2 + self.variance) * (self.value - mean))
        return found
