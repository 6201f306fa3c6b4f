"""Comparisons on the terminal: differences of the criteria, a sentence, and then the groups that differ."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow.csv as pa_csv
from rich.table import Table

from drurank.criteria import criterion
from drurank.errors import InputError
from drurank.files import refuse_existing, replace_file
from drurank.study.choosing import standing_for
from drurank.study.comparing import Compared, Comparison
from drurank.study.comparing_candidates import compare_in_study
from drurank.study.comparing_files import compare_runs, files_compared
from drurank.study.finished import Study
from drurank.study.folder import files_read
from drurank.study.shipping import POINTS, in_words
from drurank.study.stepwise import LEVEL
from drurank.terminal import Terminal, say
from drurank.words import as_names, joined

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


def show_comparison(
    folder: str | None = None,
    first: str | None = None,
    second: str | None = None,
    runs: list[str] | None = None,
    by: str | None = None,
    on: str | None = None,
    cells: str | None = None,
    output: str | None = None,
    overwrite: bool = False,
) -> Comparison:
    """Two methods, candidates or runs on the same groups: by how much they differ, and which groups differ.

    Args:
        folder: of a study, with first and second.
        first: a method, as ERM or qDRU+M, with the settings that a criterion chose and over all seeds; or a setting, as
            'DRU cutoff=5'; or one candidate, as 'DRU cutoff=5 seed=0' or by its key (the name of its folder).
        second: the other one.
        runs: folders of two tested runs, instead of a study.
        by: criterion that chooses settings and checkpoints, on validation; qdcg10 (the first of the study, if it kept
            none by that), if not given.
        on: split; that of groups never seen in training, if not given.
        cells: criteria to compare, with commas; that of by, average, p10, worst and those of the study, if not given.
        output: CSV file for all groups; none is written, if not given.
        overwrite: whether such a file that exists is replaced.

    Returns:
        The comparison.

    Raises:
        InputError: if there are no such two, they were tested on other groups, or the file exists or is read.
    """
    names = None if cells is None else as_names(cells)
    file = None if output is None else Path(output).expanduser()
    read = [] if folder is None else files_read(Path(folder).expanduser())
    read += [name for run in runs or [] for name in files_compared(run)]
    refuse_existing([] if file is None else [file], overwrite=overwrite, inputs=read)
    if runs is not None:
        if folder or first or second or len(runs) != 2:
            raise InputError("give two folders of runs, as runs=[a,b], or folder, first and second")
        found = compare_runs(runs[0], runs[1], by or "qdcg10", on, names)
    elif folder and first and second:
        study = Study.load(folder)
        found = compare_in_study(study, first, second, standing_for(study, by), on, names)
    else:
        raise InputError("give folder (of a study), first and second, or two folders of runs, as runs=[a,b]")
    print_comparison(found)
    if file is not None:
        write_groups(found, file)
    return found


def write_groups(comparison: Comparison, file: Path) -> None:
    """Write the groups of a comparison as CSV.

    Raises:
        InputError: if it has none.
    """
    if comparison.groups is None:
        raise InputError("over several splits of the data no groups are compared; leave output out")
    replace_file(file, lambda path: pa_csv.write_csv(comparison.groups, path))
    say(f"Written: {file}")


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
    show = criterion(one.criterion).shown
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
    shown = criterion(name).shown(abs(value))
    return f"{'-' if value < 0 else '+'}{shown}" if float(shown.replace(",", "")) else shown


def verdict(comparison: Comparison) -> list[str]:
    """Sentences on which of the two is better, by which criteria, and how large a difference remains possible."""
    second, first = comparison.second, comparison.first
    if _are_equal(comparison):
        return [f"{first} and {second} are right in equally many rows of every group, so all criteria are equal."]
    better = [one for one in comparison.criteria if one.difference.is_distinguishable and _gain(one) > 0]
    worse = [one for one in comparison.criteria if one.difference.is_distinguishable and _gain(one) < 0]
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


def _are_equal(comparison: Comparison) -> bool:
    """Whether both have the same figure in every group."""
    return comparison.groups is not None and comparison.groups["first"].equals(comparison.groups["second"])


def _gain(one: Compared) -> float:
    return criterion(one.criterion).sign * one.difference.value


def _possible(one: Compared) -> str:
    low, high = (_signed(one.criterion, end) for end in one.difference.interval)
    return f"{low} to {high} {POINTS}" if criterion(one.criterion).in_percent else f"{low} to {high}"


def _print_groups(comparison: Comparison, console: Terminal) -> None:
    assert comparison.groups is not None
    if _are_equal(comparison):
        return
    found = comparison.groups.to_pylist()
    apart = [row for row in found if row["verdict"] != "like"]
    if apart:
        table = Table(title="Groups that differ by their own rows alone")
        for column in ("group", "rows", "first", "second", "difference", "95 %"):
            table.add_column(column, justify="left" if column == "group" else "right")
        for row in apart if len(apart) <= 2 * GROUPS_SHOWN else [*apart[:GROUPS_SHOWN], *apart[-GROUPS_SHOWN:]]:
            first, second, difference, low, high = (100 * row[name] for name in SHARES)
            interval = f"{low:+.1f} to {high:+.1f}"
            numbers = [f"{row['count']:,}", f"{first:.2f}", f"{second:.2f}", f"{difference:+.1f}"]
            table.add_row(row["group"], *numbers, interval)
        console.print(table)
        console.print(BY_EACH_GROUP, style="dim")
    better, worse = ([row["verdict"] for row in found].count(kind) for kind in ("better", "worse"))
    by_chance = 0.05 * len(found)
    console.print(
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


def gathered(words: Sequence[str], option: str) -> list[str]:
    """Words in which the values of an option, ``--runs a b``, are one list, as parsers take it."""
    found: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word != option:
            found.append(word)
            continue
        values = []
        while rest and not rest[0].startswith("--"):
            values.append(rest.pop(0))
        found.append(word)
        found += [json.dumps(values)] if len(values) > 1 else values
    return found
