"""How much groups truly differ: accuracies of groups as draws from a distribution of no fixed shape.

What is observed of a group is its true accuracy and chance. The distribution of true accuracies is estimated from the
counts of all groups as a mixture (:mod:`drurank.mixture`): groups that are all alike, one beta distribution, a few
broken groups among good ones, clusters. It is known up to a posterior, so everything here is an average over it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from array_api_compat import array_namespace, device

from drurank.dcg import Array
from drurank.mixture import Mixtures, Tally, draw_mixtures

PERCENT = (5, 50, 95)
FEWER = 4
"""Of so many mixtures one is used for a posterior mean."""


@dataclass(frozen=True, eq=False)
class Spread:
    """The distribution of true group accuracy, as estimated.

    Attributes:
        mean: of the groups' true accuracies.
        sd: their standard deviation, the median of what the data allows; 0 where the data is no more spread than by
            chance, see :func:`drurank.mixture.draw_mixtures`.
        low: 5th percentile of the standard deviations that the data allows.
        high: 95th percentile.
        mixtures: distributions that the data allows; ``None`` without groups.
    """

    mean: float
    sd: float
    low: float
    high: float
    mixtures: Mixtures | None = field(repr=False)

    def posterior_mean(self, correct: np.ndarray, count: np.ndarray) -> np.ndarray:
        """Mean of each group's true accuracy given its samples and the distribution.

        Args:
            correct: samples classified correctly by group, integer ``[m]``.
            count: samples by group, integer ``[m]``.

        Returns:
            Float64 ``[m]``, ``nan`` where ``count`` is 0. The same for all groups where ``sd`` is 0.
        """
        found = np.full(len(count), np.nan)
        known = count > 0
        if self.mixtures is None or not known.any():
            return found
        found[known] = self.mean if self.sd == 0 else _posterior_mean(self.mixtures, correct[known], count[known])
        return found


def fit_spread(correct: np.ndarray, count: np.ndarray) -> Spread:
    """Estimate the distribution of true group accuracy.

    Args:
        correct: samples classified correctly by group, integer ``[m]``.
        count: samples by group, integer ``[m]``; groups without samples are left out.

    Returns:
        The same for the same counts, whatever the order of groups.
    """
    known = count > 0
    if not known.any():
        return Spread(math.nan, math.nan, math.nan, math.nan, None)
    tally = Tally.of(correct[known], count[known])
    mixtures, alike = draw_mixtures(tally, np.random.default_rng(0))
    low, sd, high = map(float, np.percentile(mixtures.sd, PERCENT))
    if alike:
        return Spread(float(correct[known].sum() / count[known].sum()), 0.0, 0.0, high, mixtures)
    mean = _posterior_mean(mixtures, tally.correct, tally.count) @ tally.times / tally.times.sum()
    return Spread(float(mean), sd, low, high, mixtures)


def _posterior_mean(mixtures: Mixtures, correct: np.ndarray, count: np.ndarray) -> np.ndarray:
    tally = Tally.of(correct, count)
    exact = bool((tally.correct[tally.place] == correct).all() and (tally.count[tally.place] == count).all())
    right, seen = (tally.correct, tally.count) if exact else (correct, count)
    total, some = np.zeros(len(right)), mixtures.some(slice(None, None, FEWER))
    for share, means, precisions in zip(some.responsibility(tally), some.mean, some.precision, strict=True):
        for part, mean, k in zip(share.T, means, precisions, strict=True):
            total += (part if exact else part[tally.place]) * (
                mean if math.isinf(k) else (mean * k + right) / (k + seen)
            )
    total /= len(some.mean)
    return total[tally.place] if exact else total


def shrunk_accuracy(correct: Array, count: Array) -> Array:
    """Posterior mean of each group's true accuracy: the fewer its samples, the nearer to what others like it have.

    Args:
        correct: samples classified correctly by group, int64 ``[..., m]``, of numpy or torch.
        count: samples by group, int64 ``[..., m]``.

    Returns:
        Means under the distribution of ``fit_spread``, float64 (float32 on MPS) ``[..., m]``, ``nan`` where ``count``
        is 0; all the same where groups differ no more than by chance.
    """
    xp = array_namespace(correct, count)
    shape, m = tuple(count.shape), count.shape[-1]
    right, seen = (np.asarray(xp.asarray(a, device="cpu")).reshape(-1, m) for a in (correct, count))
    rows = [fit_spread(c, n).posterior_mean(c, n) for c, n in zip(right, seen, strict=True)]
    found = np.array(rows).reshape(shape)
    return xp.asarray(found, device=device(count))  # type: ignore[no-any-return]
