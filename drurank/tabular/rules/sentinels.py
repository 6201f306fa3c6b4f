"""Numbers that stand for something missing, as 999 among scores of at most 100."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from drurank.tabular.columns import as_option
from drurank.tabular.feature import Feature
from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules.finding import Finding, counted_once
from drurank.words import counted, some

CODE = re.compile(r"-1|-?9+")
"""How numbers are usually written that mean that one is missing."""
LEAST = 3
"""Rows that have it, from which on it is no slip; and values of the others, fewer of which are codes themselves."""


def sentinels(data: GroupedRows) -> Iterator[Finding]:
    """Columns of numbers with one value, repeated and far from all others, that is a usual code for a missing one."""
    rows = data.once(data.used)
    said = {feature.name: found for feature in data.features if (found := _sentinel(feature, rows))}
    if said:
        give = "" if data.missing == "indicator" else " and give missing='indicator'"
        names = list(said)
        column = next(feature.column for feature in data.features if feature.name == names[0])
        yield Finding(
            "sentinels",
            "note",
            f"{some(said.values(), shown=10, between='; ')}{counted_once(data, data.used)}; if it means missing, leave "
            f"these cells blank{give}, or leave the column out ({as_option('exclude', names)})",
            names,
            column.path,
            column.name,
        )


def _sentinel(feature: Feature, rows: np.ndarray) -> str:
    """A column with its value that is likely a code, and the range of the others; empty where it has none."""
    if not feature.is_number or feature.is_date:
        return ""
    numbers = feature.values[rows]
    found, count = np.unique(numbers[np.isfinite(numbers)], return_counts=True)
    if len(found) <= LEAST:
        return ""
    for at, others, where in ((-1, found[:-1], "beyond"), (0, found[1:], "below")):
        low, high = others[0], others[-1]
        gap = found[-1] - high if at else low - found[0]
        if CODE.fullmatch(f"{found[at]:.15g}") and count[at] >= LEAST and gap > high - low:
            of_rows = counted(int(count[at]), "row")
            return f"{feature.name} is exactly {found[at]:g} in {of_rows}, far {where} the others ({low:g} to {high:g})"
    return ""
