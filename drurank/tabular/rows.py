"""The rows of grouped data as arrays of codes: what the rules look at, and what a fit learns from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from drurank.splits import TEST, VALIDATION
from drurank.tabular.alike import alike_rows, later_ones, looks_like_chance
from drurank.tabular.coding import ALL_ROWS
from drurank.tabular.columns import Column, to_number
from drurank.tabular.feature import Feature
from drurank.tabular.memberships import Members

if TYPE_CHECKING:
    from drurank.images.look import Look  # of the extra for pictures, which tables do without

GroupIn = Literal["all", "eval"]
By = Literal["crossed", "overlapping"]
Missing = Literal["error", "indicator", "drop"]
EVALUATED = (*TEST, *VALIDATION)
"""Splits by how much hangs on them: what is tested, then what a checkpoint is chosen by."""


@dataclass(frozen=True)
class GroupedRows:
    """Grouped data as arrays of codes, int64 ``[n]`` each, -1 where a row has none.

    Attributes:
        source: the file or the data, for messages.
        splits: names of the splits that have rows.
        split: code of each row's split; rows without one are left out of all that is trained on or evaluated.
        label_names: in the order of their numbers or else of the alphabet.
        label: code of each row's label.
        group_names: sorted.
        group: code of each row's group; -1 of all, where ``members`` say it.
        grouped: whether the rows have groups at all.
        members: which rows are in which groups, where a row may be in several or none.
        features: columns to learn from.
        texts: columns of text to learn from; another text in each row is no fault.
        texts_are: what they hold: text, or names of pictures.
        pictures: names of the pictures, where ``texts`` are what they hold.
        looks: what a look at each row's picture shows, where they were looked at.
        side: length that the shorter side of a picture is made, in pixels.
        label_column: of the label, where the data is a table.
        group_columns: those of the group.
        split_column: that of the split.
        split_names: what each spelling of a split stands for.
        unusable: columns that cannot be read as features, and why.
        indices: columns that only number the rows, by their name and their cells, and are no features.
        trained_labels: the labels of training where a checkpoint says them, and not the training rows.
        trained_groups: the groups of training, likewise.
        join_twins: whether groups whose names differ only by how they are written are one.
        group_in: whether training rows may be without a group (``eval``).
        missing: what a missing feature does; only by ``error`` does it stop a run.
        allow_leaks: features that may determine the label.
        most_categories: of a feature that are taken, as one-hot encoding makes an input of each; any number, if
            ``None``.
        remedies: code of a finding to what to do about it, where the data has an advice of its own.
    """

    source: str
    splits: list[str]
    split: np.ndarray
    label_names: list[str]
    label: np.ndarray
    group_names: list[str]
    group: np.ndarray
    grouped: bool = True
    members: Members | None = None
    features: Sequence[Feature] = ()
    texts: Sequence[Feature] = ()
    texts_are: Literal["text", "pictures"] = "text"
    pictures: Column | None = None
    looks: Sequence[Look] = ()
    side: int = 0
    label_column: Column | None = None
    group_columns: Sequence[Column] = ()
    split_column: Column | None = None
    split_names: Mapping[str, str] = field(default_factory=dict)
    unusable: Mapping[str, str] = field(default_factory=dict)
    indices: Sequence[str] = ()
    trained_labels: Sequence[str] | None = None
    trained_groups: Sequence[str] | None = None
    join_twins: bool = False
    group_in: GroupIn = "all"
    missing: Missing = "error"
    allow_leaks: Sequence[str] = ()
    most_categories: int | None = None
    remedies: Mapping[str, str] = field(default_factory=dict)

    def name_row(self, row: int) -> str:
        """A row by its place in its file, which is named where there are several."""
        column = self.label_column
        if column is None:
            return str(row)
        place = str(column.place_of(int(row)))
        return place if column.files is None else f"{place} of {column.file_of(int(row))}"

    def rows_of(self, split: str) -> np.ndarray:
        """The rows of a split, int64 ``[k]``; none where there is no such split."""
        code = self.splits.index(split) if split in self.splits else len(self.splits)
        rows: np.ndarray = np.flatnonzero(self.split == code)
        return rows

    def only(self, split: str) -> GroupedRows:
        """The same with the rows of the other splits left out."""
        code = self.splits.index(split)
        return replace(self, split=np.where(self.split == code, code, -1))

    @property
    def trains(self) -> bool:
        """Whether there are rows to train on."""
        return "train" in self.splits

    @property
    def unlabelled(self) -> list[str]:
        """Splits for testing of which no row has a label; they can be predicted."""
        splits = [split for split in TEST if split in self.splits]
        return [split for split in splits if len(rows := self.rows_of(split)) and (self.label[rows] < 0).all()]

    @property
    def untested(self) -> np.ndarray:
        """The rows of splits without labels, int64 ``[k]``."""
        rows: np.ndarray = np.concatenate([np.zeros(0, np.int64), *map(self.rows_of, self.unlabelled)])
        return rows

    @property
    def evaluated(self) -> list[str]:
        """The splits that are not for training, where one is."""
        return [split for split in self.splits if split in EVALUATED] if self.trains else []

    @cached_property
    def used(self) -> np.ndarray:
        """The rows that are in a split, int64 ``[k]``."""
        rows: np.ndarray = np.flatnonzero(self.split >= 0)
        return rows

    @cached_property
    def learnt(self) -> np.ndarray:
        """The training rows, or all where none is for training, int64 ``[k]``."""
        return self.rows_of("train") if self.trains else np.arange(len(self.split))

    @property
    def tested(self) -> str:
        """The split on which most hangs."""
        return next((split for split in EVALUATED if split in self.splits), self.splits[0] if self.splits else ALL_ROWS)

    @property
    def read(self) -> list[Feature]:
        """Features and texts that can be read."""
        return [*self.features, *self.texts]

    @cached_property
    def alike(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows that equal another of their split in label, group and all features or texts, see ``alike_rows``."""
        none = np.zeros(0, dtype=np.int64)
        return alike_rows(self.codes(self.read)) if self.read else (none, none)

    @cached_property
    def copied(self) -> np.ndarray:
        """Rows that equal an earlier one of their split in label, group and all features or texts, bool ``[n]``.

        Columns that cannot be read are left out, as they must be to train; without a column that can, no row is one.
        """
        return later_ones(*self.alike, len(self.split))

    @cached_property
    def chance_splits(self) -> list[str]:
        """Splits with copies that chance alone is likely to make, in columns of few values; these are other rows."""
        found = []
        for split in self.splits:
            here = self.rows_of(split)
            if self.copied[here].any():
                label, *others = (code[here] for code in self.codes(self.read)[1:])
                if looks_like_chance(label, others):
                    found.append(split)
        return found

    @cached_property
    def repeated(self) -> np.ndarray:
        """Rows that are copies of an earlier one, by no chance, bool ``[n]``: oversampled, or there by mistake."""
        codes = [self.splits.index(split) for split in self.chance_splits]
        repeated: np.ndarray = self.copied & ~np.isin(self.split, codes)
        return repeated

    def once(self, rows: np.ndarray) -> np.ndarray:
        """Of these rows, int64 ``[k]``, those that repeat no earlier one."""
        kept: np.ndarray = rows[~self.repeated[rows]]
        return kept

    def codes(self, features: Sequence[Feature]) -> list[np.ndarray]:
        """What rows are compared by, int64 ``[n]`` each: split, label, group and these features."""
        return [self.split, self.label, self.group_set, *(feature.code for feature in features)]

    @cached_property
    def group_set(self) -> np.ndarray:
        """A number that rows share that are in the same groups, int64 ``[n]``."""
        if self.members is None:
            return self.group
        # Sums of random numbers of 64 bits, one a group, differ for all sets that there will ever be.
        of_group = np.random.default_rng(0).integers(2**63, size=len(self.group_names))
        total = np.zeros(len(self.group), dtype=np.int64)
        np.add.at(total, self.members.row, of_group[self.members.code])
        return np.unique(total, return_inverse=True)[1]

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Row and code of group, int64 ``[p]`` each, once for each group that a row is in."""
        if self.members is not None:
            return self.members.row, self.members.code
        rows = np.flatnonzero(self.group >= 0)
        return rows, self.group[rows]

    def groups_in(self, rows: np.ndarray) -> np.ndarray:
        """Codes of the groups of these rows, int64, once for each row that is in them.

        Args:
            rows: places, int64 ``[k]``, each once.
        """
        chosen = np.zeros(len(self.split), dtype=bool)
        chosen[rows] = True
        row, group = self.pairs
        found: np.ndarray = group[chosen[row]]
        return found

    @cached_property
    def label_is_trained(self) -> np.ndarray:
        """Which labels training has, bool ``[c]``."""
        return _occurs(self.label[self.learnt], self.label_names, self.trained_labels)

    @cached_property
    def group_is_trained(self) -> np.ndarray:
        """Which groups training has, bool ``[m]``."""
        return _occurs(self.groups_in(self.rows_of("train")), self.group_names, self.trained_groups)

    @cached_property
    def label_numbers(self) -> np.ndarray:
        """Labels as float64 ``[c]``, infinite where one is not a number."""
        numbers = np.array([to_number(name) for name in self.label_names], dtype=float)
        numbers[np.isnan(numbers)] = np.inf
        return numbers

    def group_sizes(self, split: str, *, once: bool = False) -> np.ndarray:
        """Rows by group of a split, int64 ``[m]``, 0 for groups that it lacks.

        Args:
            split: its name.
            once: whether a row that repeats another does not count.
        """
        rows = self.rows_of(split)
        group = self.groups_in(self.once(rows) if once else rows)
        sizes: np.ndarray = np.bincount(group, minlength=len(self.group_names))
        return sizes


def _occurs(code: np.ndarray, names: Sequence[str], known: Sequence[str] | None) -> np.ndarray:
    if known is not None:
        some = set(known)
        return np.array([name in some for name in names], dtype=bool)
    occurs = np.zeros(len(names) + 1, dtype=bool)
    occurs[code] = True
    return occurs[:-1]
