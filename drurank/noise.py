"""What chance does to a criterion: what its true value may be, and what chance alone would give.

The worst of a thousand small groups is low by chance alone. The *interval* says where the criterion of the groups' true
accuracies may lie; the *noise floor* is what it would be if every group had the accuracy of all samples together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from drurank.binomial import ends, quantile
from drurank.checks import check_accuracy, check_sizes, counts_of_groups
from drurank.criteria import names_of
from drurank.errors import InputError, check_count
from drurank.noise_draws import CHUNK, draw_criteria, equal_accuracies, portions, true_accuracies
from drurank.spread import Spread, fit_spread

DRAWS, INTERVAL_DRAWS = 1000, 400
PERCENT = (5.0, 95.0)


@dataclass(frozen=True)
class Noise:
    """What chance does to one criterion.

    Attributes:
        estimate: its value for the true accuracies of these groups; the median of its posterior.
        low: 5th percentile of its posterior.
        high: 95th percentile of its posterior.
        floor: its median if every group had the accuracy of all samples together.
        floor_low: 5th percentile of it then.
        floor_high: 95th percentile of it then.
    """

    estimate: float
    low: float
    high: float
    floor: float
    floor_low: float
    floor_high: float


def criteria_noise(
    correct: np.ndarray,
    count: np.ndarray,
    names: str | Sequence[str] | None = None,
    *,
    spread: Spread | None = None,
    accuracy: float | None = None,
    weight: np.ndarray | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> dict[str, Noise]:
    """Interval and noise floor of several criteria.

    Args:
        correct: samples classified correctly by group, integer ``[m]``, of numpy or torch.
        count: samples by group, integer ``[m]``; groups without samples are left out.
        names: criteria by name; those that every run logs, if not given.
        spread: that of true group accuracy; fitted, if not given.
        accuracy: that of every group, for the floor; that of all samples of these groups, if not given.
        weight: sum of the weights of each group, float ``[m]``, where samples have any. Counts are then effective
            numbers, which need not be whole; for the floor the nearest whole ones are taken.
        draws: how many times groups are drawn for the floor; for the interval, at most 400 of them.
        seed: of the draws.

    Returns:
        Criterion to what chance does to it.

    Raises:
        InputError: if these cannot be counts of groups, or no group has a sample.
    """
    correct, count = counts_of_groups(correct, count, effective=weight is not None)
    order = np.lexsort((correct, count))[(count == 0).sum() :]  # so that the numbering of groups does not matter
    correct, count, weight = correct[order], count[order], None if weight is None else weight[order]
    if len(count) == 0:
        raise InputError("no group has a sample; give counts of 1 or more")
    check_count("draws", draws)
    names = names_of(names)
    spread = spread or fit_spread(correct, count, effective=weight is not None)
    rng, floor_rng = np.random.default_rng(seed).spawn(2)
    most = min(draws, INTERVAL_DRAWS)
    true = true_criteria(correct, count, spread, names, weight=weight, draws=most, seed=rng)
    served = correct.sum() / count.sum() if accuracy is None else accuracy
    sizes = count if weight is None else whole_numbers(count)
    chance = noise_floor(sizes, served, names, weight=weight, draws=draws, seed=floor_rng)
    found = {}
    for name in names:
        low, estimate, high = summed_up(true[name])
        floor_low, floor, floor_high = summed_up(chance[name])
        found[name] = Noise(estimate, low, high, floor, floor_low, floor_high)
    return found


def whole_numbers(count: np.ndarray) -> np.ndarray:
    """The whole numbers of samples, int64 ``[m]``, that are nearest to effective ones, float64 ``[m]``, 1 or more."""
    found: np.ndarray = np.rint(count).astype(np.int64)
    return found


def summed_up(draws: np.ndarray) -> tuple[float, float, float]:
    """5th percentile, median and 95th percentile of draws, float ``[draws]``."""
    low, middle, high = map(float, np.percentile(draws, (PERCENT[0], 50, PERCENT[1])))
    return low, middle, high


def noise_floor(
    count: np.ndarray,
    accuracy: float,
    names: str | Sequence[str] | None = None,
    *,
    weight: np.ndarray | None = None,
    draws: int = DRAWS,
    seed: int | np.random.Generator = 0,
) -> dict[str, np.ndarray]:
    """Criteria of groups that are all served alike.

    Args:
        count: samples by group, integer ``[m]``, 1 or more.
        accuracy: that of every group.
        names: criteria by name; those that every run logs, if not given.
        weight: sum of the weights of each group, float ``[m]``, where samples have any.
        draws: how many times all groups are drawn.
        seed: of the draws, or where chance comes from.

    Returns:
        Criterion to its values, float64 ``[draws]``.

    Raises:
        InputError: if a group has no sample, or the accuracy is not from 0 to 1.
    """
    count, names = check_sizes(count), names_of(names)
    check_accuracy(accuracy)
    rng = np.random.default_rng(seed)
    return draw_criteria(equal_accuracies(count, accuracy, weight), len(count), names, draws, rng, "Noise floor")


def true_criteria(
    correct: np.ndarray,
    count: np.ndarray,
    spread: Spread,
    names: str | Sequence[str] | None = None,
    *,
    weight: np.ndarray | None = None,
    draws: int = INTERVAL_DRAWS,
    seed: int | np.random.Generator = 0,
) -> dict[str, np.ndarray]:
    """Criteria of the true accuracies that these groups may have.

    Args:
        correct: samples classified correctly by group, integer ``[m]``.
        count: samples by group, integer ``[m]``, 1 or more.
        spread: that of true group accuracy.
        names: criteria by name; those that every run logs, if not given.
        weight: sum of the weights of each group, float ``[m]``, where samples have any; counts are then effective
            numbers, which need not be whole.
        draws: how many times the accuracies of all groups are drawn.
        seed: of the draws, or where chance comes from.

    Returns:
        Criterion to its values, float64 ``[draws]``.

    Raises:
        InputError: if a group has no sample, or the spread is that of no groups.
    """
    correct, count = counts_of_groups(correct, count, may_be_empty=False, effective=weight is not None)
    if spread.mixtures is None:
        raise InputError("spread is that of no groups; give one that was fitted to counts of 1 or more")
    names = names_of(names)
    draw = true_accuracies(correct, count, spread.mixtures, weight)
    return draw_criteria(draw, len(count), names, draws, np.random.default_rng(seed), "Intervals")


def chance_band(
    count: np.ndarray, accuracy: float, *, draws: int = 200, places: int = 400, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the worst, the second worst, ... group would lie if all groups were served alike.

    Args:
        count: samples by group, integer ``[m]``, 1 or more.
        accuracy: that of every group.
        draws: how many times all groups are drawn.
        places: the most of the ``m`` places to compute.
        seed: of the draws.

    Returns:
        The places, int64 ``[p]`` from 0, and 5th and 95th percentile of the accuracy there, float64 ``[p]``.

    Raises:
        InputError: if a group has no sample, or the accuracy is not from 0 to 1.
    """
    count = check_sizes(count)
    check_accuracy(accuracy)
    at = np.unique(np.linspace(0, len(count) - 1, min(places, len(count))).astype(np.int64))
    draw, rng = equal_accuracies(count, accuracy), np.random.default_rng(seed)
    ordered = np.concatenate(
        [np.sort(draw(rng, part).accuracy, axis=-1)[:, at] for part in portions(draws, len(count), CHUNK)]
    )
    low, high = np.percentile(ordered, PERCENT, axis=0)
    return at, low, high


def chance_range(count: np.ndarray, accuracy: float) -> tuple[np.ndarray, np.ndarray]:
    """5th and 95th percentile of the accuracy of groups of these sizes that is the same for all but for chance.

    Args:
        count: samples by group, integer ``[m]``, 1 or more.
        accuracy: that of every group.

    Returns:
        Both, float64 ``[m]`` each.

    Raises:
        InputError: if a group has no sample, or the accuracy is not from 0 to 1.
    """
    count = check_sizes(count)
    check_accuracy(accuracy)
    if accuracy in (0, 1):
        return np.full(len(count), float(accuracy)), np.full(len(count), float(accuracy))
    low, high = (quantile(percent / 100, count, accuracy) / count for percent in PERCENT)
    return low, high


def group_interval(
    correct: np.ndarray, count: np.ndarray, at_once: int = 1, *, effective: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Interval of each group's true accuracy by its own samples alone, 5 to 95 %, of Clopper and Pearson.

    The 5th percentile of ``Beta(correct, count - correct + 1)`` and the 95th of ``Beta(correct + 1, count - correct)``;
    the lower one is 0 where none is right and the upper one 1 where all are. It holds the true accuracy in 90 % of
    cases or more, whatever that is.

    Args:
        correct: samples classified correctly by group, integer ``[m]``.
        count: samples by group, integer ``[m]``, at least 1.
        at_once: widen the intervals so that this many of them hold at once in 90 % of cases or more (Bonferroni).
        effective: whether counts are effective numbers of weighted samples, which need not be whole (Korn and Graubard,
            1998); how often these intervals hold is then not known beforehand.

    Returns:
        Lower and upper ends, float64 ``[m]`` each.

    Raises:
        InputError: if these cannot be counts of groups, or a group has no sample.
    """
    correct, count = counts_of_groups(correct, count, may_be_empty=False, effective=effective)
    return ends(correct, count, PERCENT[0] / 100 / at_once)
