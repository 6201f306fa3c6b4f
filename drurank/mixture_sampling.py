"""Drawing mixtures of beta distributions from their posterior, given the counts of groups.

How many components the data needs is not fixed: a Dirichlet prior of the weights with a small parameter empties those
that it does not need (Rousseau and Mengersen, 2011). Mixtures are drawn by blocked Gibbs sampling (as Ishwaran and
James, 2001). Models that the prior of several components would hardly ever choose (one component for all groups,
nothing but points, mixtures by group size) are averaged with it by how well they would predict a further group:
pseudo-Bayesian model averaging by WAIC, over bootstrap weights of the groups ("pseudo-BMA+" of Yao et al., 2018).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import betaln, expit, logsumexp, softmax

from drurank.binomial import LARGE, at_least, at_most, relative_likelihood
from drurank.mixture import COMPONENTS, Mixtures, Tally, log_likelihood, range_of_size, shares

WEIGHT_PRIOR = 0.5
"""Parameter of the Dirichlet prior of the weights, for each component."""
POINT_PRIOR, ALL_ALIKE_PRIOR = 0.5, 0.25
"""Prior probability that a component is one point, so that all its groups are alike: one of several, the only one."""
DRAWS, BURN_IN, THIN = 200, 100, 2
LEAST = 1e-300
"""Instead of a weight or a mean of 0, whose logarithm is infinite."""
HIGHEST = float(np.nextafter(1, 0))
"""Instead of a mean of 1."""
EVENLY, AT_EDGE, BY_DATA, SPREADS = 25, 12, 30, 16
"""Candidates for the mean of a component, evenly placed, near 0 or 1 where groups are there, and at quantiles of the
data; and for its relative spread."""
WIDEST = 0.7
"""The largest relative spread ``sd / sqrt(mu (1 - mu))``; a uniform distribution has 0.58."""
RANGES, GROUPS_IN_RANGE, SIZES_APART = 4, 12, 2.0
"""The most ranges of group sizes, the least groups in each, and how many times larger than small groups (the 10th
percentile of sizes) large ones (the 90th) must be for sizes to matter."""
OUTSIDE = 0.05
"""Groups differ where one of them is as far from all by chance in so few of such data sets."""


def draw_mixtures(tally: Tally, rng: np.random.Generator) -> tuple[Mixtures, bool]:
    """Draw mixtures from their posterior.

    Args:
        tally: the groups, at least one.
        rng: where chance comes from.

    Returns:
        ``DRAWS`` mixtures, and whether no difference between groups was found beyond chance: all groups have the same
        accuracy; or neither several components nor the sizes of groups help to predict, one component is more likely a
        point than not if both are as likely beforehand, and no group is further from the others than the largest of so
        many would be by chance.
    """
    sampler = _Sampler(tally, rng)
    whole, lead = _of_all_sizes(sampler, tally, rng)
    equal = bool(np.ptp(tally.correct / tally.count) == 0)
    alike = lead < 0 and sampler.chance_of_a_point() > 0.5 and not _has_outlier(tally)
    edges = _edges(tally)
    if len(edges):
        whole, by_size = _averaged(whole, _by_size(tally, edges, rng), tally, rng)
        alike = alike and by_size < 0
    return whole, equal or alike


def _of_all_sizes(sampler: _Sampler, tally: Tally, rng: np.random.Generator) -> tuple[Mixtures, float]:
    """Draws whatever the size of groups, and by how much several components predict better than one."""
    smooth, lead = _averaged(sampler.single(), sampler.several(sampler.place), tally, rng)
    # Clusters a few errors apart look like one smooth distribution, whose tail is another.
    return _averaged(smooth, sampler.several(sampler.place_points), tally, rng)[0], lead


def _averaged(simple: Mixtures, rich: Mixtures, tally: Tally, rng: np.random.Generator) -> tuple[Mixtures, float]:
    """As many draws of two models, shared out by how well they predict, and by how much the second leads."""
    ahead = _predicts(rich, tally) - _predicts(simple, tally)
    # How much a lead is worth depends on the groups at hand: other weights of them give other leads.
    weight = rng.standard_gamma(tally.times, size=(DRAWS, len(ahead)))
    leads = tally.times.sum() * (weight @ ahead) / weight.sum(axis=1)
    number, order = round(DRAWS * float(expit(leads).mean())), rng.permutation(DRAWS)
    return simple.some(order[number:]).joined(rich.some(order[:number])), float(tally.times @ ahead)


def _predicts(mixtures: Mixtures, tally: Tally) -> np.ndarray:
    """Expected log density of a further group like each of the tally, by WAIC, ``[d]``."""
    density = logsumexp(mixtures.height(tally), axis=-1)
    found: np.ndarray = logsumexp(density, axis=0) - np.log(len(density)) - density.var(axis=0, ddof=1)
    return found


def _by_size(tally: Tally, edges: np.ndarray, rng: np.random.Generator) -> Mixtures:
    """Mixtures of their own for each range of sizes."""
    size = range_of_size(edges, tally.count)
    parts = []
    for which in range(len(edges) + 1):
        some = Tally(tally.correct[size == which], tally.count[size == which], tally.times[size == which], tally.place)
        sampler = _Sampler(some, rng)
        parts.append(_of_all_sizes(sampler, some, rng)[0].some(rng.permutation(DRAWS)))
    weight, mean, precision = (
        np.concatenate([getattr(part, name) for part in parts], axis=1) for name in ("weight", "mean", "precision")
    )
    return Mixtures(weight, mean, precision, edges)


def _edges(tally: Tally) -> np.ndarray:
    """Sizes that cut groups into ranges of about as many; none where sizes are alike or groups are few."""
    size = np.sort(np.repeat(tally.count, tally.times))
    ranges = min(RANGES, len(size) // GROUPS_IN_RANGE)
    low, high = np.quantile(size, (0.1, 0.9))
    if ranges < 2 or high < SIZES_APART * low:
        return np.zeros(0)
    edges, begin, least = [], 0, GROUPS_IN_RANGE // 2  # many groups of one size may leave few in a range
    for edge in np.unique(size[np.arange(1, ranges) * len(size) // ranges]):
        place = int(np.searchsorted(size, edge))
        if min(place - begin, len(size) - place) >= least:
            edges.append(float(edge))
            begin = place
    return np.array(edges)


def _has_outlier(tally: Tally) -> bool:
    """Whether one group is too far from the accuracy of all, by the binomial test, corrected for their number."""
    groups = tally.times.sum()
    pooled = tally.times @ tally.correct / (tally.times @ tally.count)
    tail = np.minimum(at_most(tally.correct, tally.count, pooled), at_least(tally.correct, tally.count, pooled))
    return bool((2 * tail * groups).min() < OUTSIDE)


Place = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


class _Sampler:
    """Gibbs sampling of mixtures given the groups; means and spreads are drawn from a grid, those of points exactly."""

    def __init__(self, tally: Tally, rng: np.random.Generator) -> None:
        self.tally, self.rng = tally, rng
        near = np.minimum((tally.correct + 0.5) / (tally.count + 1), HIGHEST)
        self.smoothed = np.sort(np.repeat(near, tally.times))
        """Accuracies of all groups in ascending order, none of them 0 or 1."""
        means, space = _candidate_means(self.smoothed)
        relative = _candidate_spreads(tally)
        self.means, self.precisions = np.repeat(means, SPREADS), np.tile(1 / np.square(relative) - 1, len(means))
        self.height = self._height(self.means, self.precisions)
        self.all_groups = tally.times[:, None].astype(np.float64)
        """Members of a component that has all groups, ``[d, 1]``."""
        self.prior = np.log(np.repeat(space, SPREADS) / SPREADS)

    def single(self) -> Mixtures:
        """``DRAWS`` mixtures whose first component has all groups, independent of each other."""
        mean, precision, _ = self.place(self.all_groups, ALL_ALIKE_PRIOR, DRAWS)
        weight = np.where(np.arange(COMPONENTS) == 0, 1.0, LEAST)
        mean, precision = (np.tile(of, (COMPONENTS, 1)).T for of in (mean, precision))
        return _without_sizes(np.tile(weight, (DRAWS, 1)), mean, precision)

    def chance_of_a_point(self) -> float:
        """Posterior probability that one component that has all groups is a point, .5 beforehand."""
        return float(softmax(self._posterior(self.all_groups, *self._sums(self.all_groups), 0.5))[0, -1])

    def several(self, place: Place) -> Mixtures:
        """``DRAWS`` mixtures of all components, each drawn by ``place`` given its members."""
        kept = []
        weight = np.full(COMPONENTS, 1 / COMPONENTS)
        height = self._height(
            np.quantile(self.smoothed, np.linspace(0, 1, COMPONENTS)),
            np.full(COMPONENTS, self.precisions[SPREADS // 2]),
        )
        for sweep in range(BURN_IN + DRAWS * THIN):
            members = self.rng.multinomial(self.tally.times, shares(height + np.log(weight))).astype(np.float64)
            part = self.rng.standard_gamma(WEIGHT_PRIOR + members.sum(axis=0))
            weight = np.maximum(part / part.sum(), LEAST)
            mean, precision, height = place(members)
            if sweep >= BURN_IN and (sweep - BURN_IN) % THIN == 0:
                kept.append((weight, mean, precision))
        return _without_sizes(*map(np.array, zip(*kept, strict=True)))

    def _height(self, mean: np.ndarray, precision: np.ndarray) -> np.ndarray:
        """Log-likelihood of the groups under each component, ``[d, t]``."""
        return log_likelihood(self.tally.correct[:, None], self.tally.count[:, None], mean, precision)

    def _sums(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Samples of each component's members that are right, and all of them, ``[t]`` each."""
        return members.T @ self.tally.correct, members.T @ self.tally.count

    def _posterior(self, members: np.ndarray, right: np.ndarray, seen: np.ndarray, is_point: float) -> np.ndarray:
        """Log-posterior of the ``g`` places of the grid and, last, of a point, for each component, ``[t, g + 1]``."""
        # A point's mean has a uniform prior, over which its likelihood is integrated.
        point = np.log(is_point) + self._of_points(members, right, seen)
        return np.concatenate([members.T @ self.height + self.prior + np.log1p(-is_point), point[:, None]], axis=1)

    def _of_points(self, members: np.ndarray, right: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Log-likelihood of each component's members as one point, over all of its means, ``[t]``."""
        if self.tally.count.max() <= LARGE:
            alone: np.ndarray = betaln(right + 1, seen - right + 1)
            return alone
        # As of one group, relative to its accuracy, and of the members at that accuracy, relative to their own.
        mean = np.clip(right / np.maximum(seen, 1), LEAST, HIGHEST)
        at_mean = (members * self._height(mean, np.full(len(mean), np.inf))).sum(axis=0)
        found: np.ndarray = at_mean + relative_likelihood(right, seen, 0.5, 2.0)
        return found

    def place_points(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As ``place``, each component being a point."""
        right, seen = self._sums(members)
        mean, precision = self._points(right, seen), np.full(len(right), np.inf)
        return mean, precision, self._height(mean, precision)

    def _points(self, right: np.ndarray, seen: np.ndarray) -> np.ndarray:
        return self.rng.beta(right + 1, seen - right + 1).clip(LEAST, HIGHEST)

    def place(
        self, members: np.ndarray, is_point: float = POINT_PRIOR, draws: int = 1
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw mean and precision of each component given its members ``[d, t]``, both at once.

        Args:
            members: how many groups of the same counts each component has, float64 ``[d, t]``.
            is_point: prior probability that a component is one point.
            draws: how many times to draw each.

        Returns:
            Mean and precision, ``[t draws]`` each, and log-likelihood of the groups under each, ``[d, t draws]``.
        """
        right, seen = self._sums(members)
        total = self._posterior(members, right, seen, is_point)
        cumulative = np.cumsum(np.exp(total - total.max(axis=1, keepdims=True)), axis=1)
        place = self.rng.random((len(total), draws)) * cumulative[:, -1:]
        chosen = (cumulative[:, None] < place[..., None]).sum(axis=-1).ravel()
        right, seen = np.repeat(right, draws), np.repeat(seen, draws)
        exact = self._points(right, seen)
        points = chosen == len(self.means)
        of_grid = np.where(points, 0, chosen)
        mean = np.where(points, exact, self.means[of_grid])
        precision = np.where(points, np.inf, self.precisions[of_grid])
        height = self.height[:, of_grid]
        height[:, points] = self._height(exact[points], precision[points])
        return mean, precision, height


def _without_sizes(weight: np.ndarray, mean: np.ndarray, precision: np.ndarray) -> Mixtures:
    return Mixtures(weight[:, None], mean[:, None], precision[:, None], np.zeros(0))


def _candidate_means(near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means to choose from, and the space that each stands for: evenly placed, and denser where groups are ``near``."""
    evenly = (np.arange(EVENLY) + 0.5) / EVENLY
    edge = np.geomspace(1e-6, evenly[0], AT_EDGE, endpoint=False)
    means = [evenly, np.quantile(near, (np.arange(BY_DATA) + 0.5) / BY_DATA)]
    if near[0] < 2 * evenly[0]:
        means.append(edge)
    if near[-1] > 1 - 2 * evenly[0]:
        means.append(1 - edge)
    found = np.unique(np.concatenate(means))
    bounds = np.concatenate([[0], (found[1:] + found[:-1]) / 2, [1]])
    return found, np.maximum(np.diff(bounds), LEAST)


def _candidate_spreads(tally: Tally) -> np.ndarray:
    """Relative spreads to choose from: from one that the data could hardly tell from none to the widest."""
    groups = tally.times.sum()
    typical = tally.times @ tally.count / groups
    return np.geomspace(min(0.25 / np.sqrt(typical * np.sqrt(groups)), 0.1), WIDEST, SPREADS)
