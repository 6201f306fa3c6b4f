"""A figure of groups that is no share of rows, and what chance does to it, by drawing rows again.

Of each group the variance of its figure is known from rows drawn within it (the bootstrap), and from that what the
groups may truly be (:mod:`drurank.unimodal`). Chance alone is what rows give that are dealt to the groups at random.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import numpy as np
from scipy.special import betainccinv, betaincinv, erf, ndtri

from drurank.figures import Measure
from drurank.figures.measures import Arrays
from drurank.noise import PERCENT
from drurank.resampling import across, draws_of, variances, within
from drurank.unimodal import draw_true

PSEUDO = 2
"""Rows with the value of all that a group is given where its value is taken for a share, which 0 and 1 say too much."""
ROWS_AT_ONCE = 100_000
"""Rows over all draws whose figures are computed at once."""
DRAWN, DEALT, PERFECT, TRUE = range(4)
"""Streams of chance."""
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
OFF = np.linspace(0, 10, 1001)
FOLDED = np.sqrt(2 / np.pi) * np.exp(-(OFF**2) / 2) + OFF * erf(OFF / np.sqrt(2))
"""Mean absolute value of a normal variable of standard deviation 1 whose mean is ``OFF``."""


@dataclass(frozen=True, eq=False)
class MeasuredGroups:
    """A figure of groups that all have one.

    Attributes:
        figure: which one.
        arrays: what it needs of each row, ``[n]`` each.
        code: group of each row, int64 ``[n]``.
        groups: how many there are, ``m``.
    """

    figure: Measure
    arrays: Arrays
    code: np.ndarray
    groups: int

    def some(self, kept: np.ndarray) -> MeasuredGroups:
        """Some of the groups.

        Args:
            kept: which, bool ``[m]``.
        """
        rows = kept[self.code]
        arrays, code = tuple(array[rows] for array in self.arrays), (np.cumsum(kept) - 1)[self.code[rows]]
        return replace(self, arrays=arrays, code=code, groups=int(kept.sum()))

    @cached_property
    def count(self) -> np.ndarray:
        """Rows by group, int64 ``[m]``."""
        return np.bincount(self.code, minlength=self.groups)

    @cached_property
    def value(self) -> np.ndarray:
        """The figure by group, float64 ``[m]``."""
        return self.figure.of(self.arrays, self.code, self.groups)

    # ---- chance alone

    @cached_property
    def dealt(self) -> np.ndarray:
        """Values of all groups with the rows dealt to them at random, float64 ``[draws, m]``."""
        chosen = across(self._classes, len(self.code), self._draws, _chance(DEALT))
        return self._values(tuple(array[rows] for array in self.arrays) for rows in chosen)

    @cached_property
    def by_chance(self) -> np.ndarray:
        """What reports compare the values with, float64 ``[draws, m]``."""
        perfect, rng = self.figure.perfect, _chance(PERFECT)
        if perfect is None:
            return self.dealt
        return self._values(perfect(self.arrays, rng) for _ in range(self._draws))

    # ---- what the groups may truly be

    @property
    def is_known(self) -> bool:
        """Whether anything is known of the variance of values, as it is not where each group has a single row."""
        return not np.isnan(self._variance).any()

    def true(self, draws: int, seed: int) -> np.ndarray:
        """True values that are possible, float64 ``[draws, m]``; ``nan`` where nothing is known.

        Args:
            draws: how many times all are drawn.
            seed: of the draws.
        """
        if not self.is_known:
            return np.full((draws, self.groups), np.nan)
        if (draws, seed) == (self._draws, 0):
            return self._shown(self._posterior[0])
        return self._shown(draw_true(*self._modelled, draws, _chance(TRUE, seed))[0])

    @cached_property
    def shrunk(self) -> np.ndarray:
        """Posterior mean of the true value of each group, float64 ``[m]``; ``nan`` where nothing is known."""
        if not self.is_known:
            return np.full(self.groups, np.nan)
        return self._shown(self._posterior[1])

    def interval(self, tail: float) -> tuple[np.ndarray, np.ndarray]:
        """Where the true value of each group lies by its own rows, float64 ``[m]`` each.

        Args:
            tail: how likely it is beyond each of the ends.
        """
        if not self.is_known:
            none = np.full(self.groups, np.nan)
            return none, none
        if self.figure.is_bounded and self.figure.perfect is None:
            return self._share_interval(tail)
        away = -ndtri(tail) * np.sqrt(self._variance)
        return self._shown(self._without_chance(self.value - away)), self._shown(
            self._without_chance(self.value + away)
        )

    def _share_interval(self, tail: float) -> tuple[np.ndarray, np.ndarray]:
        """That of a share of as many rows as would make it as certain: of Clopper and Pearson, as Korn and Graubard."""
        near = (self._size * self.value + PSEUDO * self.value.mean()) / (self._size + PSEUDO)
        rows = near * (1 - near) / np.maximum(self._variance, 1e-12)
        well = rows * self.value
        wrong = rows - well
        low = betaincinv(np.maximum(well, 1e-9), wrong + 1, tail)
        high = betainccinv(well + 1, np.maximum(wrong, 1e-9), tail)
        return np.where(well > 0, low, 0.0), np.where(wrong > 0, high, 1.0)

    @cached_property
    def _posterior(self) -> tuple[np.ndarray, np.ndarray]:
        """Draws of what the model is of, and its posterior means."""
        return draw_true(*self._modelled, self._draws, _chance(TRUE))

    @cached_property
    def _modelled(self) -> tuple[np.ndarray, np.ndarray]:
        """What the model of true values is of, and its variance, float64 ``[m]`` each."""
        if self.figure.perfect is None:
            return self.value, self._variance
        sd = np.sqrt(self._variance)
        # The nearer to what chance gives, the less sure; so near as a value may truly be.
        near = np.maximum(self.value + ndtri(PERCENT[0] / 100) * sd, self.by_chance.mean(axis=0))
        around = np.stack([self._without_chance(near + node * sd) for node in NODES])
        share = WEIGHTS / WEIGHTS.sum()
        return self._without_chance(self.value), share @ (around - share @ around) ** 2

    def _without_chance(self, value: np.ndarray) -> np.ndarray:
        """Values less what chance adds to those of a figure that is 0 at best, negative where they are less than that.

        As if each bin of the calibration error were off by as much, and by a normal error beside.
        """
        if self.figure.perfect is None:
            return value
        mean = self.by_chance.mean(axis=0)
        sd = np.maximum(mean / FOLDED[0], 1e-12)
        over = FOLDED[0] + np.abs(value - mean) / sd
        off: np.ndarray = sd * np.where(over < FOLDED[-1], np.interp(over, FOLDED, OFF), over)
        return np.where(value < mean, -off, off)

    def _shown(self, modelled: np.ndarray) -> np.ndarray:
        """Values of what the model is of."""
        found: np.ndarray = np.clip(modelled, 0, 1 if self.figure.is_bounded else np.inf)
        return found

    @cached_property
    def _variance(self) -> np.ndarray:
        """Of the value of each group, float64 ``[m]``; ``nan`` where all groups have one row."""
        strata, classes, size = self.code, self._classes, self._size
        if classes is not None:
            strata = self.code * (int(classes.max()) + 1) + classes
        chosen = within(strata, self._draws, _chance(DRAWN))
        found = variances(self._values(tuple(array[rows] for array in self.arrays) for rows in chosen), size)
        if self.figure.is_bounded and not found.any():
            # All groups are perfect, or hopeless: rows that are not here might be otherwise.
            share = ((self.value * size).sum() + 1) / (size.sum() + 2)
            found = share * (1 - share) / size
        return found

    @cached_property
    def _size(self) -> np.ndarray:
        return self.count if self.figure.size is None else self.figure.size(self.arrays, self.code, self.groups)

    # ---- draws

    @property
    def _draws(self) -> int:
        return draws_of(len(self.code), self.groups)

    @property
    def _classes(self) -> np.ndarray | None:
        return None if self.figure.classes is None else self.figure.classes(self.arrays)

    def _values(self, drawn: Iterator[Arrays]) -> np.ndarray:
        """Values of many draws, float64 ``[draws, m]``, those of a few draws at a time as if they were more groups."""
        m, size, found = self.groups, max(1, ROWS_AT_ONCE // max(len(self.code), 1)), []
        while arrays := list(islice(drawn, size)):
            codes = np.concatenate([self.code + m * place for place in range(len(arrays))])
            joined = tuple(np.concatenate(columns) for columns in zip(*arrays, strict=True))
            found.append(self.figure.of(joined, codes, m * len(arrays)).reshape(len(arrays), m))
        return np.concatenate(found)


def _chance(stream: int, seed: int = 0) -> np.random.Generator:
    return np.random.default_rng([seed, stream])
