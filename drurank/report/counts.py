"""How the groups of one split were served: counts by group, and their criteria beside what chance alone would give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from drurank.criteria import criterion, values_of
from drurank.figures import ACCURACY, Share
from drurank.groups import Groups
from drurank.noise import (
    Noise,
    chance_band,
    chance_range,
    criteria_noise,
    group_interval,
    noise_floor,
    true_criteria,
    whole_numbers,
)
from drurank.report.beyond import OF_FEW, beyond_chance
from drurank.report.classes import ClassCounts
from drurank.report.served import criteria_entries, refuse_all_small
from drurank.report.weights import Weights
from drurank.spread import Spread, fit_spread

ALL = "all"
"""Name of the only split of rows that have no column for it."""


@dataclass(frozen=True)
class SplitCounts:
    """How the groups of one split were served; groups without samples are left out.

    Of another figure than accuracy samples are the rows that it is about, and the correct ones those that went well.

    Attributes:
        split: name of the split, as ``ood_test``.
        groups: name of each group, ``[m]``.
        correct: samples classified correctly by group, int64 ``[m]``.
        count: samples by group, int64 ``[m]``, 1 or more.
        seen: whether each group has training rows, bool ``[m]``; ``None`` where that is not known.
        classes: the same rows by class; ``None`` where their labels are not known or no classes.
        figure: what is counted.
        without: names of the groups that have rows in the split, but none that the figure is about.
        whole: correct ones and all samples, each counted once, where groups overlap; ``None`` where they do not.
        weights: what the weights of the samples come to, where they have any.
    """

    split: str
    groups: Sequence[str]
    correct: np.ndarray
    count: np.ndarray
    seen: np.ndarray | None = None
    classes: ClassCounts | None = None
    figure: Share = ACCURACY
    without: Sequence[str] = ()
    whole: tuple[int, int] | None = None
    weights: Weights | None = None

    @classmethod
    def of_some(
        cls,
        split: str,
        groups: Sequence[str],
        correct: np.ndarray,
        count: np.ndarray,
        num_seen: int | None = None,
        classes: ClassCounts | None = None,
    ) -> SplitCounts:
        """Keep the groups that have samples.

        Args:
            split: name of the split.
            groups: name by group.
            correct: samples classified correctly by group, int64 ``[m]``.
            count: samples by group, int64 ``[m]``.
            num_seen: how many of the groups, from the first, have training rows; ``None`` where that is not known.
            classes: the same rows by class, where that is known.
        """
        place = np.flatnonzero(count)
        seen = None if num_seen is None else place < num_seen
        return cls(split, [groups[int(i)] for i in place], correct[place], count[place], seen, classes)

    @property
    def right(self) -> np.ndarray:
        """Samples classified correctly by group; effective ones, where they have weights, ``[m]``."""
        return self.correct if self.weights is None else self.weights.right

    @property
    def size(self) -> np.ndarray:
        """Samples by group; effective ones, where they have weights, ``[m]``."""
        return self.count if self.weights is None else self.weights.effective

    @property
    def total(self) -> tuple[np.ndarray, np.ndarray]:
        """Correct samples and all by group, or the sums of their weights, ``[m]`` each."""
        if self.weights is None:
            return self.correct, self.count
        return self.weights.share * self.weights.total, self.weights.total

    @property
    def accuracy(self) -> np.ndarray:
        """Accuracy by group, float64 ``[m]``."""
        accuracy: np.ndarray = self.correct / self.count if self.weights is None else self.weights.share
        return accuracy

    @cached_property
    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper end of each group's true accuracy by its own samples, 5 to 95 %, float64 ``[m]`` each."""
        return group_interval(self.right, self.size, effective=self.weights is not None)

    @property
    def value(self) -> np.ndarray:
        """The figure by group, float64 ``[m]``."""
        value: np.ndarray = self.figure.shown(self.accuracy)
        return value

    @property
    def value_interval(self) -> tuple[np.ndarray, np.ndarray]:
        """``interval`` of the figure."""
        return self.figure.shown_range(*self.interval)

    @property
    def events(self) -> np.ndarray | None:
        """Rows by group that the figure is the share of, int64 ``[m]``; ``None`` where they have weights."""
        if self.weights is not None:
            return None
        return self.correct if self.figure.higher_is_better else self.count - self.correct

    @property
    def overall(self) -> float:
        """The figure of all rows together."""
        return float(self.figure.shown(self.pooled))

    @property
    def pooled(self) -> float:
        """Share of all samples that are correct."""
        correct, count = self.whole or (each.sum() for each in self.total)
        return float(correct / count)

    @property
    def _chance_size(self) -> np.ndarray:
        """Samples by group that chance is drawn for, int64 ``[m]``."""
        return self.count if self.weights is None else whole_numbers(self.size)

    @property
    def _weight(self) -> np.ndarray | None:
        """Of each group among all samples, ``[m]``; ``None`` for its number of samples."""
        return None if self.weights is None else self.weights.total

    @property
    def overlap(self) -> bool:
        """Whether a sample may be in several groups."""
        return self.whole is not None

    @property
    def rows(self) -> int:
        """Samples, each counted once."""
        return int(self.count.sum()) if self.whole is None else self.whole[1]

    @cached_property
    def chance(self) -> tuple[np.ndarray, np.ndarray]:
        """What chance alone makes of each group's figure if it is that of all rows, 5 to 95 %, float64 ``[m]`` each."""
        sizes, place = np.unique(self._chance_size, return_inverse=True)
        ends = chance_range(sizes, self.pooled)
        return self.figure.shown_range(*(end[place.reshape(-1)] for end in ends))

    def band(self, draws: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places of groups in order, from 0 for the worst, and where chance alone would put those, 5 to 95 %.

        Args:
            draws: how many times all groups are drawn.
        """
        at, low, high = chance_band(self._chance_size, self.pooled, draws=draws)
        return at, *self.figure.shown_range(low, high)

    @cached_property
    def spread(self) -> Spread:
        """How much the groups truly differ, beyond chance."""
        return fit_spread(self.right, self.size, effective=self.weights is not None)

    @cached_property
    def shrunk(self) -> np.ndarray:
        """Posterior mean of each group's true accuracy, given those of all groups, float64 ``[m]``.

        ``nan`` where every group has a single sample, which tells nothing of how groups differ.
        """
        if (self.size == 1).all():
            return np.full(len(self.count), np.nan)
        return self.spread.posterior_mean(self.right, self.size, effective=self.weights is not None)

    @cached_property
    def contradicts(self) -> np.ndarray:
        """Whether each group's own samples contradict its shrunk accuracy, bool ``[m]``.

        Its own interval excludes it, widened so that the intervals of all groups hold at once: those of 5 to 95 %
        exclude the shrunk value of many groups for which it is nearer to the truth.
        """
        low, high = group_interval(self.right, self.size, len(self.count), effective=self.weights is not None)
        found: np.ndarray = (self.shrunk < low) | (self.shrunk > high)
        return found

    def at_least(self, min_count: int) -> SplitCounts:
        """The groups that have so many samples; without their classes.

        Args:
            min_count: how many.
        """
        kept = self.count >= min_count
        if kept.all():
            return self
        names = [self.groups[int(place)] for place in np.flatnonzero(kept)]
        weights = None if self.weights is None else self.weights.some(kept)
        correct, count = self.correct[kept], self.count[kept]
        return SplitCounts(self.split, names, correct, count, figure=self.figure, whole=self.whole, weights=weights)

    def true_criteria(self, names: Sequence[str], *, draws: int, seed: int) -> dict[str, np.ndarray]:
        """Criteria of the true accuracies that these groups may have, float64 ``[draws]`` each.

        Args:
            names: criteria by name.
            draws: how many times the accuracies of all groups are drawn.
            seed: of the draws.
        """
        weight = self._weight
        return true_criteria(self.right, self.size, self.spread, names, weight=weight, draws=draws, seed=seed)

    def chance_criteria(self, accuracy: float, names: Sequence[str], *, draws: int, seed: int) -> dict[str, np.ndarray]:
        """Criteria of these groups if all had one accuracy, float64 ``[draws]`` each.

        Args:
            accuracy: which one.
            names: criteria by name.
            draws: how many times all groups are drawn.
            seed: of the draws.
        """
        return noise_floor(self._chance_size, accuracy, names, weight=self._weight, draws=draws, seed=seed)

    def summary(self, names: Sequence[str], *, min_count: int = 1, shrink: bool = False) -> dict[str, Any]:
        """Rows, groups, criteria beside their true value and chance, and how classes were served, as plain values.

        Args:
            names: criteria by name.
            min_count: leave out groups with fewer samples.
            shrink: use each group's posterior mean accuracy. There is no noise floor then, since chance has been
                removed.

        Raises:
            InputError: if no group has ``min_count`` samples.
        """
        refuse_all_small(self, min_count)
        kept, some = self.count >= min_count, self.at_least(min_count)
        if self.weights is None:
            groups = Groups.of_counts(self.correct, self.count, min_count=min_count, shrink=shrink)
        else:
            groups = Groups(np.where(kept, self.accuracy, np.nan), self.size)
        groups = replace(groups, overall=np.float64(self.pooled))
        computed = self.figure.computed(names)
        names = list(computed.values())
        values = values_of(groups, names)
        of_kept = Groups(groups.unshrunk.accuracy[kept], groups.count[kept], groups.overall)
        spread = some.spread
        noise = some.noise(list(dict.fromkeys([*names, *OF_FEW])))
        single = bool((some.size == 1).all())
        of_samples = [name for name in names if criterion(name).of_samples]
        if of_samples and self.whole:
            noise |= criteria_noise(np.array([self.whole[0]]), np.array([self.whole[1]]), of_samples)
        elif of_samples and not kept.all():
            # They count the rows of small groups too.
            noise |= self.noise(of_samples)
        noise = noise if some.weights is None else some.weights.trusted(noise)
        return {
            "rows": self.rows,
            **({"memberships": int(self.count.sum())} if self.overlap else {}),
            **({} if self.weights is None else self.weights.summed()),
            "groups": len(self.groups),
            "groups_left_out": int((~kept).sum()),
            **self._of_figure(),
            "groups_unseen_in_training": None if self.seen is None else int((~self.seen).sum()),
            "shrink": shrink,
            "spread": None
            if single or (some.weights is not None and some.weights.is_doubtful)
            else {"mean": self.figure.shown(spread.mean), "sd": spread.sd, "interval": [spread.low, spread.high]},
            **beyond_chance(some, noise),
            "criteria": criteria_entries(self.figure, computed, of_kept, values, noise, shrink=shrink, single=single),
            "balanced_accuracy": None if self.classes is None else self.classes.balanced_accuracy,
            "constant_answer": None if self.classes is None else self.classes.constant_answer(),
        }

    def noise(self, names: Sequence[str]) -> dict[str, Noise]:
        """What chance does to criteria of these names."""
        spread, weight = self.spread, self._weight
        return criteria_noise(self.right, self.size, names, spread=spread, accuracy=self.pooled, weight=weight)

    def _of_figure(self) -> dict[str, Any]:
        """What a summary says of another figure than accuracy."""
        if self.figure is ACCURACY:
            return {}
        return {**self.figure.named(), "groups_without": len(self.without), "reason": self.figure.lacks}
