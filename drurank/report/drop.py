"""How much worse groups never seen in training are served than those of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from drurank.criteria import criterion
from drurank.noise import DRAWS, noise_floor
from drurank.report.counts import SplitCounts

PAIRS = (("ood_test", "id_test"), ("test", "id_test"), ("ood_val", "id_val"), ("val", "id_val"))
"""A split of unseen groups, and the one of training groups that it is compared with."""
LEAST_DRAWS, MOST_GROUPS = 100, 10_000_000
"""Draws of a split at the least, and groups over all of its draws at the most while there are more."""


def find_drop(
    splits: Sequence[SplitCounts], summaries: Mapping[str, Mapping[str, Any]], *, min_count: int
) -> dict[str, Any] | None:
    """How much worse each criterion is on the unseen groups; ``None`` without such a pair of splits.

    Args:
        splits: counts by split.
        summaries: split to its ``summary``.
        min_count: criteria leave out groups with fewer samples.

    Returns:
        ``from`` and ``to``: the splits; ``criteria``: criterion to ``value`` (of the observed figures), ``estimate``
        (of the true ones) and ``by_chance`` (if the groups of both splits were served alike: what their numbers and
        sizes alone make of it). Positive is worse; ``None`` where a split lacks the figure.
    """
    by_name = {split.split: split for split in splits}
    for unseen, seen in PAIRS:
        if unseen in by_name and seen in by_name:
            pair = by_name[seen], by_name[unseen]
            return {"from": seen, "to": unseen, "criteria": _criteria(pair, summaries, min_count)}
    return None


def _criteria(
    pair: tuple[SplitCounts, SplitCounts], summaries: Mapping[str, Mapping[str, Any]], min_count: int
) -> dict[str, Any]:
    before, after = (summaries[split.split] for split in pair)
    names = list(before["criteria"])
    if _kept(before) != _kept(after):
        # Such a criterion is larger for more groups, however well they are served.
        names = [name for name in names if not criterion(name).grows_with_groups]
    entries = {name: (before["criteria"][name], after["criteria"][name]) for name in names}
    has_floor = [name for name in names if all(entry["floor"] for entry in entries[name])]
    chance = _by_chance(pair, has_floor, min_count) if has_floor else {}
    return {
        name: {
            **{key: _worse(name, *(entry[key] for entry in entries[name])) for key in ("value", "estimate")},
            "by_chance": chance.get(name),
        }
        for name in names
    }


def _worse(name: str, before: float | None, after: float | None) -> float | None:
    if before is None or after is None:
        return None
    return before - after if criterion(name).higher_is_better else after - before


def _by_chance(pair: tuple[SplitCounts, SplitCounts], names: Sequence[str], min_count: int) -> dict[str, float | None]:
    # One accuracy for both: with each split's own, what one is worse on the whole would pass for chance.
    accuracy = sum(split.correct.sum() for split in pair) / sum(split.count.sum() for split in pair)
    counts = [split.count[split.count >= min_count] for split in pair]
    # Of many groups a few draws tell the median well enough.
    draws = min(DRAWS, max(LEAST_DRAWS, MOST_GROUPS // max(map(len, counts))))
    before, after = (noise_floor(count, accuracy, names, draws=draws) for count in counts)
    return {name: _worse(name, float(np.median(before[name])), float(np.median(after[name]))) for name in names}


def _kept(summary: Mapping[str, Any]) -> int:
    return int(summary["groups"]) - int(summary["groups_left_out"])
