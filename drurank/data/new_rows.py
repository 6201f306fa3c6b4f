"""Rows that are predicted without a trainer, as data of a run reads them."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar

from drurank.data.file import FileData
from drurank.data.options import named
from drurank.errors import InputError

Data = TypeVar("Data", bound=FileData)
OF_ROWS = (
    "_source",
    "_table",
    "_rows",
    "_index",
    "_is_of_training",
    "_tokens",
    "_embedded",
    "_pictures",
    "_pixels",
    "_used",
    "_features",
    "_looked",
)
"""What data keeps of the rows that it has read."""


@dataclass(frozen=True)
class Asking:
    """What data looks at of a trainer, where there is none.

    Attributes:
        lightning_module: what predicts the rows.
        fn: what is done.
    """

    lightning_module: Any
    fn: str = "predict"

    @property
    def state(self) -> Asking:
        """Where a trainer has ``fn``."""
        return self


def with_rows(data: Data, rows: Any, method: Any, name: str | None = None) -> Data:
    """Data that reads other rows with the same options and encoding, to be predicted.

    Args:
        data: has its encoding.
        rows: what its ``path`` may be.
        method: what predicts them.
        name: what they are called in messages; by their kind, if not given.

    Raises:
        InputError: if the data is read from several tables, so that no rows can be given.
    """
    if not data.one_table:
        raise InputError(f"{type(data).__name__} reads a folder of its own; predict its rows by the command predict")
    other = copy(data)
    for kept in OF_ROWS:
        other.__dict__.pop(kept, None)
    kind, other._given = named(rows)
    other.path = name or kind
    other._checked, other._unlabelled, other._is_told = False, None, False
    other.trainer = Asking(method)  # type: ignore[assignment]
    other.forget_datasets()
    return other
