"""The report on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from drurank.criteria import criterion
from drurank.report.counts import SplitCounts

WORST_SHOWN, BEST_SHOWN = 10, 5
REMARKS = {"groups_left_out": "left out for having too few rows", "groups_unseen_in_training": "unseen in training"}
WIDTH = 11
"""Least width of a column of numbers, so that a range is never cut."""
BETTER = {"max": "higher", "min": "lower"}


def criteria_table(
    columns: Mapping[str, Mapping[str, Any]], drop: Mapping[str, Any] | None = None, title: str = "Criteria"
) -> Table:
    """Criteria as rows and splits (or runs) as columns, each with its interval and its noise floor.

    Args:
        columns: heading of each column to a split's ``summary``.
        drop: how much worse criteria are for unseen groups, under ``criteria``; one more column, if given.
        title: of the table.
    """
    table = Table(
        title=title,
        caption=escape("\n".join(_remarks(columns))),
        caption_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("criterion\nand what\nis better")
    has_floor = any(entry["floor"] for content in columns.values() for entry in content["criteria"].values())
    for name, content in columns.items():
        table.add_column(
            f"{escape(name)}\n{content['groups']:,} groups\n{content['rows']:,} rows", justify="right", min_width=WIDTH
        )
        if has_floor:
            table.add_column("by chance\nalone", justify="right", style="dim", min_width=WIDTH)
    if drop:
        table.add_column(f"worse than\n{escape(drop['from'])} by\n(by chance)", justify="right")
    first = next(iter(columns.values()))["criteria"]
    for key, entry in first.items():
        cells = [cell for content in columns.values() for cell in _cells(content["criteria"][key], has_floor=has_floor)]
        cells += [_drop(drop["criteria"].get(key))] if drop else []
        table.add_row(f"{key}\n[dim]{BETTER[entry['better']]}[/dim]", *cells)
    return table


def _cells(entry: Mapping[str, Any], *, has_floor: bool) -> list[str]:
    interval = f"\n[dim]{_range(entry['interval'])}[/dim]" if entry["interval"] else ""
    cells = [f"{entry['value']:.4f}{interval}"]
    if has_floor:
        floor = entry["floor"]
        cells.append(f"{floor['mean']:.4f}\n{_range(floor['interval'])}" if floor else "")
    return cells


def _drop(entry: Mapping[str, Any] | None) -> str:
    if entry is None:
        return ""
    chance = entry["by_chance"]
    return f"{entry['value']:.4f}" + ("" if chance is None else f"\n[dim]({chance:.4f})[/dim]")


def _range(ends: Sequence[float]) -> str:
    return "-".join(f"{end:.3f}" if end < 10 else f"{end:.1f}" for end in ends)


def _remarks(columns: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Lines below the table: spread, what chance alone would give, groups left out or unseen."""
    said = ["Second line: 5-95 % interval of the true value. The value above it includes sampling noise."]
    for name, content in columns.items():
        for key, words in REMARKS.items():
            if content[key]:
                said.append(f"{name}: {content[key]:,} of {content['groups']:,} groups {words}.")
        if content["groups"] - content["groups_left_out"] < 2:
            said.append(f"{name}: with one group, nothing can be said about how groups differ.")
            continue
        said.append(f"{name}: {_spread(content['spread'])}")
        found = content["criteria"].items()
        alike = [key for key, entry in found if _is_chance(entry) and criterion(key).of_badly_served]
        if alike:
            said.append(f"{name}: chance alone would explain {', '.join(alike)}.")
    return said


def _spread(spread: Mapping[str, Any]) -> str:
    low, high = spread["interval"]
    if spread["sd"] == 0:
        return f"groups differ no more than by chance: standard deviation 0 (at most {high:.3f})."
    differ = "true accuracies differ" if low > 0 else "it is unclear whether true accuracies differ"
    return f"{differ}: standard deviation {spread['sd']:.3f} ({low:.3f}-{high:.3f})."


def _is_chance(entry: Mapping[str, Any]) -> bool:
    floor = entry["floor"]
    return floor is not None and floor["interval"][0] <= entry["value"] <= floor["interval"][1]


def groups_table(split: SplitCounts) -> Table:
    """The worst and the best groups of a split, the worst first, each with the interval of its accuracy."""
    low, high = split.interval
    # Among equal accuracies, the most certain group comes first among the worst and last among the best.
    worst = np.lexsort((high, split.accuracy))[:WORST_SHOWN]
    rest = np.setdiff1d(np.arange(len(low)), worst)
    best = rest[np.lexsort((low[rest], split.accuracy[rest]))][max(len(rest) - BEST_SHOWN, 0) :]
    some = f"The worst {len(worst)} and the best {len(best)} of" if len(best) else "All"
    table = Table(title=f"{some} {len(low):,} groups in {escape(split.split)}")
    table.add_column("group")
    for column in ("rows", "right", "accuracy", "5 to 95 %", "shrunk"):
        table.add_column(column, justify="right")
    shrunk = split.spread.posterior_mean(split.correct, split.count)
    for i in [*worst, *best]:
        table.add_row(
            escape(split.groups[i]),
            f"{split.count[i]:,}",
            f"{split.correct[i]:,}",
            f"{split.accuracy[i]:.3f}",
            _range((low[i], high[i])),
            f"{shrunk[i]:.3f}",
            end_section=len(best) > 0 and i == worst[-1],
        )
    return table
