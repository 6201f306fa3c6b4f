"""How the groups of one split were served by a figure that is no share, beside what chance alone would give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from drurank.criteria import criterion, values_of
from drurank.figures import Measure
from drurank.figures.measures import Arrays
from drurank.groups import Groups
from drurank.measured import MeasuredGroups
from drurank.noise import PERCENT, Noise, summed_up
from drurank.report.served import criteria_entries, refuse_all_small, told_worst

NEGLIGIBLE = 0.02
"""Differences that are smaller than this share of those that are possible count as none."""
LEVEL = 0.05
"""Groups differ where dealing rows at random makes them differ as much in fewer cases than this."""


@dataclass(frozen=True, eq=False)
class SplitValues:
    """A figure of the groups of one split; groups without a value are left out.

    Attributes:
        split: name of the split, as ``ood_test``.
        groups: name of each group, ``[m]``.
        measured: their rows.
        whole: all rows of the split as one group, those of groups without a value among them.
        seen: whether each group has training rows, bool ``[m]``; ``None`` where that is not known.
        without: names of the groups that have rows in the split, but no value.
        overlap: whether a row may be in several groups.
    """

    split: str
    groups: Sequence[str]
    measured: MeasuredGroups
    whole: MeasuredGroups
    seen: np.ndarray | None = None
    without: Sequence[str] = ()
    overlap: bool = False

    @classmethod
    def of_rows(
        cls,
        split: str,
        groups: Sequence[str],
        figure: Measure,
        arrays: Arrays,
        code: np.ndarray,
        seen: np.ndarray | None = None,
        every: Arrays | None = None,
    ) -> SplitValues:
        """Keep the groups that have a value.

        Args:
            split: name of the split.
            groups: name by group.
            figure: what is told of them.
            arrays: what it needs of each row, ``[n]`` each.
            code: group of each row, int64 ``[n]``.
            seen: whether each group has training rows, bool ``[m]``, where that is known.
            every: what it needs of each row once, where groups overlap.
        """
        measured = MeasuredGroups(figure, arrays, code, len(groups))
        once = arrays if every is None else every
        whole = MeasuredGroups(figure, once, np.zeros(len(once[0]), np.int64), 1)
        has_value = ~np.isnan(measured.value)
        without = [groups[int(place)] for place in np.flatnonzero((measured.count > 0) & ~has_value)]
        return cls(split, groups, measured, whole, seen, without, every is not None)._some(has_value)

    def _some(self, kept: np.ndarray) -> SplitValues:
        """Some of the groups, bool ``[m]``."""
        groups = [self.groups[int(place)] for place in np.flatnonzero(kept)]
        seen = None if self.seen is None else self.seen[kept]
        return replace(self, groups=groups, measured=self.measured.some(kept), seen=seen)

    def at_least(self, min_count: int) -> SplitValues:
        """The groups that have so many rows.

        Args:
            min_count: how many.
        """
        kept = self.count >= min_count
        return self if kept.all() else self._some(kept)

    # ---- what is observed

    @property
    def rows(self) -> int:
        """Rows of groups that have a value; of groups that overlap all rows, each counted once."""
        return int(self.whole.count.sum() if self.overlap else self.count.sum())

    @property
    def figure(self) -> Measure:
        """What is told of them."""
        return self.measured.figure

    @property
    def count(self) -> np.ndarray:
        """Rows by group, int64 ``[m]``."""
        return self.measured.count

    @property
    def events(self) -> None:
        """None: it is no share of rows."""

    @property
    def value(self) -> np.ndarray:
        """The figure by group, float64 ``[m]``."""
        return self.measured.value

    @property
    def accuracy(self) -> np.ndarray:
        """How good it is by group, float64 ``[m]``."""
        good: np.ndarray = self.figure.shown(self.value)
        return good

    @property
    def overall(self) -> float:
        """The figure of all rows of the split together; ``nan`` where there is none."""
        return float(self.whole.value[0])

    # ---- what chance does to it

    @cached_property
    def value_interval(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the true figure of each group lies by its own rows, 5 to 95 %, float64 ``[m]`` each."""
        return self.measured.interval(PERCENT[0] / 100)

    @property
    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """The same of how good it is."""
        return self.figure.shown_range(*self.value_interval)

    @property
    def shrunk(self) -> np.ndarray:
        """Posterior mean of how good each group truly is, float64 ``[m]``; ``nan`` where all groups have one row."""
        good: np.ndarray = self.figure.shown(self.measured.shrunk)
        return good

    @cached_property
    def contradicts(self) -> np.ndarray:
        """Whether each group's own rows contradict that, at a level corrected for their number, bool ``[m]``."""
        low, high = self.measured.interval(PERCENT[0] / 100 / len(self.groups))
        found: np.ndarray = (self.measured.shrunk < low) | (self.measured.shrunk > high)
        return found

    @property
    def weights(self) -> None:
        """Rows have none."""

    @cached_property
    def chance(self) -> tuple[np.ndarray, np.ndarray]:
        """What chance gives of each group's figure, 5 to 95 %, float64 ``[m]`` each."""
        low, high = np.nanpercentile(self.measured.by_chance, PERCENT, axis=0)
        return low, high

    def band(self, draws: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places of groups in order, from 0 for the worst, and where chance alone would put those, 5 to 95 %.

        Args:
            draws: how many times chance may be drawn at the most.
        """
        ordered = np.sort(self.figure.shown(self.measured.by_chance[:draws]), axis=1)
        # A group may have no value in a deal, so that no deal has one at the last places.
        at = np.flatnonzero(~np.isnan(ordered).all(axis=0))
        low, high = self.figure.shown_range(*np.nanpercentile(ordered[:, at], PERCENT, axis=0))
        return at, low, high

    def true_criteria(self, names: Sequence[str], *, draws: int, seed: int) -> dict[str, np.ndarray]:
        """Criteria of what the groups may truly be, float64 ``[draws]`` each; ``nan`` where that is not known.

        Args:
            names: criteria by name.
            draws: how many times the figures of all groups are drawn.
            seed: of the draws.
        """
        true, overall = (part.true(draws, seed) for part in (self.measured, self.whole))
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
        refuse_all_small(self, min_count)
        kept, computed = self.at_least(min_count), self.figure.computed(names)
        good, single = kept.shrunk if shrink else kept.accuracy, not kept.measured.is_known
        overall = self.figure.shown(self.overall)
        values = values_of(Groups(good, kept.count, overall, kept.accuracy), list(computed.values()))
        of_kept, noise = Groups(kept.accuracy, kept.count, overall), kept._noise(list(computed.values()))
        return {
            "rows": self.rows,
            **({"memberships": int(self.count.sum())} if self.overlap else {}),
            "groups": len(self.groups),
            "groups_left_out": len(self.groups) - len(kept.groups),
            **self.figure.named(),
            "groups_without": len(self.without),
            "reason": self.figure.lacks,
            "groups_unseen_in_training": None if self.seen is None else int((~self.seen).sum()),
            "shrink": shrink,
            "spread": None if single else kept._spread(),
            **kept._beyond_chance(),
            "criteria": criteria_entries(self.figure, computed, of_kept, values, noise, shrink=shrink, single=single),
            "balanced_accuracy": None,
            "constant_answer": None,
        }

    def _noise(self, names: Sequence[str]) -> dict[str, Noise]:
        true = self.true_criteria(names, draws=len(self.measured.by_chance), seed=0)
        chance = self._criteria(self.measured.by_chance, np.full(len(self.measured.by_chance), self.overall), names)
        found = {}
        for name in names:
            low, estimate, high = _summed_up(true[name])
            # Dealing rows to other groups leaves what all of them together are as it is.
            floor = (math.nan,) * 3 if criterion(name).of_samples else _summed_up(chance[name])
            found[name] = Noise(estimate, low, high, floor[1], floor[0], floor[2])
        return found

    def _spread(self) -> dict[str, Any]:
        """How much the groups truly differ; 0 where dealing rows at random makes them differ as much."""
        true = self.measured.true(len(self.measured.dealt), 0)
        low, sd, high = map(float, np.percentile(true.std(axis=1), (PERCENT[0], 50, PERCENT[1])))
        mean = float(self.figure.shown(self.shrunk).mean())
        away = _standardised(self.measured.dealt, self.value)
        drawn, seen = np.nansum(away[1] ** 2, axis=1), np.nansum(away[0] ** 2)
        if (1 + (drawn >= seen).sum()) / (1 + len(drawn)) >= LEVEL:
            low = sd = 0.0
        low = 0.0 if low < NEGLIGIBLE * high else low
        return {"mean": mean, "sd": sd, "interval": [low, high]}

    def _beyond_chance(self) -> dict[str, Any]:
        """The group that is served worst, and the one that is worse than the worst is in 95 % of what chance gives."""
        seen, drawn = _standardised(self.figure.shown(self.measured.by_chance), self.accuracy)
        worst = np.nanmin(drawn, axis=1, initial=np.inf)
        seen = np.where(np.isnan(seen), np.inf, seen)
        place = int(np.lexsort((self.interval[1], self.accuracy))[0])
        threshold = np.percentile(worst, PERCENT[0]) if np.isfinite(worst).all() else -np.inf
        return told_worst(self.groups, place, int(np.argmin(seen)), seen < threshold)

    def _criteria(self, value: np.ndarray, overall: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
        return values_of(Groups(self.figure.shown(value), self.count, self.figure.shown(overall)), names)


def _standardised(drawn: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far values, and drawn ones, are from the mean of those drawn, in their standard deviations."""
    mean, sd = np.nanmean(drawn, axis=0), np.nanstd(drawn, axis=0)
    sd = np.where(sd > 0, sd, np.nan)
    return (value - mean) / sd, (drawn - mean) / sd


def _summed_up(draws: np.ndarray) -> tuple[float, float, float]:
    known = draws[~np.isnan(draws)]
    return summed_up(known) if len(known) else (math.nan,) * 3
