"""The chosen candidates of several methods on one split: values by seed or repeat, and their differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from drurank.errors import InputError
from drurank.figures.selecting import figure_in, selectable_criterion
from drurank.study.differences import Compare, bootstrapped_t, differences_from
from drurank.study.repeats import differences_over_repeats
from drurank.study.result import Result, stacked
from drurank.study.stepwise import Difference
from drurank.study.values import shown_values

TESTS: dict[str, tuple[Compare, str]] = {
    "paired": (differences_from, "paired bootstrap of seeds and groups, 5 % for all methods of a column together"),
    "t": (bootstrapped_t, "bootstrapped t-test over groups, 5 % for each pair, not corrected for their number"),
}
"""What tells methods apart on one split, and how a table names it."""
OVER_REPEATS = "resampled t-test corrected for overlap (Nadeau and Bengio), 5 % for all methods of a column together"
WHICH_COUNTED = (
    "a study has them on test of the shares of rows (error, fpr, fnr, tpr, tnr, selection_rate, off_by_more_than_one) "
    "that its criteria name; leave it out"
)
Test = Literal["paired", "t"]
Run = tuple[int, int]
"""Repeat of the split, and seed."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """The chosen candidates of several methods on one split, the same seeds of each.

    Attributes:
        methods: their names, ``K``.
        runs: repeat and seed of each run, sorted.
        correct: by repeat, correct rows by method, seed and group, ``[K, S, m]``.
        count: by repeat, rows by group, int64 ``[m]``.
        min_count: criteria leave out groups with fewer rows.
        share: data that is held out over data that is trained on; 0 with one repeat, where it is not used.
        groups: names of the groups, ``m``; empty with several repeats, whose groups differ.
        figures: the same with the counts of other figures than accuracy, by name.
    """

    methods: tuple[str, ...]
    runs: tuple[Run, ...]
    correct: tuple[np.ndarray, ...]
    count: tuple[np.ndarray, ...]
    min_count: int = 1
    share: float = 0.0
    groups: tuple[str, ...] = ()
    figures: Mapping[str, Chosen] = field(default_factory=dict)

    @classmethod
    def of(cls, chosen: Mapping[str, Sequence[Result]], by: str, split: str, min_count: int) -> Chosen:
        """Read the counts of candidates.

        Args:
            chosen: method to its candidates, of the same runs each, sorted.
            by: criterion by which the checkpoint of each was kept.
            split: of the groups.
            min_count: criteria leave out groups with fewer rows.

        Raises:
            InputError: if they were tested on other groups, or two repeats have the same data.
        """
        side = cls._read(chosen, by, split, min_count)
        every = [result for results in chosen.values() for result in results]
        kept = [name for name in every[0].figures_on(split) if all(name in one.figures_on(split) for one in every)]
        return replace(side, figures={name: cls._read(chosen, by, split, min_count, name) for name in kept})

    @classmethod
    def _read(
        cls, chosen: Mapping[str, Sequence[Result]], by: str, split: str, min_count: int, figure: str | None = None
    ) -> Chosen:
        first = next(iter(chosen.values()))
        correct, count = [], []
        for repeat in dict.fromkeys(result.repeat for result in first):
            some = [result for results in chosen.values() for result in results if result.repeat == repeat]
            right, rows = stacked(some, by, split, figure)
            correct.append(right.reshape(len(chosen), -1, len(rows)))
            count.append(rows)
        runs = tuple(result.run for result in first)
        if len(count) == 1:
            groups = first[0].counts(by, split, figure).groups
            return cls(tuple(chosen), runs, tuple(correct), tuple(count), min_count, groups=groups)
        share = held_out_share(first, by, split)
        return cls(tuple(chosen), runs, tuple(correct), tuple(count), min_count, share)

    @property
    def repeats(self) -> int:
        """Number of repeats of the split."""
        return len(self.count)

    @property
    def units(self) -> int:
        """Number of seeds, or of repeats if there are several: what the spread is over."""
        return self.repeats if self.repeats > 1 else self.correct[0].shape[1]

    @property
    def can_tell(self) -> bool:
        """Whether there is more than one run of a method, so that chance in training is seen."""
        return self.units > 1

    def can_compare(self, name: str) -> bool:
        """Whether there are the counts that a criterion is of."""
        figure = figure_in(name)
        return figure is None or figure.name in self.figures

    def counting(self, name: str) -> Chosen:
        """The same candidates with the counts that a criterion is of: itself, for one of accuracy.

        Raises:
            InputError: if there are no such counts.
        """
        figure = figure_in(name)
        if figure is None:
            return self
        if not self.can_compare(name):
            raise InputError(
                f"criterion {name!r}: there are no counts by group of that figure to compare by; {WHICH_COUNTED}"
            )
        return self.figures[figure.name]

    def values(self, name: str) -> np.ndarray:
        """A criterion by method and seed, or by method and repeat (the mean over seeds), float ``[K, units]``.

        ``nan`` where it says nothing of the groups, see ``shown_values``.
        """
        side = self.counting(name)
        found = [
            shown_values(correct, count, [name], min_count=self.min_count)[name]
            for correct, count in zip(side.correct, side.count, strict=True)
        ]
        if self.repeats == 1:
            return np.asarray(found[0])
        return np.stack([one.mean(axis=1) for one in found], axis=1)

    def differences(self, name: str, one: int, test: Test = "paired", only: Sequence[int] = ()) -> list[Difference]:
        """Differences of one method from each.

        Args:
            name: criterion.
            one: place of the method that the others are held against, among those that are compared.
            test: what tells them apart, on one split.
            only: places of the methods that are compared; all, if not given.

        Returns:
            One a method, in their order.

        Raises:
            InputError: if the test knows no repeats.
        """
        some = list(only) or list(range(len(self.methods)))
        if self.repeats > 1:
            if test != "paired":
                raise InputError(f"test is {test!r}, which compares on one split; leave it out, or give repeat=0")
            counts = (self._counted(name, repeat)[1] for repeat in range(self.repeats))
            most = float(np.mean([selectable_criterion(name).largest_difference(count) for count in counts]))
            return differences_over_repeats(self.values(name)[some], self.share, one, most)
        correct, count = self._counted(name, 0)
        return TESTS[test][0](correct[some], count, name, one)

    def compared(self, name: str, one: int) -> list[Difference]:
        """Differences of one method from each, as the table of the methods has them: from its best as the best has it.

        Args:
            name: criterion.
            one: place of the method.
        """
        best, found = self.best(name), self.differences(name, one)
        if best != one:
            other = self.differences(name, best)[one]
            found[best] = replace(other, value=-other.value)
        return found

    def best(self, name: str) -> int:
        """Place of the method that is best by the mean of a criterion; one whose mean is ``nan`` is the last."""
        mean = self.values(name).mean(axis=1)
        cost = -selectable_criterion(name).sign * mean
        return int(np.argmin(np.where(np.isnan(cost), np.inf, cost)))

    def counted_runs(self, method: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Correct rows and rows by group of each run of a method, without the groups that are left out."""
        found = []
        for correct, count in zip(self.correct, self.count, strict=True):
            kept = count >= self.min_count
            found += [(one[kept], count[kept]) for one in correct[method]]
        return found

    def _counted(self, name: str, repeat: int) -> tuple[np.ndarray, np.ndarray]:
        side = self.counting(name)
        correct, count = side.correct[repeat], side.count[repeat]
        kept = (count >= self.min_count) | selectable_criterion(name).of_samples
        return correct[:, :, kept], count[kept]


def held_out_share(results: Sequence[Result], by: str, split: str) -> float:
    """Data that is held out over data that is trained on: of rows, and of groups if training lacks those of the split.

    Raises:
        InputError: if two repeats have the same data, or it is not known how much was trained on.
    """
    first = {result.repeat: result for result in reversed(results)}
    known: dict[str, int] = {}
    shares: list[float] = []
    for repeat, result in sorted(first.items()):
        same = known.setdefault(result.manifest["data"]["fingerprint"], repeat)
        if same != repeat:
            raise InputError(f"repeats {same} and {repeat} have the same data; give each repeat a split of its own")
        data = result.manifest["data"]
        if not data.get("training_rows"):
            raise InputError(f"{result.folder} does not say how much it was trained on; run the study again")
        held = {name: result.counts(by, name) for name in result.splits}
        shares.append(sum(int(one.count.sum()) for one in held.values()) / data["training_rows"])
        if split.startswith("ood_"):
            unseen = sum(len(one.groups) for name, one in held.items() if name.startswith("ood_"))
            shares.append(unseen / max(data["training_groups"], 1))
    return max(shares)
