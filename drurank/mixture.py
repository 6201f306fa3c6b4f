"""The distribution of true group accuracy as a mixture of beta distributions.

A group of ``n`` samples is right in ``Binomial(n, p)`` of them. Its true accuracy ``p`` is one draw from a mixture of
``COMPONENTS`` beta distributions ``Beta(mu k, (1 - mu) k)``, each with its own weight, mean ``mu`` and precision ``k``.
``k`` may be infinite: all groups of that component are alike. So the mixture can be one point, one beta, a few broken
groups among good ones, or several clusters. Small and large groups may have mixtures of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, xlog1py, xlogy

from drurank.binomial import LARGE, relative_likelihood

COMPONENTS = 6
PAIRS, FINEST = 1500, 0.1
"""The most distinct groups that are told apart, and how near to each other others are that are pooled at first."""


@dataclass(frozen=True, eq=False)
class Tally:
    """Groups by how many of their samples are right, those that are alike counted together.

    Attributes:
        correct: samples classified correctly, float64 ``[d]``.
        count: samples, float64 ``[d]``.
        times: how many groups have these counts, int64 ``[d]``.
        place: which of them each group has, int64 ``[m]``.
    """

    correct: np.ndarray
    count: np.ndarray
    times: np.ndarray
    place: np.ndarray

    @classmethod
    def of(cls, correct: np.ndarray, count: np.ndarray, limit: int = PAIRS) -> Tally:
        """Count groups of equal counts together; above ``limit`` of them, groups of nearly equal ones.

        Args:
            correct: samples classified correctly by group, integer ``[m]``.
            count: samples by group, integer ``[m]``, 1 or more.
            limit: how many different ones to keep at most.
        """
        # The standard error of the angle is 1 / sqrt(count), whatever the accuracy.
        angle = 2 * np.arcsin(np.sqrt(correct / count))
        key, step = np.stack([correct, count], -1), FINEST
        while True:
            _, place, times = np.unique(key, axis=0, return_inverse=True, return_counts=True)
            if len(times) <= limit:
                break
            # Pooled are sizes within a factor, and angles within a fraction of the standard error, or of 0.05.
            level = np.floor(np.log(count) / step)
            key = np.stack([np.floor(angle * np.minimum(np.exp(level * step / 2), 20) / step), level], -1)
            step *= 1.5
        place = place.ravel()
        return cls(np.bincount(place, correct) / times, np.bincount(place, count) / times, times, place)


@dataclass(frozen=True, eq=False)
class Mixtures:
    """Mixtures of beta distributions that the data allows, each as likely as another.

    Attributes:
        weight: of each component, float64 ``[s, b, t]`` for ``b`` ranges of group sizes, sums to 1 over ``t``.
        mean: ``mu``, float64 ``[s, b, t]``.
        precision: ``k``, float64 ``[s, b, t]``, infinite for a point.
        edges: the least size of each range but the first, float64 ``[b - 1]``, in ascending order.
    """

    weight: np.ndarray
    mean: np.ndarray
    precision: np.ndarray
    edges: np.ndarray

    def __len__(self) -> int:
        return len(self.weight)

    def some(self, which: np.ndarray | slice) -> Mixtures:
        """Those at some places."""
        return Mixtures(self.weight[which], self.mean[which], self.precision[which], self.edges)

    def joined(self, other: Mixtures) -> Mixtures:
        """These, which do not look at sizes, and others that may."""
        shape = (len(self), *other.weight.shape[1:])
        return Mixtures(
            np.concatenate([np.broadcast_to(self.weight, shape), other.weight]),
            np.concatenate([np.broadcast_to(self.mean, shape), other.mean]),
            np.concatenate([np.broadcast_to(self.precision, shape), other.precision]),
            other.edges,
        )

    def height(self, tally: Tally) -> np.ndarray:
        """Log-likelihood of groups under each component, times its weight, float64 ``[s, d, t]``."""
        size = range_of_size(self.edges, tally.count)
        of_one = log_likelihood(
            tally.correct[:, None], tally.count[:, None], self.mean[:, size], self.precision[:, size]
        )
        found: np.ndarray = of_one + np.log(self.weight[:, size])
        return found

    def draw(self, correct: np.ndarray, count: np.ndarray, tally: Tally, rng: np.random.Generator) -> np.ndarray:
        """True accuracies that groups may have, given their samples; one draw for each mixture.

        Args:
            correct: samples classified correctly by group, integer ``[m]``.
            count: samples by group, integer ``[m]``.
            tally: of these groups.
            rng: where chance comes from.

        Returns:
            Float64 ``[s, m]``.
        """
        upto = np.cumsum(shares(self.height(tally)), axis=-1)
        place = rng.random((len(upto), len(count)))
        component = np.zeros(place.shape, np.int64)
        for t in range(COMPONENTS - 1):
            component += upto[:, tally.place, t] < place
        size, which = range_of_size(self.edges, tally.count)[tally.place], np.arange(len(self))[:, None]
        mean, k = self.mean[which, size, component], self.precision[which, size, component]
        point = np.isinf(k)
        k[point] = 1.0
        right = rng.standard_gamma(correct + mean * k)
        wrong = rng.standard_gamma(count - correct + (1 - mean) * k)
        found: np.ndarray = np.where(point, mean, right / (right + wrong))
        return found

    def posterior_mean(self, correct: np.ndarray, count: np.ndarray) -> np.ndarray:
        """Mean of each group's true accuracy given its samples, over all mixtures.

        Args:
            correct: samples classified correctly by group, integer ``[m]``.
            count: samples by group, integer ``[m]``, 1 or more.

        Returns:
            Float64 ``[m]``.
        """
        tally = Tally.of(correct, count)
        exact = bool((tally.correct[tally.place] == correct).all() and (tally.count[tally.place] == count).all())
        # Pooled groups share how likely each component is, and keep their own counts.
        place = np.arange(len(tally.times)) if exact else tally.place
        right, seen = (tally.correct, tally.count) if exact else (correct, count)
        total = np.zeros(len(right))
        size = range_of_size(self.edges, tally.count)[place]
        for share, mean, k in zip(shares(self.height(tally)), self.mean, self.precision, strict=True):
            for t in range(COMPONENTS):
                m, precision = mean[size, t], k[size, t]
                kept = np.where(np.isinf(precision), 0.0, precision)
                total += share[place, t] * np.where(np.isinf(precision), m, (m * kept + right) / (kept + seen))
        found: np.ndarray = (total[tally.place] if exact else total) / len(self)
        return found


def range_of_size(edges: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Which range of sizes groups are in: int64 ``[d]`` of sizes ``[d]``, and the least size of each but the first."""
    return np.searchsorted(edges, count, side="right")


def log_likelihood(correct: np.ndarray, count: np.ndarray, mean: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Log-likelihood of groups under beta-binomial distributions, up to the binomial coefficient.

    Where one of the groups is large, all are relative to the likelihood at the accuracies that they have.

    Args:
        correct: samples classified correctly.
        count: samples.
        mean: ``mu``, in (0, 1).
        precision: ``k``, infinite for a binomial distribution.

    Returns:
        Float64 of the common shape.
    """
    if np.max(count) > LARGE:
        return relative_likelihood(correct, count, mean, precision)
    finite = np.isfinite(precision)
    if finite.all():
        return _of_betas(correct, count, mean * precision, precision)
    # As xlogy of all of them, with a logarithm for each mean alone.
    found: np.ndarray = correct * xlogy(1.0, mean) + (count - correct) * xlog1py(1.0, -mean)
    if finite.any():
        correct, count, mean, precision = np.broadcast_arrays(correct, count, mean, precision)
        wide = np.isfinite(precision)
        k = precision[wide]
        found[wide] = _of_betas(correct[wide], count[wide], mean[wide] * k, k)
    return found


def _of_betas(right: np.ndarray, seen: np.ndarray, a: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Log-likelihood of groups under ``Beta(a, k - a)``."""
    found: np.ndarray = betaln(a + right, k - a + seen - right) - betaln(a, k - a)
    return found


def shares(height: np.ndarray) -> np.ndarray:
    """What logarithms ``[..., t]`` are shares of: exponentials that sum to 1 over ``t``."""
    share = np.exp(height - height.max(axis=-1, keepdims=True))
    found: np.ndarray = share / share.sum(axis=-1, keepdims=True)
    return found
