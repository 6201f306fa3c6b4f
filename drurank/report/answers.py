"""What was predicted of rows, and the counts by group of any figure of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from drurank.errors import InputError
from drurank.figures import ACCURACY, Measure, Outcomes, Share
from drurank.figures.classes import Numbering, class_values, positive_of
from drurank.limits import refuse_repeated
from drurank.report.cells import counts_of_column, numbered, refuse_blank, rows_by_split, said_seen
from drurank.report.classes import ClassCounts, rows_by
from drurank.report.counts import SplitCounts
from drurank.report.served import Served
from drurank.report.values import SplitValues
from drurank.report.weights import Weights
from drurank.run_folder.layout import SEEN
from drurank.tabular.coding import code_groups
from drurank.tabular.columns import Column, Files, refuse_unknown
from drurank.tabular.several import Source
from drurank.words import joined


@dataclass(frozen=True)
class Answers:
    """What was predicted of rows, their groups and splits.

    Attributes:
        names: label of each class by number.
        number_of: number of the class that a text names; ``None`` if none.
        outcomes: right and predicted class of each row.
        code: group of each row, int64 ``[n]``.
        groups: name by group.
        rows: which rows are of each split, bool ``[n]`` by name.
        times: how many rows each of them stands for, int64 ``[n]``; one, if not given.
        seen: whether training has each group, bool ``[m]``, where that is known.
        places: in the table that was read, of each row, int64 ``[n]``, where some of its rows are left out.
        files: that the table was read from, where they are several.
        whole: each row once, where groups overlap and rows stand here once for each of their groups.
        weight: of each row, float64 ``[n]``, where rows have any; those of weight 0 stand for none.
    """

    names: Sequence[str]
    number_of: Numbering
    outcomes: Outcomes
    code: np.ndarray
    groups: Sequence[str]
    rows: Mapping[str, np.ndarray]
    times: np.ndarray | None = None
    seen: np.ndarray | None = None
    places: np.ndarray | None = None
    files: Files | None = None
    whole: Answers | None = None
    weight: np.ndarray | None = None

    @classmethod
    def of_table(
        cls,
        source: Source,
        label: str,
        prediction: str,
        group: Sequence[str],
        split: str | None,
        labels: Sequence[str] = (),
        positive: str | None = None,
        times: np.ndarray | None = None,
        weight: np.ndarray | None = None,
    ) -> Answers:
        """Compare predictions with labels.

        Args:
            source: a table with a row for each prediction.
            label: column of the right class.
            prediction: column of the predicted class.
            group: columns whose combinations are the groups.
            split: column of the split; all rows are one, if not given.
            labels: further classes that may be predicted.
            positive: label of the positive class, for figures that need one.
            times: how many rows each row of the table stands for, int64 ``[n]``; one, if not given.
            weight: of each row, float64 ``[n]``, where rows have any; ``times`` is then not given.

        Raises:
            InputError: if a column is missing, a cell is blank, or a prediction or the positive class is no label.
        """

        def column(name: str) -> Column:
            refuse_unknown(source.path, source.table, [name])
            return source.column(name)

        right, predicted = column(label), column(prediction)
        known = [*right.texts, *labels]
        true, said, number_of = numbered(right, predicted, known)
        columns = [column(name) for name in group]
        refuse_blank(columns, "group")
        code, groups = code_groups(columns, np.arange(source.table.num_rows))
        classes = len({number_of(text) for text in known})
        outcomes = Outcomes(true, said, positive_of(known, positive, number_of), class_values(known), classes)
        rows = rows_by_split(None if split is None else column(split), len(code))
        seen = said_seen(column(SEEN), code, len(groups)) if group and SEEN in source.table.column_names else None
        if seen is None and "train" in rows:
            seen = np.isin(np.arange(len(groups)), code[rows["train"]])
        times = times if weight is None else (weight > 0).astype(np.int64)
        places, files = source.places, source.several
        return cls(known, number_of, outcomes, code, groups, rows, times, seen, places, files, weight=weight)

    @property
    def positive(self) -> str | None:
        """Label of the positive class."""
        return None if self.outcomes.positive is None else self.names[self.outcomes.positive]

    def locate(self, path: str, row: int) -> tuple[str, int]:
        """The file of a row, and its place there.

        Args:
            path: what the table is called, where it is of one file.
            row: place here.
        """
        place = row if self.places is None else int(self.places[row])
        return (path, place) if self.files is None else self.files.locate(place)

    def of(self, figure: Share | Measure, only: Sequence[str] = ()) -> Sequence[Served]:
        """A figure by group of each split, splits with unseen groups first.

        A split is left out where none of its groups has a value.

        Args:
            figure: which one.
            only: names of the splits; all, if not given.

        Raises:
            InputError: if no group has one at all, or it needs what these rows do not have.
        """
        return self.counts(figure, only) if isinstance(figure, Share) else self._values(figure, only)

    def _shown(self, only: Sequence[str]) -> dict[str, np.ndarray]:
        return {name: here for name, here in self.rows.items() if not only or name in only}

    def _places(self, split: str, figure: str) -> np.ndarray:
        """Places of the rows of a split, each as often as it stands for rows."""
        rows = np.flatnonzero(self.rows[split])
        if self.times is None:
            return rows
        refuse_repeated(figure, split, int(self.times[rows].sum()))
        return np.repeat(rows, self.times[rows])

    def _values(self, figure: Measure, only: Sequence[str]) -> list[SplitValues]:
        figure.check(self.outcomes, self.names)
        figure = figure.of_rows(self.outcomes, self.names)
        arrays, found = figure.prepare(self.outcomes), []
        for name in self._shown(only):
            rows = self._places(name, figure.name)
            if len(rows):
                of_rows = tuple(array[rows] for array in arrays)
                every = None
                if self.whole is not None:
                    places = self.whole._places(name, figure.name)
                    every = tuple(array[places] for array in figure.prepare(self.whole.outcomes))
                found.append(SplitValues.of_rows(name, self.groups, figure, of_rows, self.code[rows], self.seen, every))
        found = [split for split in found if len(split.groups)]
        if not found:
            raise InputError(f"figure {figure.name!r}: every group has {figure.lacks}; leave it out")
        return found

    def counts(self, figure: Share = ACCURACY, only: Sequence[str] = ()) -> list[SplitCounts]:
        """Counts by group of each split, splits with unseen groups first; of accuracy by class too.

        A split is left out where the figure is about none of its rows.

        Args:
            figure: what is counted.
            only: splits to count; all, if not given.

        Raises:
            InputError: if it is about none at all, or needs what these rows do not have.
        """
        figure.check(self.outcomes, self.names)
        figure = figure.of_rows(self.outcomes, self.names)
        about, good = figure.about(self.outcomes), figure.went_well(self.outcomes)
        train = self.rows.get("train")
        commonest = None if train is None else int(np.argmax(self._number(self.outcomes.label, train)))
        shown = self._shown(only)
        found = [self._count(name, figure, here, about & here, good, commonest) for name, here in shown.items()]
        counted = [split for split in found if len(split.groups)]
        if not counted:
            where = "" if len(shown) == len(self.rows) else f" in {joined(list(shown))}"
            raise InputError(f"figure {figure.name!r}: there are {figure.lacks}{where}; leave it out")
        return counted

    def _count(
        self, split: str, figure: Share, here: np.ndarray, about: np.ndarray, good: np.ndarray, commonest: int | None
    ) -> SplitCounts:
        count, correct, rows = (self._number(self.code, some, len(self.groups)) for some in (about, about & good, here))
        classes = None
        if figure is ACCURACY and self.weight is None:  # whose tests count rows
            of = self if self.whole is None else self.whole
            all_here = of.rows[split]
            label, times = of.outcomes.label[all_here], None if of.times is None else of.times[all_here]
            classes = ClassCounts.of_rows(label, figure.went_well(of.outcomes)[all_here], self.names, commonest, times)
        found = SplitCounts.of_some(split, self.groups, correct, count, classes=classes)
        without = tuple(self.groups[int(place)] for place in np.flatnonzero((rows > 0) & (count == 0)))
        seen = None if self.seen is None else self.seen[np.flatnonzero(count)]
        whole = None if self.whole is None else self.whole._once(split, figure)
        weights = None
        if self.weight is not None:
            some = about & (self.weight > 0)
            largest = float(self.weight.max())
            weights = Weights.of_rows(self.code[some], self.weight[some], good[some], len(self.groups), largest)
        return replace(found, figure=figure, without=without, seen=seen, whole=whole, weights=weights)

    def _once(self, split: str, figure: Share) -> tuple[int, int]:
        """Rows of a split that went well, and all that the figure is about."""
        about, good = figure.about(self.outcomes) & self.rows[split], figure.went_well(self.outcomes)
        well, every = (self._number(np.zeros_like(self.code), some, 1) for some in (about & good, about))
        return int(well[0]), int(every[0])

    def _number(self, code: np.ndarray, some: np.ndarray, least: int = 0) -> np.ndarray:
        """Rows by code, of some of them, int64."""
        times = None if self.times is None else self.times[some]
        return rows_by(code[some], times, least)


def counted_splits(
    source: Source, group: Sequence[str], count: str, correct: str, split: str | None
) -> list[SplitCounts]:
    """Counts by group of each split of a table of counts, splits with unseen groups first.

    Args:
        source: the table; rows of a group are added.
        group: columns whose combinations are the groups.
        count: column of the number of samples.
        correct: column of how many were classified correctly.
        split: column of the split; all rows are one, if not given.

    Raises:
        InputError: if a cell is blank or no count, or more are correct than there are.
    """
    columns = [source.column(name) for name in group]
    refuse_blank(columns, "group")
    code, groups = code_groups(columns, np.arange(source.table.num_rows))
    every = counts_of_column(source.column(count))
    of_right = source.column(correct)
    right = counts_of_column(of_right)
    if (right > every).any():
        row = int(np.argmax(right > every))
        raise of_right.error(row, f"is more than {count!r} has there, {every[row]:,}; check which column is which")
    found = []
    for name, here in rows_by_split(None if split is None else source.column(split), len(code)).items():
        added = [rows_by(code[here], each[here], len(groups)) for each in (right, every)]
        found.append(SplitCounts.of_some(name, groups, added[0], added[1]))
    found = [one for one in found if len(one.groups)]
    if not found:
        raise InputError(f"{source.path}: {count!r} is 0 in every row; give counts of which one at least is 1 or more")
    return found
