"""Sentences on the groups that are served worst, and whether that is chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from drurank.figures import ACCURACY, Measure, figure_of
from drurank.report.counts import ALL
from drurank.report.served import Served
from drurank.words import capital, counted, in_digits, in_range, joined, quoted

NAMED = 5
"""Groups that a sentence names; of more it gives the number."""
CERTAIN = "It is served worse than chance alone would make a group of its size, even as the worst of {}."
LIKEWISE = "Worse than chance alone would make groups of their sizes, even as the worst of {}"
UNCERTAIN = "That one group by itself may be chance."
OUTSIDE = (
    "Chance alone would rarely put a single group of its size there ({range}, 5 to 95 %), but often enough one of "
    "{groups}: that one group by itself may be chance."
)


def on_worst(split: Served, content: Mapping[str, Any]) -> str:
    """Which group is served worst, and whether that one group is told from chance.

    Args:
        split: the groups.
        content: their ``summary``.
    """
    where, worst = "" if split.split == ALL else f" in {split.split}", content["served_worst"]
    place = split.groups.index(worst["group"]) if worst else int(np.argmax(split.count))
    name, value, rows = quoted(split.groups[place]), in_digits(split.value[place]), int(split.count[place])
    if worst is None:
        return f"There is one group only{where}: {name}, with {split.figure.heading} {value} ({counted(rows, 'row')})."
    some = " of the groups that are not left out" if content["groups_left_out"] else ""
    verdict = " ".join([_on_chance(split, place, content), *_on_others(split, content), *on_calibration(content)])
    of_rows = f"of {counted(rows, 'row')}" if split.events is None else f"{split.events[place]:,} of {rows:,}"
    if split.weights is not None:
        of_rows = f"by weight, {of_rows}"
    if split.figure is ACCURACY and split.weights is None:
        unit = "row" if rows == 1 else "rows"
        return (
            f"Served worst{where}{some}: {name}, with {of_rows} {unit} right "
            f"({value}); of all rows together {in_digits(split.overall)} are right. {verdict}"
        )
    return (
        f"{capital(split.figure.heading)}{where}: {in_digits(split.overall)} of all rows together; the worst group"
        f"{some} is {name}, with {value} ({of_rows}). {verdict}"
    )


def _on_chance(split: Served, place: int, content: Mapping[str, Any]) -> str:
    """Whether the group that is served worst is told from chance."""
    groups = _looked_at(content)
    if content["served_worst"]["beyond_chance"]:
        return CERTAIN.format(groups)
    low, high = (float(end[place]) for end in split.chance)
    if low <= split.value[place] <= high or np.isnan(low + high):
        return UNCERTAIN
    return OUTSIDE.format(range=in_range((low, high)), groups=groups)


def _looked_at(content: Mapping[str, Any]) -> str:
    return counted(content["groups"] - content["groups_left_out"], "group")


def _on_others(split: Served, content: Mapping[str, Any]) -> Iterator[str]:
    """Which other groups are told from chance than the one that is served worst."""
    told = content["beyond_chance"]
    others = [name for name in told["groups"] if name != content["served_worst"]["group"]]
    number = told["number"] - content["served_worst"]["beyond_chance"]
    if not others or not number:
        return
    place = {name: number for number, name in enumerate(split.groups)}
    named = sorted(others, key=lambda name: split.accuracy[place[name]])[:NAMED]
    said = [f"{quoted(name)} ({in_digits(split.value[place[name]])})" for name in named]
    more = [f"{number - len(named):,} more"] if number > len(named) else []
    so = f"So {'is' if number == 1 else 'are'}"
    if not content["served_worst"]["beyond_chance"]:
        so = f"{LIKEWISE.format(_looked_at(content))}:"
    yield f"{so} {joined([*said, *more])}."


def on_calibration(content: Mapping[str, Any]) -> Iterator[str]:
    """Whether probabilities are off in the groups as a whole, of the ``summary`` of a figure that tells that."""
    figure, average = figure_of(content), content["criteria"].get("average")
    if not isinstance(figure, Measure) or figure.perfect is None or not average or not average["floor"]:
        return
    ends = average["floor"]["interval"]
    if ends and average["value"] > ends[1]:
        yield (
            f"Probabilities are off in the groups as a whole: their mean {figure.words} is "
            f"{in_digits(average['value'])}, where right ones would give {in_range(ends)}."
        )
