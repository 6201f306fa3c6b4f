"""The report on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from drurank.figures import ACCURACY, figure_of
from drurank.report.counts import ALL
from drurank.report.remarks import remarks, remarks_on_drop, remarks_on_groups
from drurank.report.served import Served
from drurank.terminal import dimmed
from drurank.words import counted, in_digits, in_range, shortened

WORST_SHOWN, BEST_SHOWN = 10, 5
WIDEST = 11
"""Letters in a line of the heading of a figure."""
BETTER = {"max": "higher", "min": "lower"}


def criteria_table(
    columns: Mapping[str, Mapping[str, Any]], explained: Mapping[str, Mapping[str, Any]] | None = None
) -> Table:
    """Criteria as rows and splits (or runs) as columns: what was observed, what is true, what chance alone would give.

    Args:
        columns: heading of each column to a split's ``summary``.
        explained: see ``remarks``.
    """
    table = Table(
        title="Criteria",
        caption="\n".join(["", *remarks(columns, explained)]),
        caption_justify="left",
        box=SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
        show_edge=False,
    )
    figure = figure_of(next(iter(columns.values())))
    if figure is not ACCURACY:
        table.title = f"Criteria of the {figure.heading}"
    names = shortened(list(columns))
    headings = [_heading(name, content) for name, content in zip(names, columns.values(), strict=True)]
    depth = max(map(len, headings))
    above = "\n" * (depth + 1)
    table.add_column(f"{above}criterion,\nbetter if")
    has_floor = any(entry["floor"] for content in columns.values() for entry in content["criteria"].values())
    for heading, content in zip(headings, columns.values(), strict=True):
        table.add_column(f"{above}\n{'shrunk' if content['shrink'] else 'observed'}", justify="right")
        lines = [*heading, *[""] * (depth + 1 - len(heading)), "true,", "estimated"]
        table.add_column("\n".join(lines), justify="right")
        if has_floor:
            table.add_column(f"{above}by chance\nalone", justify="right", style="dim")
    first = next(iter(columns.values()))["criteria"]
    for key, entry in first.items():
        cells = [cell for content in columns.values() for cell in _cells(content["criteria"][key], has_floor)]
        table.add_row(dimmed(key, BETTER[entry["better"]]), *cells)
    _add_classes(table, list(columns.values()), 3 if has_floor else 2)
    return table


def _heading(name: str, content: Mapping[str, Any]) -> list[str]:
    """Lines above the columns of a split (or run) of that short name."""
    groups, left_out = content["groups"], content["groups_left_out"]
    used = [f"{groups - left_out:,} of {groups:,}", "groups used"] if left_out else [counted(groups, "group")]
    return [name, *used, counted(content["rows"], "row")]


def _cells(entry: Mapping[str, Any], has_floor: bool) -> list[str | Text]:
    true = dimmed(in_digits(entry["estimate"]), in_range(entry["interval"])) if entry["interval"] else ""
    floor = entry["floor"]
    chance = f"{in_digits(floor['median'])}\n{in_range(floor['interval'])}" if floor else ""
    return [in_digits(entry["value"]), true, chance][: 3 if has_floor else 2]


def _add_classes(table: Table, contents: Sequence[Mapping[str, Any]], width: int) -> None:
    """Lines of the balanced accuracy and of the best constant answer, where they are known."""
    answers = [content["constant_answer"] or {} for content in contents]
    if not any(answers):
        return
    table.add_section()
    lines = {
        ("balanced", "higher"): [content["balanced_accuracy"] for content in contents],
        ("constant", "answer"): [answer.get("value") for answer in answers],
    }
    for heading, values in lines.items():
        table.add_row(dimmed(*heading), *(cell for value in values for cell in [in_digits(value), *[""] * (width - 1)]))


def drop_table(drop: Mapping[str, Any], *, shrink: bool = False) -> Table:
    """How much worse criteria are on the unseen groups.

    Args:
        drop: what ``find_drop`` gave.
        shrink: whether its figures are of shrunk accuracies, which are not compared with chance.
    """
    table = Table(
        title=f"How much worse {drop['to']} is than {drop['from']}",
        caption="\n".join(remarks_on_drop(drop)),
        caption_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("criterion")
    table.add_column("shrunk" if shrink else "observed", justify="right")
    table.add_column("true, estimated", justify="right")
    if not shrink:
        table.add_column("by chance alone", justify="right", style="dim")
    for key, entry in drop["criteria"].items():
        chance = entry["by_chance"] or {"median": None, "interval": None}
        cells: list[str | Text] = [
            in_digits(entry["value"]),
            dimmed(in_digits(entry["estimate"]), in_range(entry["interval"])),
            f"{in_digits(chance['median'])}\n{in_range(chance['interval'])}",
        ]
        table.add_row(key, *cells[: 2 if shrink else 3])
    return table


def groups_table(split: Served, *, explains: bool = True) -> Table:
    """The worst and the best groups of a split, the worst first, each with the interval of its accuracy.

    Args:
        split: counts by group.
        explains: whether it says what the columns mean.
    """
    low, high = split.value_interval
    # Among equal accuracies, the most certain group comes first among the worst and last among the best.
    first, last = split.interval
    worst = np.lexsort((last, split.accuracy))[:WORST_SHOWN]
    rest = np.setdiff1d(np.arange(len(low)), worst)
    best = rest[np.lexsort((first[rest], split.accuracy[rest]))][max(len(rest) - BEST_SHOWN, 0) :]
    some = f"The worst {len(worst)} and the best {len(best)} of" if len(best) else "All" if len(low) > 1 else "The only"
    what = counted(len(low), "group") if len(low) > 1 else "group"
    has_shrunk = not np.isnan(split.shrunk).all()
    shrunk_heading = ["shrunk"] if has_shrunk else []
    of_figure = "" if split.figure is ACCURACY else f", by {split.figure.heading}"
    table = Table(
        title=f"{some} {what}{'' if split.split == ALL else f' in {split.split}'}{of_figure}",
        caption="\n".join(remarks_on_groups(split, explains=explains)),
        caption_justify="left",
    )
    # Of a long name every letter is shown, on several lines, since names may differ at their ends alone.
    table.add_column("group", overflow="fold")
    name = "\n".join(wrap(split.figure.name.replace("_", " "), WIDEST))
    for column in (*counts_heading(split), name, "5 to 95 %", "by chance", *shrunk_heading):
        table.add_column(column, justify="right", no_wrap=True)
    for i in [*worst, *best]:
        value, mark = split.figure.shown(split.shrunk[i]), " *" if split.contradicts[i] else "  "
        table.add_row(
            split.groups[i],
            *counts_of(split, int(i)),
            in_digits(split.value[i]),
            in_range((low[i], high[i])),
            in_range([end[i] for end in split.chance]),
            *([f"{in_digits(value)}{mark}"] if has_shrunk else []),
            end_section=len(best) > 0 and i == worst[-1],
        )
    return table


def counts_heading(split: Served) -> list[str]:
    """What the columns of ``counts_of`` are called."""
    effective = [] if split.weights is None else ["effective"]
    events = [] if split.events is None else ["right" if split.figure is ACCURACY else "events"]
    return ["rows", *effective, *events]


def counts_of(split: Served, place: int) -> list[str]:
    """The rows of a group, how many of equal weight tell as much, and of how many the figure is the share, if any."""
    effective = [] if split.weights is None else [f"{split.weights.effective[place]:,.1f}"]
    events = [] if split.events is None else [f"{split.events[place]:,}"]
    return [f"{split.count[place]:,}", *effective, *events]
