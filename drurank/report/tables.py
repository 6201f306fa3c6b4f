"""The report on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from drurank.report.counts import SplitCounts

WORST_SHOWN, BEST_SHOWN = 10, 5
REMARKS = {"groups_left_out": "left out, for few rows", "groups_unseen_in_training": "unseen in training"}
BETTER = {"max": "higher", "min": "lower"}
NOT_OF_THE_BADLY_SERVED = ("overall", "average", "tstat")


def criteria_table(
    columns: Mapping[str, Mapping[str, Any]], drop: Mapping[str, Any] | None = None, title: str = "Criteria"
) -> Table:
    """Criteria as rows and splits (or runs) as columns, each with its interval and its noise floor.

    Args:
        columns: what is to stand over each column, and a split's ``summary``.
        drop: by how much criteria are worse for groups never seen, under ``criteria``; a further column, if given.
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
        table.add_column(f"{escape(name)}\n{content['groups']:,} groups\n{content['rows']:,} rows", justify="right")
        if has_floor:
            table.add_column("by chance\nalone", justify="right", style="dim")
    if drop:
        table.add_column(f"worse than\n{drop['from']}\nby", justify="right")
    first = next(iter(columns.values()))["criteria"]
    for criterion, entry in first.items():
        cells = [
            cell for content in columns.values() for cell in _cells(content["criteria"][criterion], has_floor=has_floor)
        ]
        cells += [f"{drop['criteria'][criterion]:.4f}" if criterion in drop["criteria"] else ""] if drop else []
        table.add_row(f"{criterion}\n[dim]{BETTER[entry['better']]}[/dim]", *cells)
    return table


def _cells(entry: Mapping[str, Any], *, has_floor: bool) -> list[str]:
    cells = [f"{entry['value']:.4f}\n[dim]{_range(entry['interval'])}[/dim]"]
    if has_floor:
        floor = entry["floor"]
        cells.append(f"{floor['mean']:.4f}\n{_range(floor['interval'])}" if floor else "")
    return cells


def _range(ends: Sequence[float]) -> str:
    return "-".join(f"{end:.3f}" if end < 10 else f"{end:.1f}" for end in ends)


def _remarks(columns: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is to be said under the table: spread, what chance alone would do, groups left out or never seen."""
    said = ["Under each figure, which holds chance too: where that of true accuracies lies (5-95 %)."]
    for name, content in columns.items():
        sd, (low, high) = content["spread"]["sd"], content["spread"]["interval"]
        if sd:
            said.append(
                f"{name}: true accuracies of groups differ, standard deviation {sd:.3f} ({low:.3f}-{high:.3f})."
            )
        else:
            said.append(f"{name}: groups differ no more than by chance: standard deviation 0 (at most {high:.3f}).")
        alike = [
            key
            for key, entry in content["criteria"].items()
            if _is_chance(entry) and key not in NOT_OF_THE_BADLY_SERVED
        ]
        if alike:
            said.append(f"{name}: chance alone would give such {', '.join(alike)}.")
        for key, words in REMARKS.items():
            if content[key]:
                said.append(f"{name}: {content[key]:,} of {content['groups']:,} groups {words}.")
    return said


def _is_chance(entry: Mapping[str, Any]) -> bool:
    floor = entry["floor"]
    return floor is not None and floor["interval"][0] <= entry["value"] <= floor["interval"][1]


def groups_table(split: SplitCounts) -> Table:
    """The worst and the best groups of a split, the worst first, each with the interval of its accuracy."""
    order = np.argsort(split.accuracy, kind="stable")
    worst = order[:WORST_SHOWN]
    best = order[max(len(order) - BEST_SHOWN, len(worst)) :]
    table = Table(
        title=f"The worst {len(worst)} and the best {len(best)} of {len(order):,} groups in {escape(split.split)}"
    )
    table.add_column("group")
    for column in ("rows", "right", "accuracy", "5 to 95 %", "shrunk"):
        table.add_column(column, justify="right")
    low, high = split.interval
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
