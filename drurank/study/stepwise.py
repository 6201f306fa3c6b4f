"""Differences between methods, and which of them are too large for chance, however many methods there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np

LEVEL = 0.05
TIE = 1e-12
ByLot = Callable[[], np.ndarray]
"""Gives the range of methods that are exchanged at random, float ``[draws]``."""


@dataclass(frozen=True)
class Difference:
    """Difference of a criterion between one method and another, and what chance does to it.

    Attributes:
        value: the one less the other, mean over runs.
        error: standard error of the value.
        degrees: degrees of freedom of the error.
        is_distinguishable: whether equals would seem so different in less than 5 % of cases.
        methods: among how many methods the difference was tested.
        earlier: the largest ``p`` of those that were found distinguishable before; ``p`` is not below it.
        most: the largest difference that is possible.
        by_lot: range of these methods where they are exchanged at random, which a difference must exceed too.
    """

    value: float
    error: float
    degrees: float
    is_distinguishable: bool
    methods: int = 2
    earlier: float = 0.0
    most: float = np.inf
    by_lot: ByLot | None = field(default=None, repr=False, compare=False)

    @cached_property
    def p(self) -> float:
        """How often equals would seem so different, corrected for the number of methods.

        It is below 5 % if and only if the difference is distinguishable.
        """
        return min(max(self.earlier, self.p_of_error, self.p_by_lot), 1.0)

    @cached_property
    def p_of_error(self) -> float:
        """The part of ``p`` that is by the error of the difference alone."""
        ratio, degrees = _ratio(np.array([self.value]), np.array([self.error])), np.array([self.degrees])
        return float(_p_of_range(ratio, self.methods, degrees)[0])

    @cached_property
    def p_by_lot(self) -> float:
        """The part by exchange: the share of exchanges that set methods as far apart; 0 where none are made."""
        return 0.0 if self.by_lot is None else float(_shares_above(self.by_lot(), np.abs(self.value)))

    @cached_property
    def interval(self) -> tuple[float, float]:
        """95 % interval, which holds for all methods at once; 0 is in it unless the difference is distinguishable.

        Where the difference is many times what chance makes, it is wider than it need be, but never beyond what is
        possible.
        """
        half = _width_of_range(self.methods, self.degrees) * self.error
        if self.by_lot is not None:
            half = max(half, _largest_by_chance(self.by_lot()))
        return max(self.value - half, -self.most), min(self.value + half, self.most)


def stepwise(
    value: np.ndarray,
    error: np.ndarray,
    degrees: np.ndarray,
    one: int,
    by_lot: Callable[[np.ndarray], np.ndarray] | None = None,
    most: float = np.inf,
) -> list[Difference]:
    """Test the differences of one of ``K`` methods from each.

    Each is compared with the range of ``K`` normals (Tukey's studentized range), since any two of equal methods may be
    the farthest apart. Methods that differ significantly are removed, and the rest are tested again against the smaller
    number, and so on.

    Args:
        value: the one less each, float ``[K]``.
        error: standard error of each, float ``[K]``.
        degrees: degrees of freedom of each, float ``[K]``.
        one: place of the method.
        by_lot: gives, for the places of some methods, their range when exchanged at random, ``[draws]``.
        most: the largest difference that is possible.

    Returns:
        One a method, in their order; that of the method itself is 0 and not distinguishable.
    """
    left, earlier = np.arange(len(value)), 0.0
    found = [Difference(0.0, 0.0, 1.0, is_distinguishable=False)] * len(value)
    while len(left) > 1:
        some = left
        lot = None if by_lot is None else cache(lambda some=some: by_lot(some))
        others = left[left != one]
        told = _told(value[others], error[others], degrees[others], len(left), lot)
        for place, is_told in zip(others.tolist(), told.tolist(), strict=True):
            figures = float(value[place]), float(error[place]), float(degrees[place])
            found[place] = Difference(*figures, is_told, len(left), earlier, most, lot)
        if not told.any() or told.all():
            break
        earlier = max(found[place].p for place in others[told])
        left = np.setdiff1d(left, others[told])
    return found


def _told(value: np.ndarray, error: np.ndarray, degrees: np.ndarray, methods: int, by_lot: ByLot | None) -> np.ndarray:
    """Which differences are too large for equals, bool ``[...]``."""
    from scipy.stats import t

    ratio = _ratio(value, error)
    # The range is slow to compute, and within it lies what two alone would not tell.
    told: np.ndarray = np.asarray(2 * t.sf(ratio, degrees) < LEVEL)
    if told.any() and methods > 2:
        told[told] = _p_of_range(ratio[told], methods, degrees[told]) < LEVEL
    if told.any() and by_lot is not None:
        told[told] = _shares_above(by_lot(), np.abs(value[told])) < LEVEL
    return told


def _ratio(value: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Distance in errors, float ``[...]``."""
    far = np.where(np.abs(value) > TIE, np.inf, 0.0)
    ratio: np.ndarray = np.divide(np.abs(value), error, out=far, where=error > 0)
    return ratio


def _p_of_range(ratio: np.ndarray, methods: int, degrees: np.ndarray) -> np.ndarray:
    """How often any two of equal methods are as many errors apart, float ``[...]``."""
    from scipy.stats import studentized_range, t

    if methods == 2:
        return np.asarray(2 * t.sf(ratio, degrees))
    return np.asarray(studentized_range.sf(ratio * np.sqrt(2), methods, degrees))


@cache
def _width_of_range(methods: int, degrees: float) -> float:
    """Errors that any two of equal methods are apart at most in 95 % of cases."""
    from scipy.stats import studentized_range, t

    if methods == 2:
        return float(t.isf(LEVEL / 2, degrees))
    return float(studentized_range.isf(LEVEL, methods, degrees) / np.sqrt(2))


def _shares_above(drawn: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """Share of draws that are at least as far apart, the observation among them, float ``[...]``."""
    below = np.sort(drawn).searchsorted(apart - TIE)
    shares: np.ndarray = (1 + len(drawn) - below) / (1 + len(drawn))
    return shares


def _largest_by_chance(drawn: np.ndarray) -> float:
    """The largest distance that is not rarer than the level among draws."""
    rare = int(np.ceil(LEVEL * (1 + len(drawn)))) - 1  # as many draws above it may be
    return float(np.sort(drawn)[max(len(drawn) - rare, 0)]) if rare else float("inf")
