"""Codes of labels and groups: those of the training rows, kept in checkpoints, never fitted anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from drurank.tabular.rows import GroupedRows


@dataclass
class Names:
    """The labels and groups of the training rows of a file.

    Attributes:
        label_names: label by class number.
        group_names: name of each training group by number.
    """

    label_names: list[str]
    group_names: list[str]

    def label(self, data: GroupedRows, rows: np.ndarray) -> Tensor:
        """Class number of each of these rows, int64 ``[k]``; -1 where it has none."""
        return torch.from_numpy(recode(data.label[rows], data.label_names, self.label_names))

    def group(self, data: GroupedRows, rows: np.ndarray) -> tuple[Tensor, list[str]]:
        """Number of each row's group, int64 ``[k]``, -1 where it has none, and names: new ones follow training's."""
        group = data.group[rows]
        here = [data.group_names[code] for code in np.unique(group[group >= 0])]
        names = [*self.group_names, *sorted(set(here) - set(self.group_names))]
        return torch.from_numpy(recode(group, data.group_names, names)), names

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
