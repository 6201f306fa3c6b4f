"""What was predicted of rows, and the counts by group of any figure of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from drurank.errors import InputError, nearest
from drurank.figures import ACCURACY, Measure, Outcomes, Share
from drurank.report.classes import ClassCounts, rows_by
from drurank.report.counts import ALL, SplitCounts
from drurank.report.served import Served
from drurank.report.values import SplitValues
from drurank.run_folder.layout import SEEN
from drurank.splits import TEST, TRAINING, VALIDATION
from drurank.tabular.coding import code_groups
from drurank.tabular.columns import Column, Names, refuse_unknown, to_number
from drurank.tabular.rules.cells import blank_cells
from drurank.words import as_names, joined

ORDER = (*TEST, *VALIDATION, *TRAINING)


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
    """

    names: Sequence[str]
    number_of: Callable[[str], int | None]
    outcomes: Outcomes
    code: np.ndarray
    groups: Sequence[str]
    rows: Mapping[str, np.ndarray]
    times: np.ndarray | None = None
    seen: np.ndarray | None = None

    @classmethod
    def of_table(
        cls,
        path: str,
        table: pa.Table,
        label: str,
        prediction: str,
        group: Sequence[str],
        split: str | None,
        labels: Sequence[str] = (),
        positive: str | None = None,
        times: np.ndarray | None = None,
    ) -> Answers:
        """Compare predictions with labels.

        Args:
            path: what the table is called in messages.
            table: a row for each prediction.
            label: column of the right class.
            prediction: column of the predicted class.
            group: columns whose combinations are the groups.
            split: column of the split; all rows are one, if not given.
            labels: further classes that may be predicted.
            positive: label of the positive class, for figures that need one.
            times: how many rows each row of the table stands for, int64 ``[n]``; one, if not given.

        Raises:
            InputError: if a column is missing, a cell is blank, or a prediction or the positive class is no label.
        """

        def column(name: str) -> Column:
            refuse_unknown(path, table, [name])
            return Column(path, name, table[name])

        right, predicted = column(label), column(prediction)
        known = [*right.texts, *labels]
        true, said, number_of = _numbered(right, predicted, known)
        values = np.array([to_number(text) for text in known])
        numbers = values if np.isfinite(values).all() else None
        columns = [column(name) for name in group]
        _refuse_blank(columns, "group")
        code, groups = code_groups(columns, np.arange(table.num_rows))
        classes = len({number_of(text) for text in known})
        outcomes = Outcomes(true, said, _positive(known, positive, number_of), numbers, classes)
        rows = _rows_by_split(None if split is None else column(split), len(code))
        seen = _said_seen(column(SEEN), code, len(groups)) if group and SEEN in table.column_names else None
        if seen is None and "train" in rows:
            seen = np.isin(np.arange(len(groups)), code[rows["train"]])
        return cls(known, number_of, outcomes, code, groups, rows, times, seen)

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

    def _values(self, figure: Measure, only: Sequence[str]) -> list[SplitValues]:
        figure.check(self.outcomes, self.names)
        arrays, found = figure.prepare(self.outcomes), []
        for name, here in self._shown(only).items():
            rows = np.flatnonzero(here)
            rows = rows if self.times is None else np.repeat(rows, self.times[rows])
            if len(rows):
                of_rows = tuple(array[rows] for array in arrays)
                found.append(SplitValues.of_rows(name, self.groups, figure, of_rows, self.code[rows], self.seen))
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
        label, times = self.outcomes.label[here], None if self.times is None else self.times[here]
        classes = ClassCounts.of_rows(label, good[here], self.names, commonest, times) if figure is ACCURACY else None
        found = SplitCounts.of_some(split, self.groups, correct, count, classes=classes)
        without = tuple(self.groups[int(place)] for place in np.flatnonzero((rows > 0) & (count == 0)))
        seen = None if self.seen is None else self.seen[np.flatnonzero(count)]
        return replace(found, figure=figure, without=without, seen=seen)

    def _number(self, code: np.ndarray, some: np.ndarray, least: int = 0) -> np.ndarray:
        """Rows by code, of some of them, int64."""
        times = None if self.times is None else self.times[some]
        return rows_by(code[some], times, least)


def named_splits(on: Names, split: str | None, known: Sequence[str]) -> list[str]:
    """The splits that are named, in the order of those there are; all, if none is named.

    Args:
        on: what is given.
        split: column of the split.
        known: the splits there are.

    Raises:
        InputError: if there is no such split, or no column of splits is given.
    """
    wanted = as_names(on)
    if wanted and split is None:
        raise InputError(f"on is {on!r}, and no column says of which split a row is; give split=... too")
    for name in wanted:
        if name not in known:
            raise InputError(f"on is {on!r}, and column {split!r} has no split {name!r}: {nearest(name, known)}")
    return [name for name in known if not wanted or name in wanted]


def refuse_lacking(path: str, table: pa.Table, label: str, others: Sequence[str]) -> None:
    """Refuse a table of predictions without the right classes, or without another column that is needed.

    Raises:
        InputError: naming the first.
    """
    refuse_unknown(
        path,
        table,
        [label],
        "; without the right class of each row nothing can be scored: name its column as label=..., or predict rows "
        "that have labels",
    )
    refuse_unknown(path, table, others)


def counts_of_column(column: Column) -> np.ndarray:
    """Counts, int64 ``[n]``.

    Raises:
        InputError: naming the first cell that is not a whole number of 0 or more.
    """
    numbers = column.numbers
    wrong = ~((numbers >= 0) & (numbers == np.floor(numbers)) & np.isfinite(numbers))
    if wrong.any():
        raise column.error(int(np.argmax(wrong)), "is not a count; give whole numbers of 0 or more")
    return numbers.astype(np.int64)


def counted_splits(
    path: str, table: pa.Table, group: Sequence[str], count: str, correct: str, split: str | None
) -> list[SplitCounts]:
    """Counts by group of each split of a table of counts, splits with unseen groups first.

    Args:
        path: what the table is called in messages.
        table: its rows; those of a group are added.
        group: columns whose combinations are the groups.
        count: column of the number of samples.
        correct: column of how many were classified correctly.
        split: column of the split; all rows are one, if not given.

    Raises:
        InputError: if a cell is blank or no count, or more are correct than there are.
    """
    columns = [Column(path, name, table[name]) for name in group]
    _refuse_blank(columns, "group")
    code, groups = code_groups(columns, np.arange(table.num_rows))
    every = counts_of_column(Column(path, count, table[count]))
    of_right = Column(path, correct, table[correct])
    right = counts_of_column(of_right)
    if (right > every).any():
        row = int(np.argmax(right > every))
        raise of_right.error(row, f"is more than {count!r} has there, {every[row]:,}; check which column is which")
    found = []
    for name, here in _rows_by_split(None if split is None else Column(path, split, table[split]), len(code)).items():
        added = [rows_by(code[here], each[here], len(groups)) for each in (right, every)]
        found.append(SplitCounts.of_some(name, groups, added[0], added[1]))
    return [one for one in found if len(one.groups)]


def _said_seen(column: Column, code: np.ndarray, groups: int) -> np.ndarray | None:
    """What a column says of each group, bool ``[m]``; ``None`` where it says nothing of one, or two things."""
    words = {"true": True, "false": False}
    other = [text for text in column.texts if text.lower() not in words]
    if other:
        row = int(np.argmax(column.codes == column.texts.index(other[0])))
        raise column.error(row, "is neither true nor false; write one of them, or give the column another name")
    row_says = np.array([*(words[text.lower()] for text in column.texts), False])[column.codes]
    yes = np.bincount(code[row_says], minlength=groups)
    no = np.bincount(code[~row_says & (column.codes >= 0)], minlength=groups)
    return yes > 0 if ((yes > 0) != (no > 0)).all() else None


def _rows_by_split(split: Column | None, rows: int) -> dict[str, np.ndarray]:
    """Which rows are of each split, splits with unseen groups first; all are one, if there is no column."""
    if split is None:
        return {ALL: np.ones(rows, dtype=bool)}
    _refuse_blank([split], "split")
    order = {name: place for place, name in enumerate(ORDER)}
    names = sorted(split.texts, key=lambda name: (order.get(name, len(order)), name))
    return {name: split.codes == split.texts.index(name) for name in names}


def _numbered(
    label: Column, prediction: Column, known: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, Callable[[str], int | None]]:
    """Class numbers of labels and predictions, int64 ``[n]`` each, and that of a text.

    Equal numbers are one class however they are written.
    """
    for column, what in ((label, "label"), (prediction, "prediction")):
        _refuse_blank([column], what)
    key: Callable[[str], Any] = (
        _exact if all(np.isfinite(to_number(text)) for text in [*known, *prediction.texts]) else str
    )
    place = {key(text): number for number, text in reversed(list(enumerate(known)))}
    predicted = np.array([place.get(key(text), -1) for text in prediction.texts])[prediction.codes]
    if (predicted < 0).any():
        row = int(np.argmax(predicted < 0))
        raise prediction.error(
            row,
            f"is not one of the labels; {nearest(prediction.texts[prediction.codes[row]], known)}; give the predicted "
            "class in each row, or name all classes, as labels='0,1,2'",
        )

    def number_of(text: str) -> int | None:
        return None if key is _exact and not np.isfinite(to_number(text)) else place.get(key(text))

    return np.array([place[key(text)] for text in label.texts])[label.codes], predicted, number_of


def _positive(known: Sequence[str], given: str | None, number_of: Callable[[str], int | None]) -> int | None:
    """Number of the positive class; of classes 0 and 1 it is 1, if none is given."""
    if given is None:
        is_binary = {number_of(text) for text in known} == {number_of("0"), number_of("1")}
        return number_of("1") if is_binary else None
    found = number_of(given)
    if found is None:
        raise InputError(f"positive is {given!r}, which is no label: {nearest(given, list(dict.fromkeys(known)))}")
    return found


def _refuse_blank(columns: Sequence[Column], what: str) -> None:
    for finding in blank_cells(columns, what, np.arange(len(columns[0].codes)) if columns else np.zeros(0, np.int64)):
        raise finding.error(columns[0].path)


def _exact(text: str) -> Decimal:
    return Decimal(text.strip())
