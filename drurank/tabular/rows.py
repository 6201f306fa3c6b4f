"""The rows of grouped data as arrays of codes, nothing refused, for a look before they are trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from drurank.errors import InputError
from drurank.splits import SPLITS
from drurank.tabular.columns import ALL_ROWS, Column, code_groups, place_of, refuse_unknown, to_number

TESTED = ("ood_test", "test", "id_test", "ood_val", "val", "id_val")
"""Parts by how much hangs on them: what is tested, then what a checkpoint is chosen by."""


@dataclass(frozen=True)
class Feature:
    """A column to learn from.

    Attributes:
        column: its cells.
        is_number: whether it counts as one of numbers, or else as one of categories.
        code: number of each cell's value, int64 ``[n]``, -1 where it is missing.
        size: how many values there are.
    """

    column: Column
    is_number: bool
    code: np.ndarray
    size: int

    @classmethod
    def read(cls, column: Column, *, is_number: bool) -> Feature:
        """Number the values of a column."""
        if not is_number:
            return cls(column, False, column.codes, len(column.texts))
        coded = pa.array(column.numbers, from_pandas=True).dictionary_encode()
        code = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        return cls(column, True, code, len(coded.dictionary))

    @property
    def name(self) -> str:
        """That of the column."""
        return self.column.name

    @cached_property
    def counts(self) -> np.ndarray:
        """Rows by value, int64 ``[size]``."""
        return np.bincount(self.code[self.code >= 0], minlength=self.size)

    @property
    def repeats(self) -> bool:
        """Whether values that two or more rows have make up at least half of the rows; else it is no category."""
        return bool(self.counts[self.counts > 1].sum() * 2 >= self.counts.sum())


@dataclass(frozen=True)
class GroupedRows:
    """Grouped data as it is looked at; all codes are int64 ``[n]`` and -1 where there is none.

    Attributes:
        source: the file or the data, for messages.
        parts: names of the parts that have rows.
        part: code of each row's part.
        labels: names of the labels, in the order of their numbers or else of the alphabet.
        label: code of each row's label.
        groups: names of the groups.
        group: code of each row's group.
        grouped: whether the rows have groups at all.
        features: columns to learn from.
        texts: columns of text to learn from, of which another in each row is no fault.
        label_column: of the label, where the data is a table.
        group_columns: those of the group.
        split_column: that of the split.
        split_names: what each spelling of a split stands for.
        unusable: what is wrong with a feature that cannot be read as it is, by its name.
        places: of the rows in the file, where they are but some of its rows.
    """

    source: str
    parts: list[str]
    part: np.ndarray
    labels: list[str]
    label: np.ndarray
    groups: list[str]
    group: np.ndarray
    grouped: bool = True
    features: Sequence[Feature] = ()
    texts: Sequence[Feature] = ()
    label_column: Column | None = None
    group_columns: Sequence[Column] = ()
    split_column: Column | None = None
    split_names: Mapping[str, str] = field(default_factory=dict)
    unusable: Mapping[str, str] = field(default_factory=dict)
    places: np.ndarray | None = None

    def place_of(self, row: int) -> int:
        """The place of a row in the file."""
        return place_of(row, self.places)

    def rows_of(self, part: str) -> np.ndarray:
        """Places of the rows of a part, int64 ``[k]``; none where there is no such part."""
        rows: np.ndarray = np.flatnonzero(
            self.part == (self.parts.index(part) if part in self.parts else len(self.parts))
        )
        return rows

    @property
    def trains(self) -> bool:
        """Whether there are rows to train on."""
        return "train" in self.parts

    @property
    def evaluated(self) -> list[str]:
        """The parts that are not for training, where one is."""
        return [part for part in self.parts if part in TESTED] if self.trains else []

    @cached_property
    def learnt(self) -> np.ndarray:
        """Places of the training rows, or of all where none is for training, int64 ``[k]``."""
        return self.rows_of("train") if self.trains else np.arange(len(self.part))

    @property
    def tested(self) -> str:
        """The part on which most hangs."""
        return next((part for part in TESTED if part in self.parts), self.parts[0] if self.parts else ALL_ROWS)

    @cached_property
    def label_numbers(self) -> np.ndarray:
        """Labels as float64 ``[k]``, infinite where one is no number."""
        numbers = np.array([to_number(name) for name in self.labels], dtype=float)
        numbers[np.isnan(numbers)] = np.inf
        return numbers

    def group_sizes(self, part: str) -> np.ndarray:
        """Rows by group of a part, int64 ``[m]``, 0 for groups that it lacks."""
        group = self.group[self.rows_of(part)]
        sizes: np.ndarray = np.bincount(group[group >= 0], minlength=len(self.groups))
        return sizes


def gather_rows(
    path: str,
    table: pa.Table,
    *,
    label: str,
    group: Sequence[str] = (),
    split: str | None = None,
    split_names: Mapping[str, str] | None = None,
    features: Sequence[str] = (),
    exclude: Sequence[str] = (),
    categorical: Sequence[str] = (),
    texts: Sequence[str] = (),
    places: np.ndarray | None = None,
) -> GroupedRows:
    """The rows of a table; the arguments are those of ``Table``, or, with ``texts``, of ``Text`` in ``drurank.data``.

    ``places`` are those of the rows in the file.

    Raises:
        InputError: if there is no such column, or label, group or split are neither numbers nor booleans nor text.
    """
    refuse_unknown(path, table, [label, *group, *([split] if split else []), *features, *exclude, *categorical, *texts])
    roles = {
        name: Column(path, name, table[name]) for name in dict.fromkeys([label, *group, *([split] if split else [])])
    }
    every = np.arange(table.num_rows)
    spellings = {**{name: name for name in SPLITS}, **(split_names or {})}
    parts, part = _number_parts(roles[split], spellings) if split else ([ALL_ROWS], np.zeros(len(every), np.int64))
    labels, label_code = _number_labels(roles[label])
    group_code, groups = code_groups([roles[name] for name in group], every, blank=True)
    others = [] if texts else [name for name in table.column_names if name not in {*roles, *exclude}]
    learnt = np.flatnonzero(part == parts.index("train")) if "train" in parts else every
    read, unusable = _read_features(path, table, list(features) or others, categorical, learnt)
    return GroupedRows(
        source=path,
        parts=parts,
        part=part,
        labels=labels,
        label=label_code,
        groups=groups,
        group=group_code,
        grouped=bool(group),
        features=read,
        texts=[Feature.read(Column(path, name, table[name]), is_number=False) for name in texts],
        label_column=roles[label],
        group_columns=[roles[name] for name in group],
        split_column=roles[split] if split else None,
        split_names=spellings,
        unusable=unusable,
        places=places,
    )


def _number_parts(column: Column, spellings: Mapping[str, str]) -> tuple[list[str], np.ndarray]:
    found = [spellings.get(text) for text in column.texts]
    parts = [split for split in SPLITS if split in found]
    place = np.array([*(parts.index(name) if name else -1 for name in found), -1], dtype=np.int64)
    return parts, place[column.codes]


def _number_labels(column: Column) -> tuple[list[str], np.ndarray]:
    number = {text: to_number(text) for text in column.texts}
    labels = sorted(column.texts)
    if np.isfinite(list(number.values())).all():
        labels.sort(key=number.__getitem__)
    place = {name: code for code, name in enumerate(labels)}
    return labels, np.array([*(place[text] for text in column.texts), -1], dtype=np.int64)[column.codes]


def _read_features(
    path: str, table: pa.Table, names: Sequence[str], categorical: Sequence[str], learnt: np.ndarray
) -> tuple[list[Feature], dict[str, str]]:
    features, unusable = [], {}
    for name in names:
        try:
            column = Column(path, name, table[name])
        except InputError as error:
            unusable[name] = str(error)
            continue
        is_number = False
        try:
            is_number = name not in categorical and column.holds_numbers(learnt)
            if is_number:
                column.numbers_at(np.arange(len(column.values)))
        except InputError as error:
            unusable[name] = str(error)
        features.append(Feature.read(column, is_number=is_number))
    return features, unusable
