"""How the groups of one split were served by a figure, whatever that is: what tables, pictures and pages read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from drurank.criteria import Criterion, criterion
from drurank.errors import InputError
from drurank.figures import Figure
from drurank.groups import STANDARD_ERROR_FLOOR, Groups, accuracies_differ
from drurank.noise import Noise
from drurank.report.weights import Weights

MOST_TOLD = 100
"""Groups that are told from chance that a report names."""


class Served(Protocol):
    """Groups of one split, with a figure of each.

    What is called an accuracy here is how good the figure is: the figure itself, or 1 minus it where less is better.
    """

    @property
    def split(self) -> str:
        """Name of the split."""

    @property
    def groups(self) -> Sequence[str]:
        """Name of each group, ``[m]``."""

    @property
    def figure(self) -> Figure:
        """What is told of them."""

    @property
    def without(self) -> Sequence[str]:
        """Names of the groups that have rows in the split, but no value."""

    @property
    def count(self) -> np.ndarray:
        """Rows by group that the figure is about, int64 ``[m]``."""

    @property
    def events(self) -> np.ndarray | None:
        """Rows by group that it is the share of, int64 ``[m]``; ``None`` where it is no share, or rows have weights."""

    @property
    def weights(self) -> Weights | None:
        """What the weights of the rows come to, where they have any."""

    @property
    def accuracy(self) -> np.ndarray:
        """How good it is by group, float64 ``[m]``."""

    @property
    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the true one of each group lies by its own rows, 5 to 95 %, float64 ``[m]`` each."""

    @property
    def value(self) -> np.ndarray:
        """The figure by group, float64 ``[m]``."""

    @property
    def value_interval(self) -> tuple[np.ndarray, np.ndarray]:
        """``interval`` of the figure."""

    @property
    def rows(self) -> int:
        """All rows, each counted once."""

    @property
    def overlap(self) -> bool:
        """Whether a row may be in several groups."""

    @property
    def overall(self) -> float:
        """The figure of all rows together."""

    @property
    def shrunk(self) -> np.ndarray:
        """Posterior mean of ``accuracy``, float64 ``[m]``; ``nan`` where nothing is known of how groups differ."""

    @property
    def contradicts(self) -> np.ndarray:
        """Whether each group's own rows contradict that, bool ``[m]``."""

    @property
    def chance(self) -> tuple[np.ndarray, np.ndarray]:
        """What chance gives of each group's figure, 5 to 95 %, float64 ``[m]`` each."""

    def at_least(self, min_count: int) -> Served:
        """The groups that have so many rows."""

    def true_criteria(self, names: Sequence[str], *, draws: int, seed: int) -> dict[str, np.ndarray]:
        """Criteria of the true accuracies that these groups may have, float64 ``[draws]`` each."""

    def band(self, draws: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places of groups in order, from 0 for the worst, and where chance alone would put those, 5 to 95 %."""

    def summary(self, names: Sequence[str], *, min_count: int = 1, shrink: bool = False) -> dict[str, Any]:
        """Rows, groups and criteria, as plain values."""


def figure_table(split: Served) -> pa.Table:
    """One row a group of another figure than accuracy, also of groups that have none.

    ``split, figure``; ``positive``, the label of that class, of a figure that is about it; ``group, count`` (rows that
    it is about), with weights their sum ``weight`` and ``effective``, how many rows of equal weight tell as much,
    ``events`` (rows that it is the share of), ``value``; ``low`` and ``high``, the interval of its true
    value by its own rows; ``shrunk``, the posterior mean given those of all groups; ``contradicts_shrunk``;
    ``chance_low`` and ``chance_high``, what chance gives of it; and ``reason``: why a group has no value.
    """
    (low, high), none = split.value_interval, [None] * len(split.without)
    rows = len(split.groups) + len(none)

    def cells(values: Any, kind: pa.DataType) -> pa.Array:
        return pa.array([*np.asarray(values).tolist(), *none], kind, from_pandas=True)

    counts = [*split.count.tolist(), *[0] * len(none)]
    events = [None] * rows if split.events is None else [*split.events.tolist(), *[0] * len(none)]
    ends = zip(("chance_low", "chance_high"), split.chance, strict=True)
    weights = {} if split.weights is None else split.weights.columns()
    return pa.table(
        {
            "split": pa.array([split.split] * rows, pa.string()),
            "figure": pa.array([split.figure.name] * rows, pa.string()),
            "positive": pa.array([split.figure.positive] * rows, pa.string()),
            "group": pa.array([*split.groups, *split.without], pa.string()),
            "count": pa.array(counts, pa.int64()),
            **{name: cells(values, pa.float64()) for name, values in weights.items()},
            "events": pa.array(events, pa.int64()),
            "value": cells(split.value, pa.float64()),
            "low": cells(low, pa.float64()),
            "high": cells(high, pa.float64()),
            "shrunk": cells(split.figure.shown(split.shrunk), pa.float64()),
            "contradicts_shrunk": cells(split.contradicts, pa.bool_()),
            **{name: cells(values, pa.float64()) for name, values in ends},
            "reason": pa.array([*[None] * len(split.groups), *[split.figure.lacks] * len(none)], pa.string()),
        }
    )


def told_worst(
    groups: Sequence[str], worst: int, surest: int, is_told: np.ndarray, *, together: bool | None = None
) -> dict[str, Any]:
    """What a report says of the group that is served worst, and of the one that is most certainly worse than chance.

    Args:
        groups: name by group.
        worst: the one with the worst figure.
        surest: of those that are told the one that chance makes so bad in the fewest cases; any where none is told.
        is_told: which are worse than chance alone would make any of them, bool ``[m]``.
        together: whether the worst are so taken together; ``None`` where that was not looked at.

    Returns:
        ``served_worst``: its ``group``, and whether that is ``beyond_chance``; ``None`` where there is one group only.
        ``worse_than_chance``: the other one; ``None`` where there is none. ``beyond_chance``: how many groups are told,
        and the names of the first of them; and whether the worst are told ``together``.
    """
    alone = len(groups) < 2
    told = [] if alone else [groups[int(place)] for place in np.flatnonzero(is_told)[:MOST_TOLD]]
    return {
        "served_worst": None if alone else {"group": groups[worst], "beyond_chance": bool(is_told[worst])},
        "worse_than_chance": groups[surest] if is_told[surest] else None,
        "beyond_chance": {
            "number": 0 if alone else int(is_told.sum()),
            "groups": told,
            "together": False if alone else together,
        },
    }


def refuse_all_small(split: Served, min_count: int) -> None:
    """Refuse to leave out every group.

    Args:
        split: the groups.
        min_count: least rows of those that are kept.

    Raises:
        InputError: if none has so many.
    """
    if not (split.count >= min_count).any():
        most = int(split.count.max(initial=0))
        raise InputError(f"min_count is {min_count} and the largest group of {split.split} has {most}; lower it")


def criteria_entries(
    figure: Figure,
    computed: Mapping[str, str],
    groups: Groups,
    values: Mapping[str, Any],
    noise: Mapping[str, Noise],
    *,
    shrink: bool,
    single: bool,
) -> dict[str, dict[str, Any]]:
    """What a report says of each criterion of a figure.

    Args:
        figure: which one.
        computed: its criteria to those that they are made from, see ``Figure.computed``.
        groups: what these are of.
        values: what each of these is.
        noise: what chance does to each; ``nan`` for what is not known.
        shrink: whether they are of shrunk values.
        single: whether every group has a single row.
    """
    found = {}
    for name, by in computed.items():
        of = criterion(by)
        entry = _criterion_entry(of, groups, float(values[by]), noise[by], shrink=shrink, single=single)
        found[name] = figure.entry(of, entry)
    return found


def _criterion_entry(
    of: Criterion, groups: Groups, value: float, noise: Noise, *, shrink: bool, single: bool
) -> dict[str, Any]:
    """A criterion as plain values; ``None`` for what it does not have, or what says nothing of these groups."""
    means_something = not of.of_differences or bool(accuracies_differ(groups.accuracy))
    # Groups of a single row each tell nothing of their true accuracies but their mean.
    is_known = of.of_samples or not single
    has_interval = of.has_interval and means_something and is_known and not math.isnan(noise.estimate)
    return {
        "value": value if means_something and (is_known or not shrink) else None,
        "better": of.mode,
        "estimate": noise.estimate if has_interval else None,
        "interval": [noise.low, noise.high] if has_interval else None,
        "floor": _floor(of, noise, groups) if of.has_floor and not shrink else None,
    }


def _floor(of: Criterion, noise: Noise, groups: Groups) -> dict[str, Any] | None:
    if (of.of_differences and len(groups.accuracy) < 2) or math.isnan(noise.floor):
        return None
    # Where chance makes all groups equal, such a criterion is divided by the least standard error there is.
    limit = groups.overall / STANDARD_ERROR_FLOOR / 2 if of.of_differences else math.inf
    if noise.floor >= limit:
        return None
    return {
        "median": noise.floor,
        "interval": [noise.floor_low, noise.floor_high] if noise.floor_high < limit else None,
    }
