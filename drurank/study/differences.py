"""Whether methods side by side differ by more than chance, corrected for how many there are: functions of counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from drurank.checks import check_counts
from drurank.errors import InputError, check_count
from drurank.figures.selecting import selectable_criterion
from drurank.noise_draws import portions
from drurank.study.stepwise import Difference, stepwise
from drurank.study.values import value_of

DRAWS = 1000
CELLS = 4_000_000
"""Groups of all draws that are held at a time."""


Compare = Callable[[np.ndarray, np.ndarray, str, int], list[Difference]]


def differences_from(
    correct: np.ndarray, count: np.ndarray, name: str, one: int = 0, *, draws: int = DRAWS, seed: int = 0
) -> list[Difference]:
    """Differences of one of ``K`` methods from each, tested on the same groups; it may be the one that came out best.

    Groups are drawn anew, the same for all methods, which gives the variance ``v_g`` of each difference. What seeds do
    is pooled over methods: ``v_s`` is the mean over pairs of methods of the variance of their difference over ``S``
    seeds, over ``S``; of two seeds, what drawing one of them adds to ``v_g``, which is more. The error of a difference
    is ``sqrt(v_s + v_g)``. Its degrees of freedom are Satterthwaite's, with ``(K - 1)(S - 1)`` for ``v_s`` and
    ``m - 1`` for ``v_g``; ``v_s`` is doubled there, because few seeds estimate it poorly.

    Methods are tested step by step, see ``stepwise``. The bootstrap of a minimum over groups is inconsistent, so a
    difference must also exceed the range of the remaining methods when they are exchanged at random in each seed and
    group.

    With one seed ``v_s`` is 0, and chance in training is not seen. It assumes that seeds vary about equally in all
    methods, and that the groups are a sample of many.

    Args:
        correct: correct rows by method, seed and group, int64 ``[K, S, m]``.
        count: rows by group, int64 ``[m]``; groups without rows are left out.
        name: criterion.
        one: place of the method that the others are held against.
        draws: number of random draws.
        seed: of the random draws.

    Returns:
        One a method, in their order; that of the method itself is 0 and not distinguishable.

    Raises:
        InputError: if the shapes do not fit, or these cannot be counts.
    """
    correct, count = _checked(correct, count, one, draws)
    methods, seeds, groups = correct.shape
    rng = np.random.default_rng(seed)
    values, drawn = _values(correct, count, name), _drawn(correct, count, name, rng, draws)
    by_group = _variances(drawn.mean(axis=1))[one]
    by_seed = _by_seed(values, drawn, rng)
    value = values.mean(axis=1)[one] - values.mean(axis=1)
    error = np.sqrt(by_seed + by_group)
    degrees = _degrees(2 * by_seed, (methods - 1) * max(seeds - 1, 1), by_group, max(groups - 1, 1))

    def by_lot(some: np.ndarray) -> np.ndarray:
        return _by_lot(correct[some], count, name, np.random.default_rng([seed, len(some)]), draws)

    return stepwise(value, error, degrees, one, by_lot, selectable_criterion(name).largest_difference(count))


def bootstrapped_t(
    correct: np.ndarray, count: np.ndarray, name: str, one: int = 0, *, draws: int = DRAWS, seed: int = 0
) -> list[Difference]:
    """Differences by a bootstrapped t-test over groups, the paper's as far as it says what it does.

    ``t`` is the difference over its standard deviation when groups are drawn anew, the same for both, with ``m - 1``
    degrees of freedom; seeds are kept as they are. Each pair is tested alone. Chance in training is not in it, nor how
    many methods there are, and a minimum hardly moves when groups are drawn: it finds more differences than there are
    (``benchmarks/RESULTS.md``).

    Args:
        correct: correct rows by method, seed and group, int64 ``[K, S, m]``.
        count: rows by group, int64 ``[m]``.
        name: criterion.
        one: place of the method that the others are held against.
        draws: number of random draws.
        seed: of the random draws.

    Returns:
        One a method, in their order; that of the method itself is 0 and not distinguishable.

    Raises:
        InputError: if the shapes do not fit, or these cannot be counts.
    """
    correct, count = _checked(correct, count, one, draws)
    values = _values(correct, count, name).mean(axis=1)
    drawn = _drawn(correct, count, name, np.random.default_rng(seed), draws).mean(axis=1)
    value, error = values[one] - values, np.sqrt(_variances(drawn)[one])
    degrees = np.full(2, float(max(len(count) - 1, 1)))
    # Two at a time, so that no difference is tested among more.
    pairs = ((np.array([0, value[k]]), np.array([0, error[k]])) for k in range(len(value)))
    most = selectable_criterion(name).largest_difference(count)
    return [stepwise(*pair, degrees, 0, most=most)[1] for pair in pairs]


def _checked(correct: np.ndarray, count: np.ndarray, one: int, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts of the groups that have rows, ``[K, S, m]`` and ``[m]``."""
    check_count("draws", draws, least=2)
    if correct.ndim != 3 or correct.shape[2:] != count.shape:
        raise InputError(
            f"correct has the shape {correct.shape} and count {count.shape}; give [methods, seeds, groups] and [groups]"
        )
    if len(correct) < 2:
        raise InputError("there is one method; give two or more to compare")
    check_counts(correct, count)
    if not 0 <= one < len(correct):
        raise InputError(f"one is {one}; give the place of one of the {len(correct)} methods, from 0")
    known = np.asarray(count) > 0
    if correct.shape[1] == 0 or not known.any():
        raise InputError(f"correct has the shape {tuple(correct.shape)}; give one seed or more, and a group with rows")
    return np.asarray(correct)[:, :, known], np.asarray(count)[known]


def _values(correct: np.ndarray, count: np.ndarray, name: str) -> np.ndarray:
    """The criterion, float ``[...]`` of ``[..., m]``."""
    return value_of(name, correct, count)


def _drawn(correct: np.ndarray, count: np.ndarray, name: str, rng: np.random.Generator, draws: int) -> np.ndarray:
    """The criterion for each draw of groups, float ``[K, S, draws]``."""
    found = []
    for portion in portions(draws, correct.size, CELLS):
        groups = rng.integers(len(count), size=(portion, len(count)))
        found.append(_values(correct[:, :, groups], count[groups], name))
    return np.concatenate(found, axis=-1)


def _variances(drawn: np.ndarray) -> np.ndarray:
    """Variances over draws, float ``[K, draws]``, of all differences, ``[K, K]``."""
    of_both = np.cov(drawn)
    each = of_both.diagonal()
    variances: np.ndarray = np.maximum(each[:, None] + each[None] - 2 * of_both, 0.0)
    return variances


def _by_seed(values: np.ndarray, drawn: np.ndarray, rng: np.random.Generator) -> float:
    """What seeds add to the variance of a difference, mean over all pairs of methods."""
    methods, seeds = values.shape
    if seeds == 1:
        return 0.0
    if seeds == 2:
        some = rng.integers(2, size=drawn.shape[2])
        of_one = np.where(some == 0, drawn[:, 0], drawn[:, 1])
        added = np.maximum(_variances(of_one) - _variances(drawn.mean(axis=1)), 0.0)
    else:
        added = (values[:, None] - values[None]).var(axis=2, ddof=1) / seeds
    return float(added.sum() / (methods * (methods - 1)))


def _degrees(by_seed: float, of_seeds: int, by_group: np.ndarray, of_groups: int) -> np.ndarray:
    """Satterthwaite's degrees of freedom of a sum of two variances, float ``[K]``; 1 where it is 0."""
    parts = by_seed**2 / of_seeds + by_group**2 / of_groups
    return np.divide((by_seed + by_group) ** 2, parts, out=np.ones_like(parts), where=parts > 0)


def _by_lot(correct: np.ndarray, count: np.ndarray, name: str, rng: np.random.Generator, draws: int) -> np.ndarray:
    """Range of methods that are exchanged at random in each seed and group, float ``[draws]``."""
    found = []
    for portion in portions(draws, correct.size, CELLS):
        order = rng.random((portion, *correct.shape)).argsort(axis=1)
        exchanged = np.take_along_axis(correct[None], order, axis=1)
        found.append(np.ptp(_values(exchanged, count, name).mean(axis=2), axis=1))
    return np.concatenate(found)
