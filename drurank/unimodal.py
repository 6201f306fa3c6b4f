"""True values of groups whose observed ones scatter about them with errors of known variance.

True values are drawn about one mean, by a mixture of a few normal distributions whose standard deviations are unknown
(Stephens' adaptive shrinkage, by Gibbs sampling): all may be alike, differ a little, or a few of them by far. A single
normal distribution would draw the one broken group among many good ones to those.
"""

from __future__ import annotations

import numpy as np

COMPONENTS, ALPHA = 3, 0.5
"""Normal distributions in the mixture, and the parameter of the Dirichlet prior of their weights."""
SDS, ALIKE = 14, 0.2
"""Standard deviations other than 0 that a component may have, and how likely 0 is beforehand."""
BURN_IN = 100
"""Sweeps that are left out."""
TINY = 1e-12


def draw_true(
    value: np.ndarray, variance: np.ndarray, draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """True values that are possible.

    Args:
        value: observed, float64 ``[m]``.
        variance: of their errors, float64 ``[m]``.
        draws: how many times all are drawn.
        rng: where chance comes from.

    Returns:
        The draws, float64 ``[draws, m]``, and the posterior means, float64 ``[m]``.
    """
    m, variance = len(value), np.maximum(variance, TINY)
    if m == 1:  # nothing is known of how groups differ
        return value + np.sqrt(variance) * rng.standard_normal((draws, 1)), value
    sds = _grid(value, variance)
    precision = 1 / (variance[:, None] + sds**2)
    constant = np.log(precision) / 2
    prior = np.log(np.where(sds == 0, ALIKE, (1 - ALIKE) / SDS))
    place, sd = np.zeros(m, dtype=np.int64), np.array([0, SDS // 2, SDS])
    mean = float(np.median(value))
    found, means = np.empty((draws, m)), np.zeros(m)
    for sweep in range(-BURN_IN, draws):
        likely = constant - precision * ((value - mean) ** 2)[:, None] / 2
        number = np.bincount(place, minlength=COMPONENTS)
        weight = np.log(np.maximum(rng.dirichlet(ALPHA + number), TINY))
        place = _chosen(weight + likely[:, sd], rng)
        members = place == np.arange(COMPONENTS)[:, None]
        sd = _chosen(prior + members @ likely, rng)
        own = precision[np.arange(m), sd[place]]
        mean = (own * value).sum() / own.sum() + rng.standard_normal() / np.sqrt(own.sum())
        if sweep >= 0:
            share = 1 - variance * own  # of what a group seems to differ from the mean, that is its own
            of_group = mean + share * (value - mean)
            means += of_group / draws
            found[sweep] = of_group + np.sqrt(share.clip(0) * variance) * rng.standard_normal(m)
    return found, means


def _grid(value: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Standard deviations to try: 0, and from one that cannot be told from it to twice the range of values."""
    least = float(np.sqrt(variance.min()))
    return np.array([0, *np.geomspace(least / 10, 2 * max(float(np.ptp(value)), least), SDS)])


def _chosen(log: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One place of each row, int64 ``[n]``, by logarithms ``[n, k]`` of how likely it is."""
    chosen: np.ndarray = (log + rng.gumbel(size=log.shape)).argmax(axis=1)
    return chosen
