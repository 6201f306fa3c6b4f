"""How a table's columns become tensors: fitted on the training rows, kept in checkpoints, never refitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from drurank.data.reading import Column
from drurank.errors import InputError, nearest

UNSEEN = 0


@dataclass
class NumericFeature:
    """Standardised numbers: ``(x - mean) / scale`` by the training rows; a missing cell is the mean.

    Attributes:
        name: of the column.
        mean: over the training rows that have it.
        scale: standard deviation over them, 1 where it is 0.
        indicator: whether a further input says that the cell is missing.
    """

    name: str
    mean: float
    scale: float
    indicator: bool

    @classmethod
    def fit(cls, column: Column) -> NumericFeature:
        """From the training rows."""
        numbers = column.numbers()
        missing = np.isnan(numbers)
        if missing.all():
            raise InputError(f"{column.path}: column {column.name!r} is empty in training; leave it out with exclude")
        scale = float(np.nanstd(numbers))
        return cls(column.name, float(np.nanmean(numbers)), scale if scale > 0 else 1.0, bool(missing.any()))

    def encode(self, column: Column) -> list[np.ndarray]:
        """One or two inputs, float64 ``[n]``."""
        numbers = column.numbers()
        missing = np.isnan(numbers)
        value = np.where(missing, 0.0, (numbers - self.mean) / self.scale)
        return [value, missing.astype(float)] if self.indicator else [value]


@dataclass
class CategoricalFeature:
    """Codes of the values seen in training; 0 is for any other, missing ones have a code if training had them.

    Attributes:
        name: of the column.
        values: value by code, from code 1; ``None`` stands for missing.
    """

    name: str
    values: list[str | None]

    @classmethod
    def fit(cls, column: Column) -> CategoricalFeature:
        """From the training rows."""
        codes, names = column.codes()
        values: list[str | None] = [*sorted(names)]
        return cls(column.name, [*values, None] if (codes < 0).any() else values)

    def encode(self, column: Column) -> np.ndarray:
        """Codes, int64 ``[n]``."""
        codes, names = column.codes()
        place = {value: code for code, value in enumerate(self.values, start=1)}
        translate = np.array([place.get(name, UNSEEN) for name in [*names, None]], dtype=np.int64)
        return translate[codes]

    @property
    def cardinality(self) -> int:
        """Number of codes, that of unseen values included."""
        return len(self.values) + 1


@dataclass
class OneHot:
    """Puts the codes of categorical features behind the numbers, each as a block of zeros with a one.

    Attributes:
        cardinalities: number of codes by feature.
    """

    cardinalities: tuple[int, ...]

    def __call__(self, inputs: dict[str, Tensor]) -> Tensor:
        """``numeric`` float ``[B, F]`` and ``categorical`` int64 ``[B, K]`` to float ``[B, F + sum]``."""
        blocks = [
            functional.one_hot(inputs["categorical"][:, k], size).float() for k, size in enumerate(self.cardinalities)
        ]
        return torch.cat([inputs["numeric"], *blocks], dim=1)


class Encoder:
    """Numbers, codes and labels of a table.

    Args:
        numeric: features that are numbers.
        categorical: features that are codes.
        labels: label by class number.
        groups: name of each training group by number.
    """

    def __init__(
        self,
        numeric: list[NumericFeature],
        categorical: list[CategoricalFeature],
        labels: list[str],
        groups: list[str],
    ) -> None:
        self.numeric, self.categorical, self.labels, self.groups = numeric, categorical, labels, groups

    @classmethod
    def fit(cls, columns: Sequence[Column], as_codes: Sequence[str], labels: list[str], groups: list[str]) -> Encoder:
        """From the feature columns at the training rows; columns named in ``as_codes`` are codes though numbers."""
        numeric = [c for c in columns if c.name not in as_codes and c.holds_numbers()]
        chosen = {column.name for column in numeric}
        categorical = [CategoricalFeature.fit(column) for column in columns if column.name not in chosen]
        return cls([NumericFeature.fit(column) for column in numeric], categorical, labels, groups)

    @property
    def feature_names(self) -> list[str]:
        """Columns that are read."""
        return [feature.name for feature in [*self.numeric, *self.categorical]]

    @property
    def width(self) -> int:
        """Number of numeric inputs, indicators included."""
        return sum(1 + feature.indicator for feature in self.numeric)

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """Number of codes by categorical feature."""
        return tuple(feature.cardinality for feature in self.categorical)

    def inputs(self, columns: dict[str, Column], rows: int) -> dict[str, Tensor]:
        """``numeric`` float32 ``[n, width]`` and ``categorical`` int64 ``[n, K]``."""
        numbers = [part for feature in self.numeric for part in feature.encode(columns[feature.name])]
        codes = [feature.encode(columns[feature.name]) for feature in self.categorical]
        numeric = np.stack(numbers, axis=1) if numbers else np.zeros((rows, 0))
        categorical = np.stack(codes, axis=1) if codes else np.zeros((rows, 0), dtype=np.int64)
        return {"numeric": torch.from_numpy(numeric).float(), "categorical": torch.from_numpy(categorical)}

    def label(self, column: Column) -> Tensor:
        """Class number of each row, int64 ``[n]``.

        Raises:
            InputError: if a label is blank, or none of training's.
        """
        codes, names = column.codes()
        place = {name: number for number, name in enumerate(self.labels)}
        for code, name in enumerate(names):
            if name not in place:
                row = int(np.argmax(codes == code))
                raise column.error(row, name, f"is a label that training lacks; {nearest(name, self.labels)}")
        if (codes < 0).any():
            raise column.error(int(np.argmax(codes < 0)), None, "is no label; give each row one, or leave the row out")
        return torch.from_numpy(np.array([place[name] for name in names], dtype=np.int64)[codes])

    def state_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "numeric": [vars(feature).copy() for feature in self.numeric],
            "categorical": [vars(feature).copy() for feature in self.categorical],
            "labels": list(self.labels),
            "groups": list(self.groups),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Encoder:
        """From what ``state_dict`` gave."""
        numeric = [NumericFeature(**feature) for feature in state["numeric"]]
        categorical = [CategoricalFeature(**feature) for feature in state["categorical"]]
        return cls(numeric, categorical, state["labels"], state["groups"])


def sorted_labels(column: Column) -> list[str]:
    """Labels of the training rows in the order of their numbers, or else of the alphabet.

    Raises:
        InputError: if there is but one, or they are fractions.
    """
    names = column.codes()[1]
    if len(names) < 2:
        raise InputError(f"{column.path}: column {column.name!r} has one label in training, {names}; give at least two")
    try:
        number = {name: float(name) for name in names}
    except ValueError:
        return sorted(names)
    broken = [name for name in names if not number[name].is_integer()]
    if broken:
        row = int(np.argmax(column.codes()[0] == names.index(broken[0])))
        raise column.error(row, broken[0], "is a fraction, and labels are classes; give whole numbers or names")
    return sorted(names, key=lambda name: (number[name], name))


def determines_label(column: Column, label: Tensor) -> bool:
    """Whether each value of a feature goes with one label in training.

    Only where values that are seen in two or more rows make up at least half of the rows; a column of distinct values
    determines everything and says nothing.
    """
    codes = column.codes()[0]
    codes[codes < 0] = codes.max() + 1
    _, count = np.unique(codes, return_counts=True)
    pairs = np.unique(np.stack([codes, label.numpy()]), axis=1).shape[1]
    return pairs == len(count) and count[count > 1].sum() * 2 >= len(codes)
