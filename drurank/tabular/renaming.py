"""Labels and groups that stand for others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from drurank.errors import InputError
from drurank.tabular.coding import relabelled
from drurank.tabular.several import Source


def with_names(
    source: Source,
    label: str,
    group: Sequence[str],
    relabel: Mapping[str, str],
    regroup: Mapping[str, str],
    *,
    warn: bool = True,
) -> pa.Table:
    """A table whose labels and groups have the names that they stand for.

    Args:
        source: the table.
        label: column of the label.
        group: columns of the group; one that is the label's too has its names from ``relabel``.
        relabel: label as it is written to what it stands for.
        regroup: the same of groups.
        warn: whether to warn of a name that no row has.
    """
    table = source.table
    groups = [name for name in group if name != label]
    asked = [("relabel", label, relabel), *(("regroup", name, regroup) for name in groups)]
    for option, name, meant in asked:
        if meant and name in table.column_names:
            # Of several columns a name need be in one only.
            is_alone = option == "relabel" or len(groups) == 1
            new = relabelled(source.column(name), meant, warn=warn and is_alone, option=option)
            table = table.set_column(table.column_names.index(name), name, new)
    return table


def checked_labels(labels: Mapping[Any, Any] | None, option: str = "relabel") -> dict[str, str]:
    """What each label or group stands for, as text.

    Raises:
        InputError: if one stands for nothing.
    """
    for written, meant in (labels or {}).items():
        if meant is None or not str(meant).strip():
            what = "group" if option == "regroup" else "label"
            raise InputError(f"{option}: {written!r} stands for {meant!r}; give the {what} it stands for")
    return {str(written): str(meant) for written, meant in (labels or {}).items()}
