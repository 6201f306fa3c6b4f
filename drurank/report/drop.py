"""How much worse groups never seen in training are served than those of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from drurank.criteria import criterion
from drurank.noise import DRAWS, INTERVAL_DRAWS, summed_up
from drurank.report.counts import SplitCounts
from drurank.report.served import Served

PAIRS = (("ood_test", "id_test"), ("test", "id_test"), ("ood_val", "id_val"), ("val", "id_val"))
"""A split of unseen groups, and the one of training groups that it is compared with."""
LEAST_DRAWS, MOST_GROUPS = 100, 10_000_000
"""Draws of a split at the least, and groups over all of its draws at the most while there are more."""


def find_drop(
    splits: Sequence[Served], summaries: Mapping[str, Mapping[str, Any]], *, min_count: int
) -> dict[str, Any] | None:
    """How much worse each criterion is on the unseen groups; ``None`` without such a pair of splits.

    Args:
        splits: counts by split.
        summaries: split to its ``summary``.
        min_count: criteria leave out groups with fewer samples.

    Returns:
        ``from`` and ``to``: the splits; ``criteria``: criterion to ``value`` (of the observed figures), ``estimate``
        with ``interval`` (of the true ones) and ``by_chance`` with ``median`` and ``interval`` (if the groups of both
        splits were served alike: what their numbers and sizes alone make of it), each interval of 5 to 95 %. Positive
        is worse; ``None`` where a split lacks the figure. ``left_out``: criteria that grow with the number of groups,
        where the splits have unlike numbers.
    """
    by_name = {split.split: split for split in splits if not split.overlap}  # whose groups would be drawn apart
    for unseen, seen in PAIRS:
        if unseen in by_name and seen in by_name:
            pair = by_name[seen], by_name[unseen]
            names = [name for name in summaries[seen]["criteria"] if not criterion(name).of_differences]
            # Such a criterion is larger for more groups, however well they are served.
            grow = [name for name in names if criterion(name).grows_with_groups]
            left_out = grow if len({_kept(summaries[split.split]) for split in pair}) > 1 else []
            names = [name for name in names if name not in left_out]
            criteria = _criteria(pair, summaries, names, min_count)
            return {"from": seen, "to": unseen, "criteria": criteria, "left_out": left_out}
    return None


def _criteria(
    pair: tuple[Served, Served],
    summaries: Mapping[str, Mapping[str, Any]],
    names: Sequence[str],
    min_count: int,
) -> dict[str, Any]:
    entries = {name: [summaries[split.split]["criteria"][name] for split in pair] for name in names}
    estimated = [name for name in names if all(entry["interval"] for entry in entries[name])]
    has_floor = [name for name in names if all(entry["floor"] for entry in entries[name])]
    by = pair[0].figure.computed(names)
    true = _estimates(pair, [by[name] for name in estimated], min_count)
    chance = _by_chance(pair, [by[name] for name in has_floor], min_count)
    found = {}
    for name in names:
        low, middle, high = summed_up(true[by[name]]) if name in estimated else (None, None, None)
        before, after = (entry["value"] for entry in entries[name])
        sign = 1 if entries[name][0]["better"] == "max" else -1
        found[name] = {
            "value": None if before is None or after is None else float(sign * (before - after)),
            "estimate": middle,
            "interval": None if middle is None else [low, high],
            "by_chance": _band(chance[by[name]]) if name in has_floor and by[name] in chance else None,
        }
    return found


def _band(draws: np.ndarray) -> dict[str, Any]:
    low, median, high = summed_up(draws)
    return {"median": median, "interval": [low, high]}


def _estimates(pair: tuple[Served, Served], names: Sequence[str], min_count: int) -> dict[str, np.ndarray]:
    """How much worse the true figures of both splits may be, ``[draws]`` by criterion."""
    of_samples = [name for name in names if criterion(name).of_samples]
    of_groups = [name for name in names if name not in of_samples]
    found: dict[str, np.ndarray] = {}
    # Criteria over all samples count the rows of small groups too.
    for least, some in ((min_count, of_groups), (1, of_samples)):
        if some:
            splits = [split.at_least(least) for split in pair]
            draws = _draws(splits, INTERVAL_DRAWS)
            before, after = (split.true_criteria(some, draws=draws, seed=seed) for seed, split in enumerate(splits))
            found |= {name: criterion(name).sign * (before[name] - after[name]) for name in some}
    return found


def _by_chance(pair: tuple[Served, Served], names: Sequence[str], min_count: int) -> dict[str, np.ndarray]:
    """How much worse the figures would be if all groups had one accuracy, ``[draws]`` by criterion.

    Nothing where the figure is no share.
    """
    whole = [split for split in pair if isinstance(split, SplitCounts)]
    if not names or len(whole) < len(pair):
        return {}
    # One accuracy for both: with each split's own, what one is worse on the whole would pass for chance.
    right, every = (
        sum(float(total.sum()) for total in each) for each in zip(*(split.total for split in whole), strict=True)
    )
    counts = [split.at_least(min_count) for split in whole]
    draws = _draws(counts, DRAWS)
    before, after = (
        split.chance_criteria(right / every, names, draws=draws, seed=seed) for seed, split in enumerate(counts)
    )
    return {name: criterion(name).sign * (before[name] - after[name]) for name in names}


def _draws(splits: Sequence[Served], most: int) -> int:
    # Of many groups a few draws tell the percentiles well enough.
    return min(most, max(LEAST_DRAWS, MOST_GROUPS // max(len(split.count) for split in splits)))


def _kept(summary: Mapping[str, Any]) -> int:
    return int(summary["groups"]) - int(summary["groups_left_out"])
