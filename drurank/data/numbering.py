"""Numbers of groups by their names."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from drurank.errors import InputError

MOST_NUMBER, MOST_NUMBERS = 2**63 - 1, 10_000_000


def number_groups(groups: Any, names: Sequence[str] | None = None) -> tuple[Tensor, list[str]]:
    """Number groups by the sorted order of their names, the same in every process.

    Args:
        groups: names ``[n]``, or integers with ``names`` given or numbered from 0.
        names: name by number; with strings it fixes their numbers, and new ones follow in sorted order.

    Returns:
        Number of each row, int64 ``[n]``, and name by number.

    Raises:
        InputError: if a name is blank, or a group is neither a string nor an integer.
    """
    if isinstance(groups, Tensor | np.ndarray) and not (isinstance(groups, np.ndarray) and groups.dtype.kind in "OUS"):
        number = torch.as_tensor(groups)
        if number.is_floating_point() or number.dtype == torch.bool or number.ndim != 1:
            raise InputError(f"groups is {number.dtype} {list(number.shape)}; give one integer or name per row")
        number = number.long()
        if isinstance(groups, np.ndarray) and groups.dtype == np.uint64 and (groups > MOST_NUMBER).any():
            raise InputError(f"group {groups.max()} is too large a number; give names (strings), or numbers from 0")
        size = int(number.max()) + 1 if len(number) else 0
        if names is None and size > max(MOST_NUMBERS, 100 * len(number)):
            raise InputError(
                f"groups go up to number {size - 1:,} in {len(number):,} rows, and each number takes memory; give "
                "names (strings), or consecutive numbers from 0"
            )
        if names is not None and size > len(names):
            raise InputError(f"group {size - 1} has no name among the {len(names)} of group_names; name each number")
        return number, list(names) if names is not None else [str(i) for i in range(max(size, 1))]
    written = [_clean_name(name, row) for row, name in enumerate(groups)]
    known = list(names or ())
    known += sorted(set(written) - set(known))
    place = {name: number for number, name in enumerate(known)}
    return torch.tensor([place[name] for name in written], dtype=torch.int64), known


def _clean_name(name: Any, row: int) -> str:
    if isinstance(name, list | tuple | set | dict | np.ndarray):
        raise InputError(f"row {row} has the group {name!r}; give one group per row")
    if name is None or (isinstance(name, float) and name != name) or str(name).strip() == "":
        raise InputError(f"row {row} has a blank group; give each row a group, or leave the row out")
    return unicodedata.normalize("NFC", str(name))
