"""Criteria and groups of a report as rows of cells, for pages and model cards."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from drurank.report.counts import ALL
from drurank.report.served import Served
from drurank.report.tables import BETTER, counts_heading, counts_of
from drurank.words import in_digits, in_range

FROM_TO = "From, to: where the group's true figure probably lies, by its own rows alone; 5 to 95 %."
"""What two of the columns of groups are."""


MEANINGS = {
    r"overall": "all rows together",
    r"average": "the mean of the groups",
    r"worst": "the group that is served worst",
    r"p(\d+)": "{} % of the groups are served worse than this",
    r"gdcg(\d+)": "{summed} of the worst {} % of the groups, added, the worst counting most",
    r"qdcg(\d+)": "the same of percentiles, so that the number of groups does not matter (worst {} %)",
    r"tstat": "the mean of the groups over its standard error",
    r"gap": "the highest less the lowest of the groups",
    r"ratio": "the lowest of the groups over the highest",
    r"error_ratio": "the lowest error of a group over the highest",
}
"""What criteria are, for people who do not know their names."""


def meanings(names: Iterable[str], summed: str) -> Iterator[str]:
    """A line on what the criteria of these names are, if any of them is known.

    Args:
        names: of the criteria.
        summed: what sums of the worst groups add.
    """
    found = [
        f"{name}: {words.format(*match.groups(), summed=summed)}"
        for name in names
        for pattern, words in MEANINGS.items()
        if (match := re.fullmatch(pattern, name))
    ]
    if found:
        yield f"{'; '.join(found)}."


def criteria_rows(splits: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """Each criterion of each split, and the answers that need no model.

    Args:
        splits: name to ``summary``.

    Returns:
        Rows of: criterion, split, whether higher or lower is better, observed, true, by chance.
    """
    return [
        [name, _called(split), BETTER[each["criteria"][name]["better"]], *_cells(each["criteria"][name])]
        for name in next(iter(splits.values()))["criteria"]
        for split, each in splits.items()
    ] + [row for split, each in splits.items() for row in _answers(split, each)]


def group_rows(split: Served) -> tuple[list[str], list[list[str]]]:
    """The columns of a table of groups, and a row for each, the worst first and those without a value last."""
    low, high = split.value_interval
    shrunk = split.figure.shown(split.shrunk)
    order = np.lexsort((split.interval[1], split.accuracy))
    columns = {split.figure.name: split.value, "from": low, "to": high}
    columns |= dict(zip(("by chance from", "by chance to"), split.chance, strict=True))
    if not np.isnan(split.shrunk).all():
        columns["shrunk"] = shrunk
    rows = [
        [
            split.groups[i],
            *counts_of(split, int(i)),
            *(in_digits(column[i]) for column in columns.values()),
        ]
        for i in order
    ]
    headings = ["group", *counts_heading(split), *columns]
    return headings, rows + [[group, "0", *[""] * (len(headings) - 2)] for group in split.without]


def _called(split: str) -> str:
    return "all rows" if split == ALL else split


def _answers(split: str, content: Mapping[str, Any]) -> Iterator[list[str]]:
    """Lines of the balanced accuracy and of the best constant answer, where they are known."""
    answer, where = content["constant_answer"], _called(split)
    if answer:
        yield ["balanced", where, "higher", in_digits(content["balanced_accuracy"]), "", ""]
        yield ["constant answer", where, "", in_digits(answer["value"]), "", ""]


def _cells(entry: Mapping[str, Any]) -> list[str]:
    floor = entry["floor"]
    true = f"{in_digits(entry['estimate'])} ({in_range(entry['interval'])})" if entry["interval"] else ""
    chance = f"{in_digits(floor['median'])} ({in_range(floor['interval'])})" if floor else ""
    return [in_digits(entry["value"]), true, chance]
