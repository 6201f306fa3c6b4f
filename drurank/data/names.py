"""Numbers of labels and groups: those of the training rows, kept in checkpoints, never fitted anew.

``rows`` are places in the file, int64 ``[n]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from drurank.errors import InputError, nearest
from drurank.tabular.columns import Column, to_number


@dataclass
class Names:
    """The labels and groups of the training rows of a file.

    Attributes:
        labels: label by class number.
        groups: name of each training group by number.
    """

    labels: list[str]
    groups: list[str]

    def label(self, column: Column, rows: np.ndarray, *, blank: bool = False) -> Tensor:
        """Class number of each row, int64 ``[n]``; -1 for a blank one where that is allowed.

        Raises:
            InputError: if a label is blank and must not be, or is none of training's.
        """
        codes = column.codes[rows]
        if (codes < 0).any() and not blank:
            raise column.error(int(rows[np.argmax(codes < 0)]), "is no label; give each row one, or leave the row out")
        place = {name: number for number, name in enumerate(self.labels)}
        number = translate([*column.texts, None], place, -1)[codes]
        unknown = (number < 0) & (codes >= 0)
        if unknown.any():
            known = nearest(column.texts[codes[np.argmax(unknown)]], self.labels)
            row = int(rows[np.argmax(unknown)])
            raise column.error(row, f"is a label that training lacks; {known}; mend it, or leave the row out")
        return torch.from_numpy(number)

    def state_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {"labels": list(self.labels), "groups": list(self.groups)}

    def agrees(self, state: dict[str, Any]) -> bool:
        """Whether another one's ``state_dict`` was fitted on the same rows in the same way."""
        return self.state_dict() == state


def sorted_labels(column: Column, rows: np.ndarray) -> list[str]:
    """Labels of the training rows in the order of their numbers, or else of the alphabet.

    Raises:
        InputError: if there is but one, or they are numbers that are not whole.
    """
    codes = column.codes[rows]
    names = [column.texts[code] for code in np.unique(codes[codes >= 0])]
    if len(names) < 2:
        found = f"one label, {names[0]!r}," if names else "no label"
        raise InputError(f"{column.path}: column {column.name!r} has {found} in training; give rows of two or more")
    number = {name: to_number(name) for name in names}
    if np.isinf(list(number.values())).any():
        return sorted(names)
    for name in names:
        if not number[name].is_integer():
            row = int(rows[np.argmax(codes == column.texts.index(name))])
            raise column.error(row, "is no whole number, and labels are classes; give whole numbers or else names")
    return sorted(names, key=lambda name: (number[name], name))


def translate(names: Sequence[Any], place: Mapping[Any, int], default: int) -> np.ndarray:
    """The number of each name, int64 ``[n]``, or the default where it has none."""
    return np.array([place.get(name, default) for name in names], dtype=np.int64)
