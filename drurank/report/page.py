"""The report as one page of HTML that needs nothing beside it: for people who have no Python."""

from __future__ import annotations

import base64
import datetime
import io
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from drurank.files import replace_file
from drurank.report.counts import ALL, SplitCounts
from drurank.report.remarks import capital, on_answer, on_differences, remarks, remarks_on_drop, remarks_on_groups
from drurank.report.served import Served
from drurank.report.tables import BETTER, events_heading
from drurank.terminal import visible
from drurank.words import counted, in_digits, in_range, joined, short

TEMPLATE = "page.html.j2"


def write_page(
    file: Path,
    report: Mapping[str, Any],
    splits: Sequence[SplitCounts],
    figures: Mapping[str, Sequence[Served]] | None = None,
    *,
    title: str,
    command: str | None = None,
) -> None:
    """Write the page.

    Args:
        file: where to.
        report: the content of ``report.json``.
        splits: counts by split.
        figures: further figure to each split.
        title: of the page.
        command: that made it, if one did.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined  # here, since few reports need it

    parts, first = [_part(report, splits, 0)], splits[0]
    lines = summary(first, report["splits"][first.split])
    for place, (name, counts) in enumerate((figures or {}).items(), start=1):
        parts.append(_part(report["figures"][name], counts, place))
        lines.insert(-1, _of_figure(counts[0]))
    page = Environment(
        loader=PackageLoader("drurank.report", "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    ).get_template(TEMPLATE)
    text = page.render(
        title=visible(title),
        summary=[visible(line) for line in lines],
        parts=parts,
        made=_made(report, command),
    )
    replace_file(file, lambda path: path.write_text(text, encoding="utf-8"))


def summary(split: SplitCounts, content: Mapping[str, Any]) -> list[str]:
    """A few sentences on a split, for people who read no tables: who is served worst, is that chance, and what next.

    Args:
        split: its counts.
        content: its ``summary``.
    """
    place = int(np.lexsort((split.interval[1], split.accuracy))[0])
    where = "" if split.split == ALL else f" in {split.split}"
    lines = [
        f"Served worst{where}: {short(split.groups[place])}, with {split.correct[place]:,} of "
        f"{counted(int(split.count[place]), 'row')} right ({in_digits(split.value[place])}); of all rows together "
        f"{in_digits(split.correct.sum() / split.count.sum())} are right."
    ]
    unseen = content["groups_unseen_in_training"]
    if unseen is not None:
        lines.append(f"{unseen:,} of {counted(content['groups'], 'group')} were not seen in training.")
    floor = content["criteria"].get("worst", {}).get("floor")
    if floor and floor["interval"]:
        low, high = floor["interval"]
        lines.append(
            f"If every group were served alike, chance alone would put the worst of "
            f"{counted(len(split.groups), 'group')} of these sizes between {in_digits(low)} and {in_digits(high)}."
        )
    of_worst = [name for name in content["criteria"] if name == "worst"]
    lines += [capital(line) for line in (*on_answer(content), on_differences(content, of_worst))]
    return [*lines, _next(split, content, place)]


def _of_figure(split: Served) -> str:
    place = int(np.lexsort((split.interval[1], split.accuracy))[0])
    where = "" if split.split == ALL else f" in {split.split}"
    rows = int(split.count[place])
    of_rows = f"of {counted(rows, 'row')}" if split.events is None else f"{split.events[place]:,} of {rows:,}"
    return (
        f"{capital(split.figure.words)}{where}: {in_digits(split.overall)} of all rows together; the worst group is "
        f"{short(split.groups[place])}, with {in_digits(split.value[place])} ({of_rows})."
    )


def _next(split: SplitCounts, content: Mapping[str, Any], worst: int) -> str:
    spread = content["spread"]
    if content["worse_than_chance"] is None and not (spread and spread["interval"][0] > 0):
        return (
            "Next: no group stands out by more than chance, so do not act on the order of the groups; more rows by "
            "group would show smaller differences."
        )
    # The group that was observed to be the worst may be one of a few unlucky rows.
    likely = worst if split.shrunk[worst] <= split.shrunk.min() else int(np.argmin(split.shrunk))
    name = content["worse_than_chance"] or split.groups[likely]
    look = f"look at the rows of {short(name)} that are wrong"
    if name != split.groups[worst]:
        look = f"{short(name)} is probably served worst: look at its rows that are wrong"
    return (
        f"Next: {look}, and at how many such rows training had; then compare this model with one "
        "that is trained to serve such groups."
    )


def _part(content: Mapping[str, Any], splits: Sequence[Served], place: int) -> dict[str, Any]:
    from drurank.report.pictures import draw_groups, save_picture  # here, since matplotlib is slow to import

    figure = splits[0].figure
    buffer = io.BytesIO()
    save_picture(draw_groups(splits), buffer)
    shown = joined([short(split.split) for split in splits if split.split != ALL] or ["all rows"])
    return {
        "title": capital(figure.words),
        "picture": base64.b64encode(buffer.getvalue()).decode("ascii"),
        "alt": f"{capital(figure.words)} of the groups of {shown}, the worst first, beside what chance would give.",
        "criteria": [
            [name, "all rows" if split == ALL else split, BETTER[entry["better"]], *_cells(entry)]
            for name in next(iter(content["splits"].values()))["criteria"]
            for split, entry in ((split, each["criteria"][name]) for split, each in content["splits"].items())
        ]
        + [row for split, each in content["splits"].items() for row in _answers(split, each)],
        "remarks": remarks(content["splits"]),
        "drop": _drop(content["drop"]),
        "splits": [_split(split, f"t{place}-{number}", explains=not number) for number, split in enumerate(splits)],
    }


def _answers(split: str, content: Mapping[str, Any]) -> Iterator[list[str]]:
    """Lines of the balanced accuracy and of the best constant answer, where they are known."""
    answer, where = content["constant_answer"], "all rows" if split == ALL else split
    if answer:
        yield ["balanced", where, "higher", in_digits(content["balanced_accuracy"]), "", ""]
        yield ["constant answer", where, "", in_digits(answer["value"]), "", ""]


def _cells(entry: Mapping[str, Any]) -> list[str]:
    floor = entry["floor"]
    true = f"{in_digits(entry['estimate'])} ({in_range(entry['interval'])})" if entry["interval"] else ""
    chance = f"{in_digits(floor['median'])} ({in_range(floor['interval'])})" if floor else ""
    return [in_digits(entry["value"]), true, chance]


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


def _split(split: Served, name: str, *, explains: bool) -> dict[str, Any]:
    low, high = split.value_interval
    shrunk = split.figure.shown(split.shrunk)
    order = np.lexsort((split.interval[1], split.accuracy))
    columns = {split.figure.name: split.value, "from": low, "to": high}
    if split.chance is not None:
        columns |= dict(zip(("by chance from", "by chance to"), split.chance, strict=True))
    if not np.isnan(split.shrunk).all():
        columns["shrunk"] = shrunk
    rows = [
        [
            visible(split.groups[i]),
            f"{split.count[i]:,}",
            *([] if split.events is None else [f"{split.events[i]:,}"]),
            *(in_digits(column[i]) for column in columns.values()),
        ]
        for i in order
    ]
    headings = ["group", "rows", *events_heading(split), *columns]
    rows += [[visible(group), "0", *[""] * (len(headings) - 2)] for group in split.without]
    where = "" if split.split == ALL else f" in {split.split}"
    return {
        "id": name,
        "title": f"{counted(len(split.groups), 'group')}{where}",
        "columns": headings,
        "rows": rows,
        "remarks": [
            "From, to: 5 to 95 % by the group's own rows.",
            *remarks_on_groups(split, explains=explains),
        ],
    }


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _made(report: Mapping[str, Any], command: str | None) -> list[tuple[str, str]]:
    skipped = ("splits", "drop", "figures")
    about = [(name, _text(value)) for name, value in report.items() if name not in skipped and value is not None]
    now = datetime.datetime.now(tz=datetime.UTC)
    return [
        *about,
        *([("command", command)] if command else []),
        ("made", f"{now:%Y-%m-%d %H:%M} UTC, drurank {version('drurank')}"),
    ]
