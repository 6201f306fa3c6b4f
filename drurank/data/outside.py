"""Numbers of other data that lie outside of what training had, where a network was never asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from lightning.pytorch.utilities.rank_zero import rank_zero_info, rank_zero_warn

from drurank.data.encoding import NumericFeature
from drurank.tabular.feature import Feature
from drurank.words import some

SHOWN = 10
MUCH = 0.5
"""Share of a column's rows above which they are rather written, or measured, in another way."""
ROUNDING = 1e-6
"""Of the larger end: numbers that were kept as float32 differ by less."""


def say_outside(source: str, numeric: Sequence[NumericFeature], features: Sequence[Feature], rows: np.ndarray) -> None:
    """Say how many rows have a number below training's least or above its largest, by column, with both ranges.

    Nothing is said of columns of which a checkpoint does not know these ends.

    Args:
        source: what the rows were read from.
        numeric: the columns of numbers as training had them.
        features: the columns as these rows have them.
        rows: places in the table, int64 ``[n]``.
    """
    by_name = {feature.name: feature for feature in features}
    parts = [_outside(known, by_name[known.name], rows) for known in numeric]
    found = sorted((part for part in parts if part is not None), key=lambda part: -part.count)
    if not found:
        return
    lying = int(np.any([part.which for part in found], axis=0).sum())
    is_much = any(part.is_much for part in found)
    tell = rank_zero_warn if is_much else rank_zero_info
    remedy = "; check that they are written as in training, and in its unit" if is_much else ""
    tell(
        f"{source}: {lying:,} of {len(rows):,} rows lie outside of what training had, by column: "
        f"{some((part.said for part in found), shown=SHOWN)}{remedy}"
    )


@dataclass(frozen=True)
class _Part:
    """Rows of a column that lie outside, bool ``[n]``, whether these are most that have it, and how it is said."""

    which: np.ndarray
    is_much: bool
    said: str

    @property
    def count(self) -> int:
        return int(self.which.sum())


def _outside(known: NumericFeature, feature: Feature, rows: np.ndarray) -> _Part | None:
    if known.minimum is None or known.maximum is None:
        return None
    numbers = feature.column.numbers[rows]
    slack = ROUNDING * max(abs(known.minimum), abs(known.maximum))
    which = (numbers < known.minimum - slack) | (numbers > known.maximum + slack)
    if not which.any():
        return None
    count, having = int(which.sum()), int((~np.isnan(numbers)).sum())
    here = _range(feature, numbers[which].min(), numbers[which].max())
    there = _range(feature, known.minimum, known.maximum)
    return _Part(which, count > MUCH * having, f"{feature.name} {count:,} ({here}; training {there})")


def _range(feature: Feature, low: float, high: float) -> str:
    return " to ".join(dict.fromkeys((feature.said(low), feature.said(high))))
