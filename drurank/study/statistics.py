"""Whether a difference between methods is more than chance, and how well a criterion chooses: functions of counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from drurank.criteria import compute_criteria
from drurank.errors import InputError, is_count

DRAWS = 1000
LEVEL = 0.05
DIGITS = 10


@dataclass(frozen=True)
class Difference:
    """Difference of a criterion between two methods, and what chance does to it.

    Attributes:
        value: first less second, mean over seeds.
        low: lower end of the 95 % interval.
        high: its upper end.
        p: probability of a difference at least as large between equals, two-sided.
    """

    value: float
    low: float
    high: float
    p: float

    @property
    def is_distinguishable(self) -> bool:
        """Whether equals would differ so in less than 5 % of cases."""
        return self.p < LEVEL


def paired_difference(
    first: tuple[np.ndarray, np.ndarray],
    second: tuple[np.ndarray, np.ndarray],
    name: str,
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> Difference:
    """Difference of a criterion between two methods that were tested on the same groups, by a paired bootstrap.

    Seeds are drawn anew, and groups are, the same for both methods; with the variances of the difference over draws of
    seeds, ``v_s``, and of groups, ``v_g``, its standard error is ``sqrt(v_s + v_g)`` and its degrees of freedom are
    Satterthwaite's, ``(v_s + v_g)^2 / (v_s^2 / (S - 1) + v_g^2 / (m - 1))``. Of ``S`` seeds ``S - 1`` are drawn, so
    that ``v_s`` is unbiased; of two it is what drawing them adds to ``v_g``, which is more, since a single degree of
    freedom is too few for Satterthwaite's; with one it is 0, and chance in training is not seen. Drawing groups anew
    says little of a minimum, so the ``p`` is at least that of exchanging the two by lot in each seed and group.

    Args:
        first: correct rows and rows by seed and group of one method, int64 ``[S, m]`` each.
        second: the same of the other method, of the same seeds and groups.
        name: criterion.
        draws: number of bootstrap draws.
        seed: of the random draws.

    Raises:
        InputError: if the shapes differ.
    """
    _check(first, second, draws)
    seeds, groups = first[0].shape
    rng = np.random.default_rng(seed)
    every_seed, every_group = np.arange(seeds)[None], np.arange(groups)[None]
    differences = partial(_differences, first, second, name)
    value = float(differences(every_seed, every_group)[0])
    some_groups = rng.integers(groups, size=(draws, groups))
    by_group, by_seed = float(differences(every_seed.repeat(draws, 0), some_groups).var(ddof=1)), 0.0
    if seeds > 1:
        some_seeds = rng.integers(seeds, size=(draws, seeds - 1))
        both = some_groups if seeds == 2 else every_group.repeat(draws, 0)
        by_seed = float(differences(some_seeds, both).var(ddof=1))
        by_seed = max(by_seed - by_group, 0.0) if seeds == 2 else by_seed
    permuted = _permuted(first, second, name, rng.random((draws, seeds, groups)) < 0.5)
    by_lot = float((1 + (np.abs(permuted) >= abs(value) - 1e-12).sum()) / (1 + draws))
    parts = by_seed**2 / max(seeds - 1, 1) + by_group**2 / max(groups - 1, 1)
    degrees = (by_seed + by_group) ** 2 / parts if parts > 0 else 1.0
    found = _student(value, float(np.sqrt(by_seed + by_group)), degrees)
    return replace(found, p=max(found.p, by_lot))


def bootstrapped_t(
    first: tuple[np.ndarray, np.ndarray],
    second: tuple[np.ndarray, np.ndarray],
    name: str,
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> Difference:
    """Difference of a criterion by a bootstrapped t-test over groups, the paper's as far as it says what it does.

    ``t`` is the difference over its standard deviation when groups are drawn anew, the same for both, with ``m - 1``
    degrees of freedom; seeds are kept as they are. Chance in training is not in it, and a minimum hardly moves when
    groups are drawn: it finds more differences than there are (``benchmarks/RESULTS.md``).

    Args:
        first: correct rows and rows by seed and group of one method, int64 ``[S, m]`` each.
        second: the same of the other method, of the same seeds and groups.
        name: criterion.
        draws: number of bootstrap draws.
        seed: of the random draws.

    Raises:
        InputError: if the shapes differ.
    """
    _check(first, second, draws)
    seeds, groups = first[0].shape
    every = np.arange(seeds)[None].repeat(draws, 0)
    drawn = np.random.default_rng(seed).integers(groups, size=(draws, groups))
    value = float(_differences(first, second, name, every[:1], np.arange(groups)[None])[0])
    error = float(np.sqrt(_differences(first, second, name, every, drawn).var(ddof=1)))
    return _student(value, error, max(groups - 1, 1))


def _student(value: float, error: float, degrees: float) -> Difference:
    from scipy.stats import t

    if error == 0:
        return Difference(value, value, value, float(value == 0))
    half = float(t.ppf(1 - LEVEL / 2, degrees)) * error
    return Difference(value, value - half, value + half, float(2 * t.sf(abs(value) / error, degrees)))


def _check(first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray], draws: int) -> None:
    if not is_count(draws) or draws < 2:
        raise InputError(f"draws is {draws!r}; give a whole number of 2 or more")
    if first[0].shape != second[0].shape:
        raise InputError(f"one has counts of {first[0].shape}, the other of {second[0].shape}; compare like with like")


def _differences(
    first: tuple[np.ndarray, np.ndarray],
    second: tuple[np.ndarray, np.ndarray],
    name: str,
    of_seeds: np.ndarray,
    of_groups: np.ndarray,
) -> np.ndarray:
    """Mean over seeds of the first less the second, for each draw of seeds and groups; float ``[draws]``."""
    found = []
    for correct, count in (first, second):
        place = (of_seeds[:, :, None], of_groups[:, None, :])
        found.append(np.asarray(compute_criteria(correct[place], count[place], [name])[name]).mean(axis=1))
    difference: np.ndarray = found[0] - found[1]
    return difference


def _permuted(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray], name: str, swap: np.ndarray
) -> np.ndarray:
    """Differences between two that are exchanged where told, bool ``[draws, S, m]``; float ``[draws]``."""
    found = []
    for one, other in ((first, second), (second, first)):
        correct, count = (np.where(swap, b[None], a[None]) for a, b in zip(one, other, strict=True))
        found.append(np.asarray(compute_criteria(correct, count, [name])[name]).mean(axis=1))
    difference: np.ndarray = found[0] - found[1]
    return difference


@dataclass(frozen=True)
class Concordance:
    """How well a criterion on validation orders candidates by what happens to the worst group on test.

    Attributes:
        distance: Euclidean distance of the two vectors of ranks, 0 where they agree.
        cosine: cosine similarity of the two vectors of ranks, 1 where they agree.
        ndcg: normalised discounted cumulative gain of the criterion's order; the gain is ``n`` less the rank on test.
        tau: Kendall's tau-b, from -1 to 1; nan where one of both has ties only.
        ties: share of pairs of candidates that the criterion does not tell apart.
        regret: worst-group accuracy on test that could be had less that of the candidate that the criterion puts first.
    """

    distance: float
    cosine: float
    ndcg: float
    tau: float
    ties: float
    regret: float


def concordance(
    chosen_by: np.ndarray, tested: np.ndarray, *, higher_is_better: bool = True, best: float | None = None
) -> Concordance:
    """Compare two orders of ``n`` candidates.

    Ranks are 1 to n from the best, mean ranks for ties. Of candidates that the criterion does not tell apart the gain,
    and the accuracy for the regret, is their mean: what it would be on average if one of them were taken by lot.

    Args:
        chosen_by: criterion on validation, float ``[n]``.
        tested: worst-group accuracy on test, float ``[n]``.
        higher_is_better: whether a high value of the criterion is good.
        best: accuracy that could be had; the highest of ``tested``, if not given.

    Raises:
        InputError: if there are fewer than two candidates.
    """
    from scipy.stats import kendalltau, rankdata

    if len(chosen_by) < 2 or len(chosen_by) != len(tested):
        raise InputError(f"there are {len(chosen_by)} and {len(tested)} candidates; two or more can be compared")
    # Sums in another order differ in their last digit, which is no difference between candidates.
    chosen_by, tested = np.round(chosen_by, DIGITS), np.round(tested, DIGITS)
    cost = -chosen_by if higher_is_better else chosen_by
    mine, truth = rankdata(cost), rankdata(-tested)
    gain = len(tested) - truth
    discount = 1 / np.log2(np.arange(len(gain)) + 2)
    order = np.argsort(cost, kind="stable")
    _, block = np.unique(cost[order], return_inverse=True)
    mean_gain = (np.bincount(block, weights=gain[order]) / np.bincount(block))[block]
    ideal = float((np.sort(gain)[::-1] * discount).sum())
    first = tested[cost == cost.min()]
    pairs = len(cost) * (len(cost) - 1) / 2
    _, same = np.unique(cost, return_counts=True)
    return Concordance(
        distance=float(np.linalg.norm(mine - truth)),
        cosine=float(mine @ truth / (np.linalg.norm(mine) * np.linalg.norm(truth))),
        ndcg=float((mean_gain * discount).sum()) / ideal if ideal > 0 else 1.0,
        tau=float(kendalltau(-mine, -truth).statistic),
        ties=float((same * (same - 1) / 2).sum() / pairs),
        regret=float((tested.max() if best is None else np.round(best, DIGITS)) - first.mean()),
    )
