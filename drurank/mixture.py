"""The distribution of true group accuracy as a mixture of beta distributions, drawn from its posterior.

A group of ``n`` samples is right in ``Binomial(n, p)`` of them. Its true accuracy ``p`` is one draw from a mixture of
``COMPONENTS`` beta distributions ``Beta(mu k, (1 - mu) k)``, each with its own weight, mean ``mu`` and precision ``k``.
``k`` may be infinite: all groups of that component are alike. So the mixture can be one point, one beta, a few broken
groups among good ones, or several clusters. How many components the data needs is not fixed: a Dirichlet prior of the
weights with a small parameter empties those that it does not need (Rousseau and Mengersen, 2011). Mixtures are drawn by
blocked Gibbs sampling (as Ishwaran and James, 2001).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, expit, logsumexp, softmax, xlog1py, xlogy

COMPONENTS = 6
WEIGHT_PRIOR = 0.1
"""Parameter of the Dirichlet prior of the weights, for each component."""
POINT_PRIOR = 0.5
"""Prior probability that a component is one point, so that all its groups are alike."""
DRAWS, BURN_IN, THIN = 200, 100, 2
LEAST = 1e-300
"""Instead of a weight of 0, whose logarithm is infinite."""
EVENLY, BY_DATA, SPREADS = 30, 30, 12
"""Candidates for the mean of a component, evenly placed and at quantiles of the data, and for its relative spread."""
WIDEST = 0.7
"""The largest relative spread ``sd / sqrt(mu (1 - mu))``; a uniform distribution has 0.58."""
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
        weight: of each component, float64 ``[s, t]``, sums to 1 over ``t``.
        mean: ``mu``, float64 ``[s, t]``.
        precision: ``k``, float64 ``[s, t]``, infinite for a point.
    """

    weight: np.ndarray
    mean: np.ndarray
    precision: np.ndarray

    def some(self, which: np.ndarray | slice) -> Mixtures:
        """Those at some places."""
        return Mixtures(self.weight[which], self.mean[which], self.precision[which])

    def joined(self, other: Mixtures) -> Mixtures:
        """These and others of as many components."""
        return Mixtures(
            np.concatenate([self.weight, other.weight]),
            np.concatenate([self.mean, other.mean]),
            np.concatenate([self.precision, other.precision]),
        )

    def responsibility(self, tally: Tally) -> np.ndarray:
        """How likely groups of these counts belong to each component, float64 ``[s, d, t]``, sums to 1 over ``t``."""
        mean, precision = self.mean[:, None], self.precision[:, None]
        height = log_likelihood(tally.correct[:, None], tally.count[:, None], mean, precision)
        return _shares(height, self.weight[:, None])

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
        upto = np.cumsum(self.responsibility(tally), axis=-1)
        place = rng.random((len(upto), len(count)))
        component = np.zeros(place.shape, np.int64)
        for t in range(COMPONENTS - 1):
            component += upto[:, tally.place, t] < place
        mean, k = (np.take_along_axis(of, component, axis=1) for of in (self.mean, self.precision))
        point = np.isinf(k)
        k[point] = 1.0
        right = rng.standard_gamma(correct + mean * k)
        wrong = rng.standard_gamma(count - correct + (1 - mean) * k)
        return np.where(point, mean, right / (right + wrong))


def log_likelihood(correct: np.ndarray, count: np.ndarray, mean: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Log-likelihood of groups under beta-binomial distributions, up to the binomial coefficient.

    Args:
        correct: samples classified correctly.
        count: samples.
        mean: ``mu``, in (0, 1).
        precision: ``k``, infinite for a binomial distribution.

    Returns:
        Float64 of the common shape.
    """
    correct, count, mean, precision = np.broadcast_arrays(correct, count, mean, precision)
    found: np.ndarray = xlogy(correct, mean) + xlog1py(count - correct, -mean)
    wide = np.isfinite(precision)
    right, seen, k = correct[wide], count[wide], precision[wide]
    a = mean[wide] * k
    found[wide] = betaln(a + right, k - a + seen - right) - betaln(a, k - a)
    return found


def draw_mixtures(tally: Tally, rng: np.random.Generator) -> tuple[Mixtures, bool]:
    """Draw mixtures from their posterior.

    One component and several are two models, averaged by how well they would predict a further group (pseudo-Bayesian
    model averaging by WAIC, see Yao et al., 2018). Of many groups, the prior of several components would hardly ever
    leave all in one.

    Args:
        tally: the groups, at least one.
        rng: where chance comes from.

    Returns:
        ``DRAWS`` mixtures, and whether the data is no more spread than by chance: all groups have the same accuracy; or
        several components would predict no better than one, and that one is more likely a point than not.
    """
    sampler = _Sampler(tally, rng)
    one, several = sampler.single(), sampler.several()
    lead = _predicts(one, tally) - _predicts(several, tally)
    number = round(DRAWS * float(expit(lead)))
    equal = np.ptp(tally.correct / tally.count) == 0
    alike = bool(equal or (lead > 0 and sampler.chance_of_a_point() > 0.5))
    order = rng.permutation(DRAWS)
    return one.some(order[:number]).joined(several.some(order[number:])), alike


def _predicts(mixtures: Mixtures, tally: Tally) -> float:
    """Expected log density of a further group for each of these, by WAIC."""
    mean, precision = mixtures.mean[:, None], mixtures.precision[:, None]
    height = log_likelihood(tally.correct[:, None], tally.count[:, None], mean, precision)
    density = logsumexp(height, b=mixtures.weight[:, None], axis=-1)
    return float(tally.times @ (logsumexp(density, axis=0) - np.log(len(density)) - density.var(axis=0, ddof=1)))


class _Sampler:
    """Gibbs sampling of mixtures given the groups; means and spreads are drawn from a grid, those of points exactly."""

    def __init__(self, tally: Tally, rng: np.random.Generator) -> None:
        self.tally, self.rng = tally, rng
        observed = np.repeat(tally.correct / tally.count, tally.times)
        means, space = _candidate_means(observed)
        self.observed, relative = observed, _candidate_spreads(tally)
        self.means, self.precisions = np.repeat(means, SPREADS), np.tile(1 / np.square(relative) - 1, len(means))
        self.height = self._height(self.means, self.precisions)
        self.prior = np.log(np.repeat(space, SPREADS) * (1 - POINT_PRIOR) / SPREADS)

    def single(self) -> Mixtures:
        """``DRAWS`` mixtures whose first component has all groups, independent of each other."""
        mean, precision, _ = self._place(np.repeat(self.tally.times[:, None], DRAWS, axis=1).astype(np.float64))
        shape = (DRAWS, COMPONENTS)
        weight = np.broadcast_to(np.where(np.arange(COMPONENTS) == 0, 1.0, LEAST), shape)
        return Mixtures(weight, np.broadcast_to(mean[:, None], shape), np.broadcast_to(precision[:, None], shape))

    def chance_of_a_point(self) -> float:
        """Posterior probability that one component that has all groups is a point."""
        share: np.ndarray = softmax(self._posterior(self.tally.times[:, None].astype(np.float64)), axis=1)
        return float(share[0, -1])

    def several(self) -> Mixtures:
        """``DRAWS`` mixtures of all components."""
        kept = []
        weight = np.full(COMPONENTS, 1 / COMPONENTS)
        height = self._height(
            np.quantile(self.observed, np.linspace(0, 1, COMPONENTS)).clip(0.01, 0.99),
            np.full(COMPONENTS, self.precisions[SPREADS // 2]),
        )
        for sweep in range(BURN_IN + DRAWS * THIN):
            members = self.rng.multinomial(self.tally.times, _shares(height, weight)).astype(np.float64)
            part = self.rng.standard_gamma(WEIGHT_PRIOR + members.sum(axis=0))
            weight = np.maximum(part / part.sum(), LEAST)
            mean, precision, height = self._place(members)
            if sweep >= BURN_IN and (sweep - BURN_IN) % THIN == 0:
                kept.append((weight, mean, precision))
        return Mixtures(*map(np.array, zip(*kept, strict=True)))

    def _height(self, mean: np.ndarray, precision: np.ndarray) -> np.ndarray:
        """Log-likelihood of the groups under each component, ``[d, t]``."""
        return log_likelihood(self.tally.correct[:, None], self.tally.count[:, None], mean, precision)

    def _posterior(self, members: np.ndarray) -> np.ndarray:
        """Log-posterior of the ``g`` places of the grid and, last, of a point, for each component, ``[t, g + 1]``."""
        right, seen = members.T @ self.tally.correct, members.T @ self.tally.count
        # A point's mean has a uniform prior, over which its likelihood is integrated.
        point = np.log(POINT_PRIOR) + betaln(right + 1, seen - right + 1)
        return np.concatenate([members.T @ self.height + self.prior, point[:, None]], axis=1)

    def _place(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw mean and precision of each component given its members ``[d, t]``, both at once.

        Returns:
            Mean and precision, ``[t]`` each, and log-likelihood of the groups under each, ``[d, t]``.
        """
        total = self._posterior(members)
        cumulative = np.cumsum(np.exp(total - total.max(axis=1, keepdims=True)), axis=1)
        chosen = (cumulative < self.rng.random((len(total), 1)) * cumulative[:, -1:]).sum(axis=1)
        right, seen = members.T @ self.tally.correct, members.T @ self.tally.count
        exact = self.rng.beta(right + 1, seen - right + 1).clip(1e-12, 1 - 1e-12)
        is_point = chosen == len(self.means)
        of_grid = np.where(is_point, 0, chosen)
        mean = np.where(is_point, exact, self.means[of_grid])
        precision = np.where(is_point, np.inf, self.precisions[of_grid])
        height = self.height[:, of_grid]
        height[:, is_point] = self._height(exact[is_point], precision[is_point])
        return mean, precision, height


def _shares(height: np.ndarray, weight: np.ndarray) -> np.ndarray:
    height = height + np.log(weight)
    share = np.exp(height - height.max(axis=-1, keepdims=True))
    found: np.ndarray = share / share.sum(axis=-1, keepdims=True)
    return found


def _candidate_means(observed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means to choose from, and the space that each stands for: evenly placed, and denser where groups are."""
    evenly = (np.arange(EVENLY) + 0.5) / EVENLY
    dense = np.quantile(observed, (np.arange(BY_DATA) + 0.5) / BY_DATA)
    means = np.unique(np.concatenate([evenly, dense.clip(evenly[0] / 2, 1 - evenly[0] / 2)]))
    bounds = np.concatenate([[0], (means[1:] + means[:-1]) / 2, [1]])
    return means, np.diff(bounds)


def _candidate_spreads(tally: Tally) -> np.ndarray:
    """Relative spreads to choose from: from one that the data could hardly tell from none to the widest."""
    groups = tally.times.sum()
    typical = tally.times @ tally.count / groups
    return np.geomspace(min(0.25 / np.sqrt(typical * np.sqrt(groups)), 0.1), WIDEST, SPREADS)
