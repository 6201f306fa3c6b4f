"""The distribution of true group accuracy as a mixture of beta distributions, drawn from its posterior.

A group of ``n`` samples is right in ``Binomial(n, p)`` of them. Its true accuracy ``p`` is one draw from a mixture of
``COMPONENTS`` beta distributions ``Beta(mu k, (1 - mu) k)``, each with its own weight, mean ``mu`` and precision ``k``.
``k`` may be infinite: all groups of that component are alike. So the mixture can be one point, one beta, a few broken
groups among good ones, or several clusters. How many components the data needs is not fixed: the prior of the weights
(a Dirichlet distribution with a small parameter, as in a truncated Dirichlet process) empties those that it does not
need. Drawn by blocked Gibbs sampling (Ishwaran and James, 2001).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, expit, logsumexp, xlog1py, xlogy

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
FINEST = 0.1
PAIRS = 1500
"""From this many distinct groups on, similar ones are taken together."""


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
        # Accuracy is transformed so that its standard error, 1 / sqrt(count), is the same everywhere.
        angle = 2 * np.arcsin(np.sqrt(correct / count))
        key, step = np.stack([correct, count], -1), FINEST
        while True:
            _, place, times = np.unique(key, axis=0, return_inverse=True, return_counts=True)
            if len(times) <= limit:
                break
            # A share of the standard error is no difference, nor is one of accuracy that nobody would look at.
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
        sd: standard deviation over the groups at hand, float64 ``[s]``; 0 where one point has them all.
    """

    weight: np.ndarray
    mean: np.ndarray
    precision: np.ndarray
    sd: np.ndarray

    def some(self, which: np.ndarray | slice) -> Mixtures:
        """Those at some places."""
        return Mixtures(self.weight[which], self.mean[which], self.precision[which], self.sd[which])

    def joined(self, other: Mixtures) -> Mixtures:
        """These and others of as many components."""
        return Mixtures(
            np.concatenate([self.weight, other.weight]),
            np.concatenate([self.mean, other.mean]),
            np.concatenate([self.precision, other.precision]),
            np.concatenate([self.sd, other.sd]),
        )

    def responsibility(self, tally: Tally) -> np.ndarray:
        """How likely groups of these counts belong to each component, float64 ``[s, d, t]``, sums to 1 over ``t``."""
        mean, precision = self.mean[:, None], self.precision[:, None]
        height = log_likelihood(tally.correct[:, None], tally.count[:, None], mean, precision)
        return _shares(height, self.weight[:, None])


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
    model averaging by WAIC; Yao et al., 2018).

    Args:
        tally: the groups, at least one.
        rng: where chance comes from.

    Returns:
        ``DRAWS`` mixtures, and whether the data is no more spread than by chance: several components would predict no
        better than one, and this is more likely a point than spread.
    """
    sampler = _Sampler(tally, rng)
    one, several = sampler.single(), sampler.several()
    lead = _predicts(one, tally) - _predicts(several, tally)
    number = round(DRAWS * float(expit(lead)))
    alike = lead > 0 and float(np.isinf(one.precision).mean()) > 0.5
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
        mean, precision, _ = self._place(np.repeat(self.tally.times[:, None], DRAWS, axis=1))
        shape = (DRAWS, COMPONENTS)
        weight = np.broadcast_to(np.where(np.arange(COMPONENTS) == 0, 1.0, LEAST), shape)
        mean, precision = (np.broadcast_to(of[:, None], shape) for of in (mean, precision))
        return Mixtures(weight, mean, precision, _sd(weight == 1, mean, precision))

    def several(self) -> Mixtures:
        """``DRAWS`` mixtures of all components."""
        kept = []
        weight = np.full(COMPONENTS, 1 / COMPONENTS)
        height = self._height(
            np.quantile(self.observed, np.linspace(0, 1, COMPONENTS)).clip(0.01, 0.99),
            np.full(COMPONENTS, self.precisions[SPREADS // 2]),
        )
        for sweep in range(BURN_IN + DRAWS * THIN):
            members = self.rng.multinomial(self.tally.times, _shares(height, weight))
            part = self.rng.standard_gamma(WEIGHT_PRIOR + members.sum(axis=0))
            weight = np.maximum(part / part.sum(), LEAST)
            mean, precision, height = self._place(members)
            if sweep >= BURN_IN and (sweep - BURN_IN) % THIN == 0:
                share = members.sum(axis=0) / self.tally.times.sum()
                kept.append((weight, mean, precision, _sd(share, mean, precision)))
        return Mixtures(*map(np.array, zip(*kept, strict=True)))

    def _height(self, mean: np.ndarray, precision: np.ndarray) -> np.ndarray:
        """Log-likelihood of the groups under each component, ``[d, t]``."""
        return log_likelihood(self.tally.correct[:, None], self.tally.count[:, None], mean, precision)

    def _place(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw mean and precision of each component given its members ``[d, t]``, both at once.

        Returns:
            Mean and precision, ``[t]`` each, and log-likelihood of the groups under each, ``[d, t]``.
        """
        right, seen = members.T @ self.tally.correct, members.T @ self.tally.count
        # A point's mean has a uniform prior, over which its likelihood is integrated.
        point = np.log(POINT_PRIOR) + betaln(right + 1, seen - right + 1)
        total = np.concatenate([members.T @ self.height + self.prior, point[:, None]], axis=1)
        cumulative = np.cumsum(np.exp(total - total.max(axis=1, keepdims=True)), axis=1)
        chosen = (cumulative < self.rng.random((len(right), 1)) * cumulative[:, -1:]).sum(axis=1)
        exact = self.rng.beta(right + 1, seen - right + 1).clip(1e-12, 1 - 1e-12)
        is_point = chosen == len(self.means)
        of_grid = np.where(is_point, 0, chosen)
        mean = np.where(is_point, exact, self.means[of_grid])
        precision = np.where(is_point, np.inf, self.precisions[of_grid])
        height = self.height[:, of_grid]
        height[:, is_point] = self._height(exact[is_point], precision[is_point])
        return mean, precision, height


def _sd(share: np.ndarray, mean: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Standard deviation of mixtures, all ``[..., t]`` to ``[...]``; 0 where one point has all."""
    away = mean - (share * mean).sum(axis=-1, keepdims=True)
    found = np.sqrt((share * (mean * (1 - mean) / (precision + 1) + away**2)).sum(axis=-1))
    return np.where((share * np.isinf(precision)).max(axis=-1) == 1, 0.0, found)


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
