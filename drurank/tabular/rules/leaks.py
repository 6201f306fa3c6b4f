"""Features that give the label away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from drurank.tabular.alike import copies
from drurank.tabular.columns import as_option
from drurank.tabular.feature import FEWEST, Feature
from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules.finding import Finding
from drurank.words import quoted, some

NEARLY = 0.97
GAIN = 0.1
"""A rule is as good as the label where it has at most this share of the errors of always saying the commonest one."""
IN_GROUPS = 4
"""In so many groups a row may be on purpose, as one for each attribute of a person."""
REPEATED = 10
"""So many times a table is repeated on purpose; a value of more rows is one of few."""
LOOK_THE_SAME = "rows that were repeated many times look like this too; if these were, leave the copies out"


def determines_label(data: GroupedRows) -> Iterator[Finding]:
    """Features that determine the label in training and are not allowed to, in one finding."""
    asked = [feature for feature in data.features if feature.name not in data.allow_leaks]
    if not asked:
        return
    learnt = _Learnt.of(data)
    names = [feature.name for feature in asked if learnt.is_determined_by(feature)]
    if names:
        what = f"the label {data.label_column.name!r}" if data.label_column else "the label"
        which = "each of the columns" if len(names) > 1 else "column"
        yield Finding(
            "determines_label",
            "error",
            f"{which} {some(map(quoted, names), shown=10)} determines {what} in every {_row(data)}; leave out what is "
            f"not known before the label is ({as_option('exclude', names)}), and allow the rest "
            f"({as_option('allow_leaks', names)}){'; ' + LOOK_THE_SAME if learnt.is_many_times_over else ''}",
            names,
            column=names[0],
        )


def nearly_determines_label(data: GroupedRows) -> Iterator[Finding]:
    """Features that all but determine the label in training, in one finding."""
    if not data.features:
        return
    learnt, shares = _Learnt.of(data), {}
    for feature in data.features:
        rows = learnt.judged(feature)
        code, label = feature.code[rows], data.label[rows]
        if len(rows) and not _is_pure(code, label):
            base = 1 - np.bincount(label).max() / len(label)
            share = others_agree(code, label)
            if share >= NEARLY and 1 - share <= GAIN * base:
                shares[feature.name] = share
    if shares:
        names = list(shares)
        which = "each of the columns" if len(names) > 1 else "column"
        yield Finding(
            "nearly_determines_label",
            "warning",
            f"{which} {some(map(quoted, names), shown=10)} all but determines the label: saying what other rows of the "
            f"same value have is right in {some(f'{share:.2%}' for share in shares.values())} of the {_row(data)}s "
            "that have such; is it known before the label is? if not, leave it out "
            f"({as_option('exclude', names)})",
            names,
            column=names[0],
        )


def _row(data: GroupedRows) -> str:
    return "training row" if data.trains else "row"


@dataclass(frozen=True)
class _Learnt:
    """The labelled training rows, int64 ``[k]`` each, by how sure it is that they are different rows and not copies.

    A column that has a value of its own in each row determines the label and says nothing; in copies of these rows
    each of its values has several. So what counts is how many different rows a value has. Columns that only number the
    rows tell no copies apart, since the rows may have been numbered last.

    Attributes:
        label: of all rows of the data, int64 ``[n]``.
        every: all of them.
        once: without those that repeat another in label, group and features, unless chance makes them.
        grouped: those that differ in label, group or features.
        distinct: those that differ in label or features.
        values: those that differ in features.
        hardly_told: whether the features cannot tell a leak from copies, as they are but one or hardly a row differs;
            an error is then better than silence.
    """

    label: np.ndarray
    every: np.ndarray
    once: np.ndarray
    grouped: np.ndarray
    distinct: np.ndarray
    values: np.ndarray
    hardly_told: bool

    @classmethod
    def of(cls, data: GroupedRows) -> _Learnt:
        """Those of this data; none where all have the same label."""
        different = np.flatnonzero(~data.copied)
        told = replace(data, features=[feature for feature in data.features if not feature.counts_rows(different)])
        every = data.learnt[data.label[data.learnt] >= 0]
        if len(every) and (data.label[every] == data.label[every[0]]).all():
            every = every[:0]
        label, group = data.label[every], data.group_set[every]
        features = [feature.code[every] for feature in told.read]
        none = np.zeros_like(label)
        distinct = every[~copies([label, *features])]
        return cls(
            label=data.label,
            every=every,
            once=told.once(every),
            grouped=every[~copies([label, group, *features])],
            distinct=distinct,
            values=every[~copies([none, *features])],
            hardly_told=len(distinct) < FEWEST or sum(bool((code != code[:1]).any()) for code in features) < 2,
        )

    @property
    def is_many_times_over(self) -> bool:
        """Whether there are so few different rows that the table may be one repeated many times."""
        return len(self.every) > (IN_GROUPS if self.hardly_told else REPEATED) * len(self.grouped)

    def is_determined_by(self, feature: Feature) -> bool:
        """Whether each value of a feature goes with one label, and most have several rows that are no copies."""
        if not _is_pure(feature.code[self.every], self.label[self.every]):
            return False
        in_groups, in_all = (0, IN_GROUPS) if self.hardly_told else (IN_GROUPS, REPEATED)
        return (
            _is_shared(feature.code[self.distinct])
            or (_is_shared(feature.code[self.grouped]) and self.rows_of_a_value(feature, self.grouped) > in_groups)
            or (_is_shared(feature.code[self.every]) and self.rows_of_a_value(feature, self.every) > in_all)
        )

    def judged(self, feature: Feature) -> np.ndarray:
        """The rows in which to look whether a feature all but determines the label.

        They are all where nothing but the feature tells rows apart and it has few values: only its errors would be
        left beside one row for each value.
        """
        alone = self.rows_of_a_value(feature, self.values) <= IN_GROUPS
        return self.every if alone and self.rows_of_a_value(feature, self.every) > REPEATED else self.once

    def rows_of_a_value(self, feature: Feature, rows: np.ndarray) -> float:
        """The mean number of rows of a value, for the label of the most values: that is not oversampled.

        Where a value has several labels, any of them counts.
        """
        if len(rows) == 0:
            return 0.0
        value, label = feature.code[rows] + 1, self.label[rows]
        count = np.bincount(value)
        label_of = np.zeros_like(count)
        label_of[value] = label
        most = label_of == np.bincount(label_of[count > 0]).argmax()
        return float(count[most & (count > 0)].mean())


def determines(value: np.ndarray, label: np.ndarray) -> bool:
    """Whether each value of a feature goes with one label, and values of two or more rows make up half of the rows.

    A column of distinct values determines everything and says nothing.

    Args:
        value: codes or numbers in rows that are no copies, ``[n]``; missing ones count as one value.
        label: class numbers from 0, int64 ``[n]``.
    """
    code = np.unique(value, return_inverse=True)[1]
    return _is_pure(code, label) and _is_shared(code)


def _is_pure(code: np.ndarray, label: np.ndarray) -> bool:
    """Whether each value goes with one label, by its code from -1; not where there are no rows."""
    label_of = np.zeros(int(code.max(initial=-1)) + 2, dtype=np.int64)
    label_of[code + 1] = label
    return len(code) > 0 and bool((label_of[code + 1] == label).all())


def _is_shared(code: np.ndarray) -> bool:
    """Whether values of two or more rows make up at least half of the rows, by their codes from -1."""
    count = np.bincount(code + 1)
    return bool(count[count > 1].sum() * 2 >= len(code))


def others_agree(code: np.ndarray, label: np.ndarray) -> float:
    """How often the label most frequent among the *other* rows of the same value is right; a tie is wrong.

    A row that is alone with its value is not counted, since any column of many values would else pass.

    Args:
        code: number of the value, int64 ``[n]``.
        label: int64 ``[n]``.

    Returns:
        Share of the rows that are not alone; 0 where these are fewer than half.
    """
    times = np.bincount(code + 1)
    if times[times > 1].sum() * 2 < len(code):
        return 0.0
    width = int(label.max()) + 1
    pair, count = np.unique((code + 1) * width + label, return_counts=True)
    value = pair // width
    order = np.lexsort((count, value))
    value, count = value[order], count[order]
    last = np.append(np.diff(value) != 0, True)
    top = np.flatnonzero(last)
    before = np.maximum(top - 1, 0)
    second = np.where((top > 0) & (value[before] == value[top]), count[before], 0)
    total = np.diff(np.append(0, np.cumsum(count)[top]))
    shared = total > 1
    right = np.where(count[top] - 1 > second, count[top], 0)[shared].sum()
    return float(right / total[shared].sum())
