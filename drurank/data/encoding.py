"""How labels, groups and columns become tensors: by the training rows, kept in checkpoints, never fitted anew.

``rows`` are places in the table, int64 ``[k]``. What the cells must not be is refused before, by the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from drurank.data.memberships import Memberships
from drurank.networks import Sizes
from drurank.tabular.columns import LARGEST, Column
from drurank.tabular.feature import DATE, PERCENT, PLAIN
from drurank.tabular.rows import GroupedRows
from drurank.tabular.spellings import plain_boolean

Encoding = Literal["onehot", "embed"]
UNSEEN = 0


@dataclass
class Names:
    """The labels and groups of the training rows of a file.

    Attributes:
        label_names: label by class number.
        group_names: name of each training group by number.
        fixed: options of the data that are kept too, and that a run which goes on must share.
    """

    fixed: ClassVar[tuple[str, ...]] = ()

    label_names: list[str]
    group_names: list[str]

    def label(self, data: GroupedRows, rows: np.ndarray) -> Tensor:
        """Class number of each of these rows, int64 ``[k]``; -1 where it has none."""
        return torch.from_numpy(recode(data.label[rows], data.label_names, self.label_names))

    def group(self, data: GroupedRows, rows: np.ndarray) -> tuple[Tensor | Memberships, list[str]]:
        """Number of each row's group, int64 ``[k]``, -1 where it has none, and names: new ones follow training's.

        Where groups overlap, the memberships of these rows.
        """
        named = {data.group_names[code] for code in np.unique(data.groups_in(rows))}
        names = [*self.group_names, *sorted(named - set(self.group_names))]
        if data.members is None:
            return torch.from_numpy(recode(data.group[rows], data.group_names, names)), names
        place = np.full(len(data.split), -1)
        place[rows] = np.arange(len(rows))
        row, number = place[data.members.row], recode(data.members.code, data.group_names, names)
        here = row >= 0
        return Memberships.of(torch.from_numpy(row[here]), torch.from_numpy(number[here]), len(rows)), names

    def state_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {"label_names": list(self.label_names), "group_names": list(self.group_names)}

    def agrees(self, state: dict[str, Any]) -> bool:
        """Whether another one's ``state_dict`` was fitted on the same rows in the same way."""
        return self.state_dict() == state


def trained_names(data: GroupedRows) -> tuple[list[str], list[str]]:
    """The labels and the groups of the training rows, in the order of the data."""
    label_names = [name for name, known in zip(data.label_names, data.label_is_trained, strict=True) if known]
    group_names = [name for name, known in zip(data.group_names, data.group_is_trained, strict=True) if known]
    return label_names, group_names


def recode(code: np.ndarray, names: Sequence[Any], new: Sequence[Any]) -> np.ndarray:
    """The codes by other names, int64 ``[k]``; -1 where that lacks the name, or the code is -1."""
    number: np.ndarray = translate([*names, None], {name: place for place, name in enumerate(new)}, -1)[code]
    return number


def translate(names: Sequence[Any], place: Mapping[Any, int], default: int) -> np.ndarray:
    """The number of each name, int64 ``[n]``, or the default where it has none."""
    return np.array([place.get(name, default) for name in names], dtype=np.int64)


@dataclass
class NumericFeature:
    """Standardised numbers: ``(x - mean) / scale`` by the training rows; a missing cell is the mean.

    Attributes:
        name: of the column.
        mean: over the training rows that have it.
        scale: standard deviation over them, 1 where they are all the same.
        indicator: whether a further input says that the cell is missing; only where training had such cells, since
            its weights would else be untrained.
        written: how its text was found to be written, so that that of other rows is read alike; ``None`` in checkpoints
            of older versions, which do not say it, as for those below.
        minimum: the least of the training rows.
        maximum: the largest of them.
    """

    name: str
    mean: float
    scale: float
    indicator: bool
    written: str | None = None
    minimum: float | None = None
    maximum: float | None = None

    @classmethod
    def fit(cls, column: Column, rows: np.ndarray, written: str = PLAIN) -> NumericFeature:
        """From the training rows."""
        numbers = column.numbers[rows]
        missing = np.isnan(numbers)
        mean, scale = float(np.nanmean(numbers)), float(np.nanstd(numbers))
        # Equal numbers differ from their mean by rounding.
        scale = scale if scale > 1e-14 * abs(mean) else 1.0
        low, high = np.min(numbers, initial=np.inf, where=~missing), np.max(numbers, initial=-np.inf, where=~missing)
        return cls(column.name, mean, scale, bool(missing.any()), written, float(low), float(high))

    def state_dict(self) -> dict[str, Any]:
        """All of it as plain values, without what an older checkpoint did not say."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def agrees(self, state: dict[str, Any]) -> bool:
        """Whether the state of another one is of the same rows, as far as its version says."""
        is_older = state.get("minimum") is None
        known = {name: value for name, value in state.items() if value is not None}
        if is_older and known.get("written") == PLAIN and self.written in (PERCENT, DATE):
            known["written"] = self.written  # Older versions called these plain.
        mine = self.state_dict()
        return mine == {**mine, **known}

    def encode(self, column: Column, rows: np.ndarray) -> list[np.ndarray]:
        """One or two inputs, float32 ``[n]``."""
        numbers = column.numbers[rows]
        missing = np.isnan(numbers)
        value = np.where(missing, 0.0, (numbers - self.mean) / self.scale)
        if (np.abs(value) > LARGEST).any():
            row = int(rows[np.argmax(np.abs(value))])
            remedy = "write a number nearer to it, or leave the row out"
            raise column.error(row, f"is too far from training's mean {self.mean:g}; {remedy}")
        return [part.astype(np.float32) for part in ([value, missing] if self.indicator else [value])]


@dataclass
class CategoricalFeature:
    """Codes of the values seen in training; 0 is for any other, missing ones have a code if training had them.

    Attributes:
        name: of the column.
        values: value by code, from code 1; ``None`` stands for missing.
        is_joined: whether values that differ from these only by how they are written are read as them.
    """

    name: str
    values: list[str | None]
    is_joined: bool = False

    @classmethod
    def fit(cls, column: Column, rows: np.ndarray, is_joined: bool = False) -> CategoricalFeature:
        """From the training rows."""
        found = np.unique(column.codes[rows])
        values: list[str | None] = [*sorted({plain_boolean(column.texts[code]) for code in found if code >= 0})]
        return cls(column.name, [*values, None] if found[0] < 0 else values, is_joined)

    def encode(self, column: Column, rows: np.ndarray) -> np.ndarray:
        """Codes, int64 ``[n]``."""
        place = {value: code for code, value in enumerate(self.values, start=1)}
        codes: np.ndarray = translate([*map(plain_boolean, column.texts), None], place, UNSEEN)[column.codes[rows]]
        return codes

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


@dataclass
class Encoder(Names):
    """What was fitted on the training rows of a table.

    Attributes:
        numeric: features that are numbers.
        categorical: features that are codes.
        encoding: whether the network gets codes as ``onehot`` blocks in one tensor, or apart, to ``embed`` them.
    """

    numeric: list[NumericFeature]
    categorical: list[CategoricalFeature]
    encoding: Encoding

    @property
    def kinds(self) -> dict[str, bool]:
        """Name of each feature, and whether it is one of numbers."""
        return {f.name: True for f in self.numeric} | {f.name: False for f in self.categorical}

    @property
    def written(self) -> dict[str, str]:
        """How the text of each feature of numbers was found to be written, by name, as far as that is known."""
        return {feature.name: feature.written for feature in self.numeric if feature.written}

    @property
    def joined(self) -> dict[str, list[str]]:
        """The values of training of each feature whose other ways of writing are read as them, by name."""
        joined = [feature for feature in self.categorical if feature.is_joined]
        return {feature.name: [value for value in feature.values if value is not None] for feature in joined}

    @property
    def sizes(self) -> Sizes:
        """Sizes of the network's inputs and outputs."""
        width = sum(1 + feature.indicator for feature in self.numeric)
        cardinalities = tuple(feature.cardinality for feature in self.categorical)
        if self.encoding == "embed":
            return Sizes(width, len(self.label_names), cardinalities)
        return Sizes(width + sum(cardinalities), len(self.label_names))

    def inputs(self, columns: Mapping[str, Column], rows: np.ndarray) -> dict[str, Tensor]:
        """``numeric`` float32 ``[n, F]`` and ``categorical`` int64 ``[n, K]``."""
        numbers = [part for feature in self.numeric for part in feature.encode(columns[feature.name], rows)]
        codes = [feature.encode(columns[feature.name], rows) for feature in self.categorical]
        numeric = np.stack(numbers, axis=1) if numbers else np.zeros((len(rows), 0), dtype=np.float32)
        categorical = np.stack(codes, axis=1) if codes else np.zeros((len(rows), 0), dtype=np.int64)
        return {"numeric": torch.from_numpy(numeric), "categorical": torch.from_numpy(categorical)}

    def transform(self) -> Callable[[Any], Tensor] | None:
        """What is to be done to each batch of inputs, to keep wide encodings out of memory."""
        if self.encoding == "embed" or not self.categorical:
            return None
        return OneHot(tuple(feature.cardinality for feature in self.categorical))

    def state_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            **super().state_dict(),
            "numeric": [feature.state_dict() for feature in self.numeric],
            "categorical": [vars(feature).copy() for feature in self.categorical],
            "encoding": self.encoding,
        }

    def agrees(self, state: dict[str, Any]) -> bool:
        """Whether another one was fitted on the same rows; older checkpoints do not say how cells are read."""
        numeric = state.get("numeric", ())
        if [feature.name for feature in self.numeric] != [feature["name"] for feature in numeric]:
            return False
        categorical = [{"is_joined": False, **feature} for feature in state.get("categorical", ())]
        alike = all(mine.agrees(other) for mine, other in zip(self.numeric, numeric, strict=True))
        return alike and super().agrees({**state, "numeric": self.state_dict()["numeric"], "categorical": categorical})

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Encoder:
        """From what ``state_dict`` gave."""
        numeric = [NumericFeature(**feature) for feature in state["numeric"]]
        categorical = [CategoricalFeature(**feature) for feature in state["categorical"]]
        return cls(state["label_names"], state["group_names"], numeric, categorical, state["encoding"])
