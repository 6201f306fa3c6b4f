"""Several runs that differ by their seed alone, in one report: mean and spread of each criterion, and its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table
from scipy.special import stdtrit

from drurank.criteria import criterion
from drurank.errors import InputError
from drurank.figures.selecting import figure_in
from drurank.groups import Groups
from drurank.noise import PERCENT
from drurank.report.remarks import BY_CHANCE, on_criteria
from drurank.report.tables import BETTER
from drurank.terminal import dimmed
from drurank.words import counted, in_digits, in_range, shortened


def over_seeds(summaries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Put reports on the same split, one a seed, together.

    The interval is that of the mean over seeds of the criterion of the groups' true accuracies. Its ends are as far
    from the mean ``e`` of the estimates ``e_s`` as ``sqrt(r^2 + (t * sd(e_s))^2 / S)``. ``r`` is the mean distance of
    the ends of the ``S`` intervals from their estimates: chance in the rows counts as if it were the same with every
    seed. ``t`` is the 95th percentile of Student's distribution with ``S - 1`` degrees of freedom: chance in training.

    Args:
        summaries: what ``SplitCounts.summary`` gave for each seed, two or more.

    Returns:
        ``rows``, ``groups``, ``seeds`` (their number) and ``criteria``: name to ``values`` by seed, ``mean`` and ``sd``
        of these, ``estimate`` and ``interval`` (5 to 95 %) of the true one, and ``floor``, the mean over seeds of what
        chance alone would give; ``None`` where some seed has none.

    Raises:
        InputError: if there is one seed, or they were tested on other rows.
    """
    if len(summaries) < 2:
        raise InputError("there is one seed; give two or more to see what chance in training does")
    first = summaries[0]
    for one in summaries:
        for what in ("rows", "groups"):
            if one[what] != first[what]:
                raise InputError(
                    f"seeds were tested on {first[what]:,} and {one[what]:,} {what}; compare like with like"
                )
    criteria = {name: _entry(name, [one["criteria"][name] for one in summaries], first) for name in first["criteria"]}
    return {"rows": first["rows"], "groups": first["groups"], "seeds": len(summaries), "criteria": criteria}


def _entry(name: str, entries: Sequence[Mapping[str, Any]], summary: Mapping[str, Any]) -> dict[str, Any]:
    values = [entry["value"] for entry in entries]
    known = None not in values
    found = {
        "values": values,
        "mean": float(np.mean(values)) if known else None,
        "sd": float(np.std(values, ddof=1)) if known else None,
        "better": entries[0]["better"],
        "estimate": None,
        "interval": None,
        "floor": _floor([entry["floor"] for entry in entries]),
    }
    if not all(entry["interval"] for entry in entries):
        return found
    estimates = np.array([entry["estimate"] for entry in entries])
    low, high = np.array([entry["interval"] for entry in entries]).T
    middle = float(estimates.mean())
    quantile = stdtrit(len(estimates) - 1, PERCENT[1] / 100)
    of_training = quantile * estimates.std(ddof=1) / math.sqrt(len(estimates))
    below = math.hypot((estimates - low).mean(), of_training)
    above = math.hypot((high - estimates).mean(), of_training)
    least, most = _possible(name, summary["groups"] - summary["groups_left_out"])
    found |= {"estimate": middle, "interval": [max(middle - below, least), min(middle + above, most)]}
    return found


def _floor(floors: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    medians = [floor["median"] for floor in floors if floor]
    ends = [floor["interval"] for floor in floors if floor and floor["interval"]]
    if len(medians) < len(floors):
        return None
    low_high = np.mean(ends, axis=0).tolist() if len(ends) == len(floors) else None
    return {"median": float(np.mean(medians)), "interval": low_high}


def _possible(name: str, groups: int) -> tuple[float, float]:
    """The least and the largest value that a criterion of so many groups can have."""
    if not criterion(name).is_monotone:
        return -math.inf, math.inf
    one = np.ones(groups, dtype=np.int64)
    ends = [float(criterion(name).of(Groups.of_counts(correct * one, one))) for correct in (0, 1)]
    return min(ends), max(ends)


def seeds_table(columns: Mapping[str, Mapping[str, Any]]) -> Table:
    """Criteria as rows and splits (or methods) as columns: mean and standard deviation over seeds, and the true mean.

    Args:
        columns: heading of each column to what ``over_seeds`` gave.
    """
    table = Table(
        title="Criteria over seeds",
        collapse_padding=True,
        caption="\n".join(["", *_remarks(columns)]),
        caption_justify="left",
        min_width=72,
        box=SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
    )
    table.add_column("\n\ncriterion,\nbetter if")
    for heading, content in zip(shortened(list(columns)), columns.values(), strict=True):
        table.add_column(f"{heading}\n{counted(content['groups'], 'group')}\nobserved,\nmean ± sd", justify="right")
        table.add_column(f"\n{counted(content['rows'], 'row')}\ntrue,\nestimated", justify="right")
        table.add_column("\n\nby chance\nalone", justify="right", style="dim")
    for name, entry in next(iter(columns.values()))["criteria"].items():
        cells = [cell for content in columns.values() for cell in _cells(content["criteria"][name])]
        table.add_row(dimmed(name, BETTER[entry["better"]]), *cells)
    return table


def _cells(entry: Mapping[str, Any]) -> list[Any]:
    mean = dimmed(in_digits(entry["mean"]), f"± {in_digits(entry['sd'])}") if entry["mean"] is not None else ""
    true = dimmed(in_digits(entry["estimate"]), in_range(entry["interval"])) if entry["interval"] else ""
    floor = entry["floor"]
    return [mean, true, f"{in_digits(floor['median'])}\n{in_range(floor['interval'])}" if floor else ""]


def _remarks(columns: Mapping[str, Mapping[str, Any]]) -> list[str]:
    entries = [entry for content in columns.values() for entry in content["criteria"].values()]
    seeds = " and ".join(dict.fromkeys(str(content["seeds"]) for content in columns.values()))
    lines = [f"Observed: mean and standard deviation over {seeds} seeds."]
    has_interval = any(entry["interval"] for entry in entries)
    if has_interval:
        lines.append(
            "True, estimated: mean over seeds of the same for the groups' true accuracies; below it the 5-95 % "
            "interval, for chance in the rows and in training together."
        )
    if any(entry["floor"] for entry in entries):
        lines.append(BY_CHANCE.format("accuracy"))
    names = [name for name in next(iter(columns.values()))["criteria"] if figure_in(name) is None]
    lines += on_criteria(names, has_interval)
    return lines
