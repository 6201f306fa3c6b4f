"""Options of tables and texts, checked before anything is read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from drurank.errors import InputError, nearest
from drurank.splits import SPLITS

if TYPE_CHECKING:
    TablePath = object
else:
    TablePath = str  # What the command line can give; in Python a table in memory will do.


def named(path: object) -> tuple[str, object]:
    """What a table is called in messages, and the table where it is in memory, else ``None``.

    Raises:
        InputError: if there is none.
    """
    if path is None:
        raise InputError("path is None; give a file, or a table in memory")
    if isinstance(path, str):
        return path, None
    if isinstance(path, os.PathLike):
        return str(os.fspath(path)), None
    if isinstance(path, list | tuple) and path and all(isinstance(one, str | os.PathLike) for one in path):
        return _in_one([str(os.fspath(one)) for one in path]), None
    return f"the {type(path).__name__}", path


def _in_one(paths: list[str]) -> str:
    """Several files in one text, by commas.

    Raises:
        InputError: if one of several has a comma in its name.
    """
    commas = [one for one in paths if "," in one]
    if commas and len(paths) > 1:
        raise InputError(f"path names {commas[0]!r}, which has a comma; rename it, or give a pattern, as 'part-*.csv'")
    return ",".join(paths)


def checked_splits(names: Mapping[Any, str] | None) -> dict[str, str]:
    """What each spelling of a split stands for, those that are usual included.

    Raises:
        InputError: if one stands for no split.
    """
    for written, meant in (names or {}).items():
        if meant not in SPLITS:
            raise InputError(f"split_names: {written!r} stands for {meant!r}, no split: {nearest(meant, SPLITS)}")
    return {**{name: name for name in SPLITS}, **{str(written): meant for written, meant in (names or {}).items()}}


def check_overlapping(label: str, group: Sequence[str], given: Mapping[str, Any]) -> None:
    """Refuse what is about cells that name the one group of a row, where groups overlap.

    Args:
        label: column of the label.
        group: columns of the groups.
        given: such options by name; those that are true were given.

    Raises:
        InputError: naming the option.
    """
    if not group:
        raise InputError("by='overlapping' and there is no group; name the columns of 0 and 1 as group=a,b,c")
    if label in group:
        raise InputError(f"by='overlapping' and the label {label!r} is one of the groups; leave it out there")
    for name in [name for name, value in given.items() if value]:
        raise InputError(
            f"{name} is about columns whose cells name the group of a row, and by='overlapping' has columns of 0 and "
            f"1; leave {name} out"
        )


def check_evaluated(path: str, columns: Sequence[str], *, label: str | None, split: str | None) -> None:
    """Refuse rows to evaluate that lack a column of this name.

    Args:
        path: of the rows, for messages.
        columns: that they have.
        label: of the label, where that is needed.
        split: of the split, likewise.

    Raises:
        InputError: naming it.
    """
    if label is not None and label not in columns:
        raise InputError(
            f"{path} has no column {label!r} of the label, without which nothing can be scored; "
            f"{nearest(label, columns)}; for rows without labels run `predict`"
        )
    if split is not None and split not in columns:
        raise InputError(
            f"{path} has no column {split!r} that says the split of each row; to test all rows give split=None, or "
            f"name it: {nearest(split, columns)}"
        )


def no_split(path: str, columns: Sequence[str]) -> InputError:
    """What is said of rows to train on where no column of the split is named."""
    return InputError(
        f"{path}: nothing says which rows to train on; name the column that does as split=..., whose values are "
        f"{', '.join(SPLITS)}; {nearest('split', columns)}"
    )
