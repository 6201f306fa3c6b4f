"""Comparisons on the terminal: differences of the criteria, a sentence, and then the groups that differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from rich.table import Table

from drurank.figures.selecting import selectable_criterion
from drurank.study.comparing import Compared, Comparison
from drurank.study.shipping import POINTS, in_words
from drurank.study.stepwise import LEVEL, TIE
from drurank.terminal import Terminal
from drurank.words import joined

GROUPS_SHOWN = 10
HOW_TO_READ = (
    "Difference: second less first, with a 95 % interval; shares in percent. Groups count as a sample of many."
)
BY_EXCHANGE = (
    "* By exchange: that often, methods exchanged at random are at least as far apart. Where groups are few or small, "
    "a criterion takes few values, so such a p may be large, even 1, beside an interval that ends near 0."
)
BY_EACH_GROUP = (
    "95 %: 2.5 to 97.5 %, as of the criteria above, so that a group is better or worse where 0 is outside. (Reports of "
    "one model show 5 to 95 %.)"
)
SHARES = ("first", "second", "difference", "low", "high")
"""Columns of the table of groups, which are shown in percent."""
MUCH = 2
"""How many times the p of a t-test one by exchange is at least for a word on it."""


def print_comparison(comparison: Comparison) -> None:
    """Print the criteria, what they say, and the groups that differ the most."""
    console = Terminal()
    console.print(_criteria_table(comparison))
    for sentence in comparison.about:
        console.print(sentence)
    for sentence in how_to_read(comparison):
        console.print(sentence, style="dim")
    for sentence in (*verdict(comparison), *comparison.remarks):
        console.print(sentence)
    if comparison.groups is not None:
        _print_groups(comparison, console)


def how_to_read(comparison: Comparison) -> list[str]:
    """Sentences on what the figures of the criteria are."""
    exchanged = [BY_EXCHANGE] if any(map(_is_by_exchange, comparison.criteria)) else []
    return [HOW_TO_READ, comparison.test, *exchanged]


def _criteria_table(comparison: Comparison) -> Table:
    chosen = f", chosen by {comparison.by}" if comparison.by else ""
    table = Table(title=f"{comparison.first} (first) and {comparison.second} (second), {comparison.split}{chosen}")
    methods = max((one.difference.methods for one in comparison.criteria), default=2)
    p = "p" if methods == 2 else "p, corrected"
    for column in ("criterion", "first", "second", "difference", "95 %", p):
        table.add_column(column, justify="left" if column == "criterion" else "right")
    for one in comparison.criteria:
        table.add_row(*figures(one))
    return table


def figures(one: Compared) -> list[str]:
    """Name, both values, difference, interval and p of a criterion."""
    show = selectable_criterion(one.criterion).shown
    low, high = (_signed(one.criterion, end) for end in one.difference.interval)
    p = in_words(one.difference.p).removeprefix("p = ") + " *" * _is_by_exchange(one)
    value = _signed(one.criterion, one.difference.value)
    # With a digit more the two make the difference that is shown.
    return [one.criterion, show(one.first, 1), show(one.second, 1), value, f"{low} to {high}", p]


def _is_by_exchange(one: Compared) -> bool:
    """Whether p is large by exchange alone, which then does not look like the interval."""
    by_lot = one.difference.p_by_lot
    return by_lot >= LEVEL and by_lot > MUCH * one.difference.p_of_error


def _signed(name: str, value: float) -> str:
    shown = selectable_criterion(name).shown(abs(value))
    return f"{'-' if value < 0 else '+'}{shown}" if float(shown.replace(",", "")) else shown


def verdict(comparison: Comparison) -> list[str]:
    """Sentences on which of the two is better, by which criteria, and how large a difference remains possible."""
    second, first = comparison.second, comparison.first
    if are_equal(comparison):
        return [f"{first} and {second} are right in equally many rows of every group, so all criteria are equal."]
    better, worse = better_and_worse(comparison)
    open_ = [one for one in comparison.criteria if not one.difference.is_distinguishable]
    lines = [
        f"{second} is {word} than {first} by {joined([one.criterion for one in some])}, by more than chance."
        for word, some in (("better", better), ("worse", worse))
        if some
    ]
    if open_:
        what = joined([f"{one.criterion} ({_possible(one)})" for one in open_])
        lines.append(
            f"{first} and {second}: no difference larger than chance on {comparison.split}, but still possible: {what}."
        )
    return lines


def better_and_worse(comparison: Comparison) -> tuple[list[Compared], list[Compared]]:
    """The criteria by which the second is better and worse, by more than chance."""
    told = [one for one in comparison.criteria if one.difference.is_distinguishable]
    return [one for one in told if _gain(one) > 0], [one for one in told if _gain(one) < 0]


def are_equal(comparison: Comparison) -> bool:
    """Whether both are right equally often in every group, and no criterion (of rates, or of single seeds) differs."""
    same = comparison.groups is not None and comparison.groups["first"].equals(comparison.groups["second"])
    return same and all(abs(one.difference.value) <= TIE for one in comparison.criteria)


def _gain(one: Compared) -> float:
    return selectable_criterion(one.criterion).sign * one.difference.value


def _possible(one: Compared) -> str:
    low, high = (_signed(one.criterion, end) for end in one.difference.interval)
    return f"{low} to {high} {POINTS}" if selectable_criterion(one.criterion).in_percent else f"{low} to {high}"


def _print_groups(comparison: Comparison, console: Terminal) -> None:
    assert comparison.groups is not None
    if are_equal(comparison):
        return
    apart = [row for row in comparison.groups.to_pylist() if row["verdict"] != "like"]
    if apart:
        table = Table(title="Groups that differ by their own rows alone")
        for column in ("group", "rows", "first", "second", "difference", "95 %"):
            table.add_column(column, justify="left" if column == "group" else "right")
        for row in apart if len(apart) <= 2 * GROUPS_SHOWN else [*apart[:GROUPS_SHOWN], *apart[-GROUPS_SHOWN:]]:
            *numbers, low, high = group_cells(row)
            table.add_row(*numbers, f"{low} to {high}")
        console.print(table)
        console.print(BY_EACH_GROUP, style="dim")
    console.print(on_groups(comparison.groups))


def group_cells(row: Mapping[str, Any]) -> list[str]:
    """Group, rows, share right with the first and the second, difference, and the ends of its interval, in percent."""
    first, second, difference, low, high = (100 * row[name] for name in SHARES)
    changes = [f"{change:+.1f}" for change in (difference, low, high)]
    return [row["group"], f"{row['count']:,}", f"{first:.2f}", f"{second:.2f}", *changes]


def on_groups(groups: pa.Table) -> str:
    """How many groups the second serves better or worse, each by its own rows, and what that means."""
    found = groups["verdict"].to_pylist()
    better, worse = (found.count(kind) for kind in ("better", "worse"))
    by_chance = 0.05 * len(found)
    return (
        f"Each of {len(found):,} groups by its own rows alone: {better:,} served better by the second, {worse:,} worse "
        f"(were both the same, chance alone would make up to about {by_chance:.1f} of them better or worse); the rows "
        f"of {len(found) - better - worse:,} do not decide. {_on_groups(better, worse, by_chance)}"
    )


def _on_groups(better: int, worse: int, by_chance: float) -> str:
    """What the numbers of groups that differ mean for the criteria of all groups."""
    if min(better, worse) > by_chance / 2:
        return (
            "So the second serves some groups better and others worse than the first; criteria of all groups may hide "
            "that, since one outweighs the other."
        )
    if better + worse > by_chance:
        return "The criteria above look at all groups."
    return "That single groups do not decide says nothing against the criteria above, which look at all groups."
