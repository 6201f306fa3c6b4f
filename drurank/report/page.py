"""The report as one page of HTML that needs nothing beside it: for people who have no Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from drurank.report.counts import ALL, SplitCounts
from drurank.report.html import inline_picture, inline_png, made_now, render_page
from drurank.report.remarks import (
    are_told_together,
    on_answer,
    on_differences,
    remarks,
    remarks_on_drop,
    remarks_on_groups,
    said_drop,
)
from drurank.report.served import Served
from drurank.report.shown import FROM_TO, criteria_rows, group_rows, meanings
from drurank.report.worst import on_worst
from drurank.tabular.dropping import said_dropped
from drurank.words import capital, counted, in_digits, in_range, joined, quoted, short

TEMPLATE = "page.html.j2"
_TRUE, _CHANCE = "true, estimated (5 to 95 %)", "by chance alone (5 to 95 %)"
CRITERIA_COLUMNS = ("criterion", "split", "better if", "observed", _TRUE, _CHANCE)
DROP_COLUMNS = ("criterion", "observed", _TRUE, _CHANCE)


@dataclass(frozen=True)
class Section:
    """What a page tells of the groups by one column, or several crossed.

    Attributes:
        report: the content of ``report.json``.
        splits: counts by split.
        figures: further figure to each split.
        by: which columns these groups are of, where a page has several sections.
    """

    report: Mapping[str, Any]
    splits: Sequence[SplitCounts]
    figures: Mapping[str, Sequence[Served]] = field(default_factory=dict)
    by: str = ""

    @property
    def begin(self) -> str:
        """Begins what is said of it."""
        return f"By {self.by}: " if self.by else ""

    def parts(self, place: int) -> Iterator[dict[str, Any]]:
        """Its figures as the template takes them, of the section of this place on the page."""
        for number, (content, splits) in enumerate([(self.report, self.splits), *self._further()]):
            said = () if number else (splits[0].split,)
            part = _part(content, splits, f"{place}-{number}", said=said)
            yield {**part, "title": f"{self.begin}{part['title']}"}

    def _further(self) -> Iterator[tuple[Mapping[str, Any], Sequence[Served]]]:
        return ((self.report["figures"][name], splits) for name, splits in self.figures.items())

    def lines(self) -> list[str]:
        """Its summary."""
        first = self.splits[0]
        lines = summary(first, self.report["splits"][first.split])
        for content, splits in self._further():
            lines.insert(-1, on_worst(splits[0], content["splits"][splits[0].split]))
        lines[-1:-1] = said_drop(self.report["drop"])
        return [f"{self.begin}{line}" if number == 0 else line for number, line in enumerate(lines)]


def write_page(
    file: Path, sections: Sequence[Section], *, title: str, command: str | None = None, mistakes: Path | None = None
) -> None:
    """Write the page.

    Args:
        file: where to.
        sections: of groups by one column or several crossed, one or more.
        title: of the page.
        command: that made it, if one did.
        mistakes: picture of what the worst groups got wrong, a PNG, if it is to be shown.
    """
    report = sections[0].report
    lines = [f"{said_dropped(report['dropped'])}."] if "dropped" in report else []
    lines += [line for section in sections for line in section.lines()]
    render_page(
        file,
        TEMPLATE,
        title=title,
        summary=lines,
        criteria_columns=CRITERIA_COLUMNS,
        drop_columns=DROP_COLUMNS,
        parts=[part for place, section in enumerate(sections) for part in section.parts(place)],
        made=_made(report, command),
        mistakes=None if mistakes is None else inline_png(mistakes.read_bytes()),
    )


def summary(split: SplitCounts, content: Mapping[str, Any]) -> list[str]:
    """A few sentences on a split, for people who read no tables: who is served worst, is that chance, and what next.

    Args:
        split: its counts.
        content: its ``summary``.
    """
    lines = [on_worst(split, content)]
    unseen = content["groups_unseen_in_training"]
    if unseen is not None:
        of = f"{unseen:,} of {counted(content['groups'], 'group')} were not"
        lines.append(f"{of if unseen else 'All groups were'} seen in training.")
    entry = content["criteria"].get("worst", {})
    floor, worst = entry.get("floor"), content["served_worst"]
    # Of groups of all sizes the worst may be as low by chance, though one of that size is hardly ever.
    is_certain = worst is not None and worst["beyond_chance"]
    if floor and floor["interval"] and not (is_certain and floor["interval"][0] <= entry["value"]):
        groups = counted(content["groups"] - content["groups_left_out"], "group")
        low, high = map(in_digits, floor["interval"])
        lines.append(
            f"If every group were served alike, chance alone would put the worst of {groups} of these sizes between "
            f"{low} and {high}."
        )
    of_worst = [name for name in content["criteria"] if name == "worst" and not is_certain]
    lines += [capital(line) for line in (*on_answer(content), on_differences(content, of_worst))]
    return [*lines, _next(split, content)]


def _next(split: SplitCounts, content: Mapping[str, Any]) -> str:
    spread, surest, worst = content["spread"], content["worse_than_chance"], content["served_worst"]
    differ = spread is not None and spread["interval"][0] > 0
    if surest is None and not differ and are_told_together(content):
        return (
            "Next: look at the rows that are wrong of several of the worst groups, and at what these share: together "
            "they are worse than chance, though which of them truly are cannot be said."
        )
    if surest is None and not differ:
        return (
            "Next: no group stands out by more than chance, so do not act on the order of the groups; more rows by "
            "group would show smaller differences."
        )
    # The group that was observed to be the worst may be one of a few unlucky rows.
    place = int(np.argmin(split.shrunk)) if surest is None else split.groups.index(surest)
    if surest is None:
        name = quoted(split.groups[place])
        why = f"groups differ, but none by itself is told from chance; begin with {name}, the lowest by shrunk accuracy"
    else:
        why = f"{quoted(surest)} is served worse than chance would give"
        if worst and surest != worst["group"]:
            why += ", with the strongest evidence of all groups"
    training = ", and at how many such rows training had"
    if split.seen is not None and not split.seen[place]:
        training = " (training had no rows of this group)"
    return (
        f"Next: {why}: look at its rows that are wrong{training}; then compare this model with one that is trained to "
        "serve such groups."
    )


def _part(content: Mapping[str, Any], splits: Sequence[Served], place: str, said: Sequence[str] = ()) -> dict[str, Any]:
    """A figure as the template takes it; of the splits in ``said`` the summary tells how groups differ."""
    from drurank.report.pictures import draw_groups  # here, since matplotlib is slow to import

    figure, names = splits[0].figure, content["splits"][splits[0].split]["criteria"]
    shown = joined([short(split.split) for split in splits if split.split != ALL] or ["all rows"])
    return {
        "title": capital(figure.heading),
        "picture": inline_picture(draw_groups(splits)),
        "alt": f"{capital(figure.heading)} of the groups of {shown}, the worst first, beside what chance would give.",
        "criteria": criteria_rows(content["splits"]),
        "remarks": [*meanings(names, figure.summed), *remarks(content["splits"], said=said)],
        "drop": _drop(content["drop"]),
        "splits": [
            _split(split, content["splits"][split.split], f"t{place}-{number}", is_first=not number)
            for number, split in enumerate(splits)
        ],
    }


def _drop(drop: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if not drop:
        return None
    rows = []
    for name, entry in drop["criteria"].items():
        chance = entry["by_chance"]
        true = f"{in_digits(entry['estimate'])} ({in_range(entry['interval'])})" if entry["interval"] else ""
        by_chance = f"{in_digits(chance['median'])} ({in_range(chance['interval'])})" if chance else ""
        rows.append([name, in_digits(entry["value"]), true, by_chance])
    title = f"How much worse {drop['to']} is than {drop['from']}"
    return {"title": title, "rows": rows, "remarks": remarks_on_drop(drop)}


def _split(split: Served, content: Mapping[str, Any], name: str, *, is_first: bool) -> dict[str, Any]:
    headings, rows = group_rows(split)
    where = "" if split.split == ALL else f" in {split.split}"
    return {
        "id": name,
        "title": f"{counted(len(split.groups), 'group')}{where}",
        "columns": headings,
        "rows": rows,
        "remarks": [
            *([] if is_first else [on_worst(split, content)]),
            FROM_TO,
            *remarks_on_groups(split, explains=is_first),
        ],
    }


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _made(report: Mapping[str, Any], command: str | None) -> list[tuple[str, str]]:
    skipped = ("splits", "drop", "figures", "dropped")
    about = [(name, _text(value)) for name, value in report.items() if name not in skipped and value is not None]
    return [
        *about,
        *([("command", command)] if command else []),
        *([("dropped", said_dropped(report["dropped"]))] if "dropped" in report else []),
        made_now(),
    ]
