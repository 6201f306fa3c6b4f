"""How the groups of one split were served by a figure that is no share, beside what chance alone would give."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from scipy.special import betainccinv, betaincinv, ndtri

from drurank.criteria import criterion, values_of
from drurank.errors import InputError
from drurank.figures import Measure
from drurank.figures.measures import Arrays
from drurank.groups import Groups
from drurank.noise import PERCENT, Noise, summed_up
from drurank.normal import NormalGroups, variances
from drurank.report.served import criterion_entry
from drurank.resampling import across, draws_of, within

LEVEL = 0.05
"""Groups differ where dealing rows at random makes them differ as much in fewer cases than this."""
PSEUDO = 2
"""Rows with the value of all that a group is given where its value is taken for a share, which 0 and 1 say too much."""
ROWS_AT_ONCE = 100_000
DRAWN, DEALT, PERFECT, TRUE = range(4)
"""Streams of chance."""


@dataclass(frozen=True, eq=False)
class SplitValues:
    """A figure of the groups of one split; groups without a value are left out.

    Attributes:
        split: name of the split, as ``ood_test``.
        groups: name of each group, ``[m]``.
        figure: what is told of them.
        arrays: what it needs of each row, ``[n]`` each.
        code: group of each row, int64 ``[n]``; each of the ``m`` has rows and a value.
        whole: all rows of the split as one group, those of groups without a value among them; ``None`` if this is it.
        seen: whether each group has training rows, bool ``[m]``; ``None`` where that is not known.
        without: names of the groups that have rows in the split, but no value.
    """

    split: str
    groups: Sequence[str]
    figure: Measure
    arrays: Arrays
    code: np.ndarray
    whole: SplitValues | None = None
    seen: np.ndarray | None = None
    without: Sequence[str] = ()

    @classmethod
    def of_rows(
        cls,
        split: str,
        groups: Sequence[str],
        figure: Measure,
        arrays: Arrays,
        code: np.ndarray,
        seen: np.ndarray | None = None,
    ) -> SplitValues:
        """Keep the groups that have a value.

        Args:
            split: name of the split.
            groups: name by group.
            figure: what is told of them.
            arrays: what it needs of each row, ``[n]`` each.
            code: group of each row, int64 ``[n]``.
            seen: whether each group has training rows, bool ``[m]``, where that is known.
        """
        value = figure.of(arrays, code, len(groups))
        whole = cls(split, ["all"], figure, arrays, np.zeros(len(code), dtype=np.int64))
        has_rows, has_value = np.bincount(code, minlength=len(groups)) > 0, ~np.isnan(value)
        without = [groups[int(place)] for place in np.flatnonzero(has_rows & ~has_value)]
        every = cls(split, groups, figure, arrays, code, whole, seen, without)
        return every._some(has_value)

    def _some(self, kept: np.ndarray) -> SplitValues:
        """Some of the groups, bool ``[m]``."""
        rows = kept[self.code]
        return replace(
            self,
            groups=[self.groups[int(place)] for place in np.flatnonzero(kept)],
            arrays=tuple(array[rows] for array in self.arrays),
            code=(np.cumsum(kept) - 1)[self.code[rows]],
            seen=None if self.seen is None else self.seen[kept],
        )

    def at_least(self, min_count: int) -> SplitValues:
        """The groups that have so many rows.

        Args:
            min_count: how many.
        """
        kept = self.count >= min_count
        return self if kept.all() else self._some(kept)

    # ---- what is observed

    @cached_property
    def count(self) -> np.ndarray:
        """Rows by group, int64 ``[m]``."""
        return np.bincount(self.code, minlength=len(self.groups))

    @property
    def events(self) -> None:
        """None: it is no share of rows."""

    @cached_property
    def value(self) -> np.ndarray:
        """The figure by group, float64 ``[m]``."""
        return self._of(self.arrays)

    @property
    def accuracy(self) -> np.ndarray:
        """How good it is by group, float64 ``[m]``."""
        good: np.ndarray = self.figure.shown(self.value)
        return good

    @property
    def overall(self) -> float:
        """The figure of all rows of the split together; ``nan`` where there is none."""
        return float((self.whole or self).value[0])

    # ---- what chance does to it

    @cached_property
    def value_interval(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the true figure of each group lies by its own rows, 5 to 95 %, float64 ``[m]`` each."""
        return self._interval(PERCENT[0] / 100)

    @property
    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """The same of how good it is."""
        return self.figure.shown_range(*self.value_interval)

    @cached_property
    def shrunk(self) -> np.ndarray:
        """Posterior mean of how good each group truly is, float64 ``[m]``; ``nan`` where all groups have one row."""
        if self._model is None:
            return np.full(len(self.groups), np.nan)
        good: np.ndarray = self.figure.shown(self._shown(self._model.posterior_mean()))
        return good

    @cached_property
    def contradicts(self) -> np.ndarray:
        """Whether each group's own rows contradict that, at a level corrected for their number, bool ``[m]``."""
        low, high = self.figure.shown_range(*self._interval(PERCENT[0] / 100 / len(self.groups)))
        found: np.ndarray = (self.shrunk < low) | (self.shrunk > high)
        return found

    @property
    def chance(self) -> tuple[np.ndarray, np.ndarray]:
        """What chance gives of each group's figure, 5 to 95 %, float64 ``[m]`` each."""
        low, high = np.nanpercentile(self._by_chance, PERCENT, axis=0)
        return low, high

    def band(self, draws: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places of groups in order, from 0 for the worst, and where chance alone would put those, 5 to 95 %.

        Args:
            draws: how many times chance may be drawn at the most.
        """
        ordered = np.sort(self.figure.shown(self._by_chance[:draws]), axis=1)
        low, high = self.figure.shown_range(*np.nanpercentile(ordered, PERCENT, axis=0))
        return np.arange(len(self.groups)), low, high

    def true_criteria(self, names: Sequence[str], *, draws: int, seed: int) -> dict[str, np.ndarray]:
        """Criteria of what the groups may truly be, float64 ``[draws]`` each; ``nan`` where that is not known.

        Args:
            names: criteria by name.
            draws: how many times the figures of all groups are drawn.
            seed: of the draws.
        """
        true, overall = (part._true(draws, seed) for part in (self, self.whole or self))
        return self._criteria(true, overall[:, 0], names)

    # ---- the report

    def summary(self, names: Sequence[str], *, min_count: int = 1, shrink: bool = False) -> dict[str, Any]:
        """Rows, groups, and criteria beside their true value and chance, as plain values.

        Args:
            names: criteria by name.
            min_count: leave out groups with fewer rows.
            shrink: use each group's posterior mean. There is no noise floor then, since chance has been removed.

        Raises:
            InputError: if no group has ``min_count`` rows.
        """
        if not (self.count >= min_count).any():
            most = int(self.count.max(initial=0))
            raise InputError(f"min_count is {min_count} and the largest group of {self.split} has {most}; lower it")
        kept, computed = self.at_least(min_count), self.figure.computed(names)
        good, single = kept.shrunk if shrink else kept.accuracy, kept._model is None
        overall = self.figure.shown(self.overall)
        values = values_of(Groups(good, kept.count, overall, kept.accuracy), list(computed.values()))
        of_kept, noise = Groups(kept.accuracy, kept.count, overall), kept._noise(list(computed.values()))
        return {
            "rows": int(self.count.sum()),
            "groups": len(self.groups),
            "groups_left_out": len(self.groups) - len(kept.groups),
            "figure": self.figure.name,
            "groups_without": len(self.without),
            "reason": self.figure.lacks,
            "groups_unseen_in_training": None if self.seen is None else int((~self.seen).sum()),
            "shrink": shrink,
            "spread": None if single else kept._spread(),
            "worse_than_chance": kept._worse_than_chance(),
            "criteria": {
                name: self.figure.entry(
                    criterion(by),
                    criterion_entry(criterion(by), of_kept, float(values[by]), noise[by], shrink=shrink, single=single),
                )
                for name, by in computed.items()
            },
            "balanced_accuracy": None,
            "constant_answer": None,
        }

    def _noise(self, names: Sequence[str]) -> dict[str, Noise]:
        true = self.true_criteria(names, draws=len(self._by_chance), seed=0)
        chance = self._criteria(self._by_chance, np.full(len(self._by_chance), self.overall), names)
        found = {}
        for name in names:
            low, estimate, high = _summed_up(true[name])
            # Dealing rows to other groups leaves what all of them together are as it is.
            floor = (math.nan,) * 3 if criterion(name).of_samples else _summed_up(chance[name])
            found[name] = Noise(estimate, low, high, floor[1], floor[0], floor[2])
        return found

    def _spread(self) -> dict[str, Any]:
        """How much the groups truly differ; 0 where dealing rows at random makes them differ as much."""
        true = self._true(len(self._dealt), 0)
        low, sd, high = map(float, np.percentile(true.std(axis=1), (PERCENT[0], 50, PERCENT[1])))
        mean = float(self.figure.shown(self.shrunk).mean())
        away = _standardised(self._dealt, self.value)
        drawn, seen = np.nansum(away[1] ** 2, axis=1), np.nansum(away[0] ** 2)
        if (1 + (drawn >= seen).sum()) / (1 + len(drawn)) >= LEVEL:
            low = sd = 0.0
        return {"mean": mean, "sd": sd, "interval": [low, high]}

    def _worse_than_chance(self) -> str | None:
        """The group that is worst beyond chance, where any is worse than the worst is in 95 % of what chance gives."""
        seen, drawn = _standardised(self.figure.shown(self._by_chance), self.accuracy)
        worst = np.nanmin(drawn, axis=1, initial=np.inf)
        if np.isnan(seen).all() or np.nanmin(seen) >= np.percentile(worst, PERCENT[0]):
            return None
        return self.groups[int(np.nanargmin(seen))]

    # ---- draws

    def _of(self, arrays: Arrays) -> np.ndarray:
        return self.figure.of(arrays, self.code, len(self.groups))

    def _criteria(self, value: np.ndarray, overall: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
        return values_of(Groups(self.figure.shown(value), self.count, self.figure.shown(overall)), names)

    @property
    def _draws(self) -> int:
        return draws_of(len(self.code), len(self.groups))

    @property
    def _classes(self) -> np.ndarray | None:
        return None if self.figure.classes is None else self.figure.classes(self.arrays)

    @cached_property
    def _dealt(self) -> np.ndarray:
        """Values of all groups with the rows dealt to them at random, float64 ``[draws, m]``."""
        chosen = across(self._classes, len(self.code), self._draws, _chance(DEALT))
        return self._values(tuple(array[rows] for array in self.arrays) for rows in chosen)

    @cached_property
    def _by_chance(self) -> np.ndarray:
        """What reports compare the values with, float64 ``[draws, m]``."""
        perfect, rng = self.figure.perfect, _chance(PERFECT)
        if perfect is None:
            return self._dealt
        return self._values(perfect(self.arrays, rng) for _ in range(self._draws))

    def _values(self, drawn: Iterator[Arrays]) -> np.ndarray:
        """Values of many draws, float64 ``[draws, m]``, those of a few draws at a time as if they were more groups."""
        m, size, found = len(self.groups), max(1, ROWS_AT_ONCE // max(len(self.code), 1)), []
        while arrays := list(islice(drawn, size)):
            codes = np.concatenate([self.code + m * place for place in range(len(arrays))])
            joined = tuple(np.concatenate(columns) for columns in zip(*arrays, strict=True))
            found.append(self.figure.of(joined, codes, m * len(arrays)).reshape(len(arrays), m))
        return np.concatenate(found)

    # ---- the model of true values

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
        return self.count if self.figure.size is None else self.figure.size(self.arrays, self.code, len(self.groups))

    @cached_property
    def _least(self) -> np.ndarray | float:
        """Mean square of each group's value if it were perfect, where chance alone makes it worse than that."""
        return 0.0 if self.figure.perfect is None else np.nanmean(self._by_chance**2, axis=0)

    @cached_property
    def _model(self) -> NormalGroups | None:
        if np.isnan(self._variance).any():
            return None
        if self.figure.perfect is None:
            return NormalGroups.fit(self.value, self._variance)
        # Squares, since chance adds to them what can be taken off again.
        square = self.value**2
        return NormalGroups.fit(square - self._least, 4 * np.maximum(square, self._least) * self._variance)

    def _shown(self, modelled: np.ndarray) -> np.ndarray:
        """Values of what the model is of."""
        positive: np.ndarray = np.maximum(modelled, 0)
        if self.figure.perfect is not None:
            positive = np.sqrt(positive)
        return np.clip(positive, 0, 1) if self.figure.is_bounded else positive

    def _true(self, draws: int, seed: int) -> np.ndarray:
        """What the groups may truly be, float64 ``[draws, m]``."""
        if self._model is None:
            return np.full((draws, len(self.groups)), np.nan)
        return self._shown(self._model.draw(draws, np.random.default_rng([TRUE, seed])))

    def _interval(self, tail: float) -> tuple[np.ndarray, np.ndarray]:
        if self._model is None:
            none = np.full(len(self.groups), np.nan)
            return none, none
        if self.figure.is_bounded and self.figure.perfect is None:
            return self._share_interval(tail)
        away = -ndtri(tail) * np.sqrt(self._model.variance)
        return self._shown(self._model.value - away), self._shown(self._model.value + away)

    def _share_interval(self, tail: float) -> tuple[np.ndarray, np.ndarray]:
        """That of a share of as many rows as would make it as certain: of Clopper and Pearson, as Korn and Graubard."""
        assert self._model is not None
        near = (self._size * self.value + PSEUDO * self.value.mean()) / (self._size + PSEUDO)
        rows = near * (1 - near) / self._model.variance
        well = rows * self.value
        wrong = rows - well
        low = betaincinv(np.maximum(well, 1e-9), wrong + 1, tail)
        high = betainccinv(well + 1, np.maximum(wrong, 1e-9), tail)
        return np.where(well > 0, low, 0.0), np.where(wrong > 0, high, 1.0)


def _chance(stream: int) -> np.random.Generator:
    return np.random.default_rng([0, stream])


def _standardised(drawn: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far values, and drawn ones, are from the mean of those drawn, in their standard deviations."""
    mean, sd = np.nanmean(drawn, axis=0), np.nanstd(drawn, axis=0)
    sd = np.where(sd > 0, sd, np.nan)
    return (value - mean) / sd, (drawn - mean) / sd


def _summed_up(draws: np.ndarray) -> tuple[float, float, float]:
    known = draws[~np.isnan(draws)]
    return summed_up(known) if len(known) else (math.nan,) * 3
