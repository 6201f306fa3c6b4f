"""Tables of the groups of counts, as files and other tables have them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from drurank.report.counts import SplitCounts
from drurank.run_folder.layout import SEEN


def accuracy_table(split: SplitCounts) -> pa.Table:
    """One row a group, with the columns below.

    ``split, group, count, correct, accuracy`` (with weights ``weight``, their sum, and ``effective``, how many rows of
    equal weight tell as much, in place of ``correct``); ``low`` and ``high``, the interval of its true accuracy by its
    own samples; ``shrunk``, the accuracy's posterior mean given those of all groups; ``contradicts_shrunk``, whether
    its own samples contradict that; ``chance_low`` and ``chance_high``, what chance alone makes of a group of its
    size; ``seen_in_training``.
    """
    (low, high), (chance_low, chance_high) = split.interval, split.chance
    return pa.table(
        {
            **_counts(split),
            "accuracy": split.accuracy,
            "low": low,
            "high": high,
            "shrunk": pa.array(split.shrunk, from_pandas=True),
            "contradicts_shrunk": split.contradicts,
            "chance_low": chance_low,
            "chance_high": chance_high,
            SEEN: pa.array(split.seen if split.seen is not None else [None] * len(split.groups), pa.bool_()),
        }
    )


def counts_table(split: SplitCounts) -> pa.Table:
    """The first columns of ``accuracy_table``, which cost nothing: those of counts."""
    return pa.table(_counts(split))


def _counts(split: SplitCounts) -> dict[str, Any]:
    return {
        "split": pa.array([split.split] * len(split.groups), pa.string()),
        "group": pa.array(split.groups, pa.string()),
        "count": split.count,
        **({"correct": split.correct} if split.weights is None else split.weights.columns()),
    }
