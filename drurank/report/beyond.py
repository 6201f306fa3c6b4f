"""Which groups of counts are told from chance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from drurank.binomial import at_most, relative_likelihood
from drurank.criteria import criterion, values_of
from drurank.groups import Groups
from drurank.noise import PERCENT, Noise
from drurank.report.served import told_worst

if TYPE_CHECKING:
    from drurank.report.counts import SplitCounts

OF_FEW = ("worst", "qdcg10")
"""Criteria that a few badly served groups move, where the spread of many does not show them."""


def beyond_chance(split: SplitCounts, noise: Mapping[str, Noise]) -> dict[str, Any]:
    """The group that is served worst, and the one that is most certainly worse than if all were served alike.

    A group is told from chance by its own rows, at a level corrected for the number of groups (Bonferroni), or as the
    worst of all where chance makes the worst so bad in fewer than 5 % of cases. A sum over several groups tells none.

    Args:
        split: the groups that criteria are of.
        noise: what chance does to their criteria, those ``OF_FEW`` among them.
    """
    right, size, pooled = split.right, split.size, split.pooled
    tail = at_most(right, size, pooled)
    # Of tails too small for a number the one that is least likely comes first.
    certain = int(np.lexsort((relative_likelihood(right, size, pooled, np.inf), tail))[0])
    found = values_of(Groups(split.accuracy, size), OF_FEW)
    is_worse = {
        name: found[name] < noise[name].floor_low
        if criterion(name).higher_is_better
        else found[name] > noise[name].floor_high
        for name in OF_FEW
    }
    is_told = tail < PERCENT[0] / 100 / len(size)
    worst = int(np.lexsort((split.interval[1], split.accuracy))[0])
    is_told[worst] |= is_worse["worst"]
    surest = certain if is_told[certain] else worst
    return told_worst(split.groups, worst, surest, is_told, together=bool(is_worse["qdcg10"]))
