"""How much groups truly differ: accuracies of groups as draws from a distribution of no fixed shape.

What is observed of a group is its true accuracy and chance. The distribution of true accuracies is estimated from the
counts of all groups as a mixture (:mod:`drurank.mixture`): groups that are all alike, one beta distribution, a few
broken groups among good ones, clusters. It is known up to a posterior, over which results are averaged.
"""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from array_api_compat import array_namespace, device

from drurank.checks import check_counts, counts_of_groups
from drurank.dcg import Array
from drurank.mixture import Mixtures, Tally
from drurank.mixture_sampling import draw_mixtures

PERCENT = (5, 50, 95)
FEWER = 4
"""Of so many mixtures one is used for a posterior mean."""
CHUNK = 1_000_000
"""Groups drawn at once, over all draws."""
KEPT, LARGEST = 100, 20_000
"""Of so many sets of counts the mixtures are kept, those of the last ones, if they have no more groups than this: the
pictures, tables and reports of a study ask again and again for the same."""


@dataclass(frozen=True, eq=False)
class Spread:
    """The distribution of true group accuracy, as estimated.

    Attributes:
        mean: of the true accuracies of the groups at hand.
        sd: their standard deviation, the median of its posterior (the mean, if that is 0); 0 where no difference was
            found beyond chance, see :func:`drurank.mixture_sampling.draw_mixtures`.
        low: 5th percentile of its posterior.
        high: 95th percentile of its posterior.
        mixtures: distributions that the data allows; ``None`` without groups.
    """

    mean: float
    sd: float
    low: float
    high: float
    mixtures: Mixtures | None = field(repr=False)

    def posterior_mean(self, correct: np.ndarray, count: np.ndarray, *, effective: bool = False) -> np.ndarray:
        """Mean of each group's true accuracy given its samples and the distribution.

        Args:
            correct: samples classified correctly by group, integer ``[m]``.
            count: samples by group, integer ``[m]``.
            effective: whether they are effective numbers of weighted samples, which need not be whole.

        Returns:
            Float64 ``[m]``, ``nan`` where ``count`` is 0.

        Raises:
            InputError: if these cannot be counts of groups.
        """
        correct, count = counts_of_groups(correct, count, effective=effective)
        return np.full(len(count), np.nan) if self.mixtures is None else _means(self.mixtures, correct, count)


def fit_spread(correct: np.ndarray, count: np.ndarray, *, effective: bool = False) -> Spread:
    """Estimate the distribution of true group accuracy.

    Args:
        correct: samples classified correctly by group, integer ``[m]``.
        count: samples by group, integer ``[m]``; groups without samples are left out.
        effective: whether they are effective numbers of weighted samples, which need not be whole.

    Returns:
        The same for the same counts, but for rounding whatever the order of groups.

    Raises:
        InputError: if ``correct`` and ``count`` cannot be counts of the same groups.
    """
    correct, count = counts_of_groups(correct, count, effective=effective)
    known = count > 0
    if not known.any():
        return Spread(math.nan, math.nan, math.nan, math.nan, None)
    correct, count = correct[known], count[known]
    tally, mixtures, alike, rng = _drawn(correct, count)
    sds = _standard_deviations(mixtures, correct, count, tally, rng)
    low, sd, high = map(float, np.percentile(sds, PERCENT))
    if alike:
        return Spread(float(correct.sum() / count.sum()), 0.0, 0.0, high, mixtures)
    mean, sd = float(_means(mixtures, correct, count).mean()), sd or float(sds.mean())
    return Spread(mean, sd, low, max(high, sd), mixtures)


def _drawn(correct: np.ndarray, count: np.ndarray) -> tuple[Tally, Mixtures, bool, np.random.Generator]:
    """Groups and what ``draw_mixtures`` gives for them, and where chance comes from after that."""
    draw = _draw if len(count) <= LARGEST else _draw.__wrapped__
    tally, mixtures, alike, rng = draw(*(np.asarray(counts, np.float64).tobytes() for counts in (correct, count)))
    return tally, mixtures, alike, deepcopy(rng)


@lru_cache(KEPT)
def _draw(correct: bytes, count: bytes) -> tuple[Tally, Mixtures, bool, np.random.Generator]:
    rng, tally = np.random.default_rng(0), Tally.of(np.frombuffer(correct), np.frombuffer(count))
    mixtures, alike = draw_mixtures(tally, rng)
    for array in (mixtures.weight, mixtures.mean, mixtures.precision, mixtures.edges):
        array.flags.writeable = False
    return tally, mixtures, alike, rng


def _means(mixtures: Mixtures, correct: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Posterior means of these groups, ``[m]``, ``nan`` where ``count`` is 0."""
    found, known = np.full(len(count), np.nan), count > 0
    if known.any():
        found[known] = mixtures.some(slice(None, None, FEWER)).posterior_mean(correct[known], count[known])
    return found


def _standard_deviations(
    mixtures: Mixtures, correct: np.ndarray, count: np.ndarray, tally: Tally, rng: np.random.Generator
) -> np.ndarray:
    """Of the true accuracies that these groups may have, one for each mixture, ``[s]``."""
    order = np.lexsort((count, correct))  # so that the numbering of groups does not matter
    ordered = Tally(tally.correct, tally.count, tally.times, tally.place[order])
    size = max(1, CHUNK // len(count))
    parts = (mixtures.some(slice(at, at + size)) for at in range(0, len(mixtures), size))
    return np.concatenate([_deviation(part.draw(correct[order], count[order], ordered, rng)) for part in parts])


def _deviation(values: np.ndarray) -> np.ndarray:
    """Standard deviation by row, 0 where all are equal, of which a rounded mean would make a little more."""
    found: np.ndarray = (values - values[:, :1]).std(axis=1)
    return found


def shrunk_accuracy(correct: Array, count: Array, *, equal_if_alike: bool = False) -> Array:
    """Posterior mean of each group's true accuracy: the fewer its samples, the nearer to what others like it have.

    Args:
        correct: samples classified correctly by group, int64 ``[..., m]``, of numpy or torch.
        count: samples by group, int64 ``[..., m]``.
        equal_if_alike: give all groups the accuracy of all samples where no difference between them was found beyond
            chance, so that none ranks below another.

    Returns:
        Means under the distribution of ``fit_spread``, float64 (float32 on MPS) ``[..., m]``, ``nan`` where ``count``
        is 0. They are computed on the CPU.

    Raises:
        InputError: if these cannot be counts of groups.
    """
    check_counts(correct, count)
    xp = array_namespace(correct, count)
    right, seen = np.broadcast_arrays(*(np.asarray(xp.asarray(a, device="cpu")) for a in (correct, count)))
    m = right.shape[-1]
    flat = (math.prod(right.shape[:-1]), m)  # not -1, which no shape without groups allows
    rows = [_shrunk(c, n, equal_if_alike) for c, n in zip(right.reshape(flat), seen.reshape(flat), strict=True)]
    return xp.asarray(np.array(rows).reshape(right.shape), device=device(count))  # type: ignore[no-any-return]


def _shrunk(correct: np.ndarray, count: np.ndarray, equal_if_alike: bool) -> np.ndarray:
    """What ``fit_spread(correct, count).posterior_mean(correct, count)`` is, without the spread itself."""
    known = count > 0
    if not known.any():
        return np.full(len(count), np.nan)
    _, mixtures, alike, _ = _drawn(correct[known], count[known])
    if alike and equal_if_alike:
        return np.where(known, correct[known].sum() / count[known].sum(), np.nan)
    return _means(mixtures, correct, count)
