"""Comparisons of two as one page of HTML: for people who have no Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from drurank.cli.compare_shown import (
    BY_EACH_GROUP,
    are_equal,
    better_and_worse,
    figures,
    group_cells,
    how_to_read,
    on_groups,
    verdict,
)
from drurank.figures.selecting import figure_in, selectable_criterion
from drurank.report.counts import ALL
from drurank.report.drop import PAIRS
from drurank.report.html import inline_picture, made_now, render_page
from drurank.report.remarks import on_criteria
from drurank.report.tables import BETTER
from drurank.study.comparing import Compared, Comparison
from drurank.words import counted, quoted

TEMPLATE = "comparison.html.j2"
CRITERIA_COLUMNS = ("criterion", "better if", "first", "second", "second less first", "95 %", "p")
GROUP_COLUMNS = ("group", "rows", "first", "second", "second less first", "from", "to", "with the second")
TOLD = {"better": "better", "worse": "worse", "like": "not told from chance"}


def write_comparison_page(
    file: Path, found: Sequence[Comparison], made: Mapping[str, Any], *, title: str = "Two models compared"
) -> None:
    """Write a page on two models.

    Args:
        file: where to.
        found: of each split, the first of which the summary is about.
        made: name to value of how it was made.
        title: of the page.
    """
    first = found[0]
    render_page(
        file,
        TEMPLATE,
        title=title,
        summary=summary(found),
        criteria_columns=CRITERIA_COLUMNS,
        group_columns=GROUP_COLUMNS,
        parts=[_part(one, number) for number, one in enumerate(found)],
        drop=_drop(found),
        made=[("first", first.first), ("second", first.second), *((k, str(v)) for k, v in made.items()), made_now()],
    )


def summary(found: Sequence[Comparison]) -> list[str]:
    """Sentences for people who read no tables: which is better, which groups gain and lose, and what next.

    Args:
        found: of each split, the first of which they are about.
    """
    one = found[0]
    where = "" if one.split == ALL else f" on {one.split}"
    lines = [f"First: {one.first}. Second: {one.second}. Both answered the same rows{where}.", *verdict(one)]
    if one.groups is not None and not are_equal(one):
        lines += [*_on_worst(one, one.groups), on_groups(one.groups), *_named(one.groups)]
    pair = _pair(found)
    if pair is not None and "average" in _comparable(pair):
        changes = (
            f"{'falls' if was >= now else 'rises'} by {_loss('average', (was, now)).lstrip('-')} with the {name}"
            for name, (was, now) in _losses(pair, "average")
        )
        lines.append(
            f"From groups of training ({pair[0].split}) to unseen ones ({pair[1].split}) the average accuracy of "
            f"groups {' and '.join(changes)} (percentage points)."
        )
    return [*lines, _next(one)]


def _on_worst(one: Comparison, groups: pa.Table) -> Iterator[str]:
    """The group that is worst with each, of those that the criterion counts."""
    worst = next((each for each in one.criteria if each.criterion == "worst"), None)
    if worst is None:
        return
    said: list[str] = []
    for name, value in (("first", worst.first), ("second", worst.second)):
        here = groups.filter(pc.less(pc.abs(pc.subtract(groups[name], value)), 1e-9))
        if not here.num_rows:
            return
        group = here.sort_by([("count", "descending")])["group"][0].as_py()
        more = f" and {here.num_rows - 1:,} more" if here.num_rows > 1 else ""
        said.append(
            f"{'with the ' if said else 'With the '}{name} the worst group is {quoted(group)}{more} "
            f"({100 * value:.1f} % right)"
        )
    yield f"{'; '.join(said)}."


def _named(groups: pa.Table) -> Iterator[str]:
    """The group that loses most and the one that gains most, of those that are told from chance."""
    rows = groups.to_pylist()
    lost = next((row for row in rows if row["verdict"] == "worse"), None)
    gained = next((row for row in reversed(rows) if row["verdict"] == "better"), None)
    for row, what in ((lost, "loses"), (gained, "gains")):
        if row is not None:
            yield (
                f"Of those {quoted(row['group'])} {what} most, {100 * abs(row['difference']):.1f} percentage points "
                f"of {counted(row['count'], 'row')}."
            )


def _next(one: Comparison) -> str:
    if are_equal(one):
        return "Next: nothing in these rows speaks for either."
    better, worse = better_and_worse(one)
    lost = one.groups is not None and "worse" in one.groups["verdict"].to_pylist()
    if better and worse:
        then = "it depends on what counts: decide which criterion does before you take one"
    elif better:
        then = "the second is the better one on these rows"
    elif worse:
        then = "keep the first, which is the better one on these rows"
    else:
        then = "these rows do not decide between the two; more rows by group would show smaller differences"
    look = "; look first at the rows of the groups that lose with the second" if lost and not worse else ""
    return f"Next: {then}{look}. Another training of either may differ too: compare several seeds of each."


def _part(one: Comparison, place: int) -> dict[str, Any]:
    """A split as the template takes it; what the summary says of the first is not said again."""
    names = [each.criterion for each in one.criteria if figure_in(each.criterion) is None]
    found: dict[str, Any] = {
        "title": "All rows" if one.split == ALL else one.split,
        "id": f"g{place}",
        "criteria": [_criterion_cells(each) for each in one.criteria],
        "remarks": [
            *one.about,
            *how_to_read(one),
            *on_criteria(names, has_interval=True),
            *(verdict(one) if place else []),
            *one.remarks,
        ],
        "rows": [],
    }
    if one.groups is None:
        return found
    from drurank.study.comparing_pictures import draw_differences  # here, since matplotlib is slow to import

    rows = one.groups.to_pylist()
    of_groups = counted(len(rows), "group")
    return {
        **found,
        "of_groups": of_groups if one.split == ALL else f"{of_groups} in {one.split}",
        "picture": inline_picture(draw_differences(one.groups)),
        "alt": (
            f"By how many percentage points the second is right more often than the first in each of {of_groups}, "
            "with 95 %."
        ),
        "rows": [[*group_cells(row), TOLD[row["verdict"]]] for row in rows],
        "on_groups": [BY_EACH_GROUP, *([on_groups(one.groups)] if place and not are_equal(one) else [])],
    }


def _criterion_cells(one: Compared) -> list[str]:
    name, *cells = figures(one)
    return [name, BETTER["max" if selectable_criterion(name).higher_is_better else "min"], *cells]


def _pair(found: Sequence[Comparison]) -> tuple[Comparison, Comparison] | None:
    """The split of training groups and that of unseen ones, if both were compared."""
    by_name = {one.split: one for one in found}
    for unseen, seen in PAIRS:
        if unseen in by_name and seen in by_name:
            return by_name[seen], by_name[unseen]
    return None


def _comparable(pair: tuple[Comparison, Comparison]) -> list[str]:
    """Criteria that mean the same on both splits."""
    groups = {one.groups.num_rows for one in pair if one.groups is not None}
    names = [
        one.criterion for one in pair[0].criteria if one.criterion in {each.criterion for each in pair[1].criteria}
    ]
    return [
        name
        for name in names
        if not selectable_criterion(name).of_differences
        and not (selectable_criterion(name).grows_with_groups and len(groups) > 1)
    ]


def _losses(pair: tuple[Comparison, Comparison], name: str) -> Iterator[tuple[str, tuple[float, float]]]:
    """``first`` and ``second``, and what a criterion is of each on both splits."""
    seen, unseen = (next(each for each in one.criteria if each.criterion == name) for one in pair)
    yield "first", (seen.first, unseen.first)
    yield "second", (seen.second, unseen.second)


def _loss(name: str, values: tuple[float, float]) -> str:
    """How much worse the second of two values is."""
    worse = selectable_criterion(name).sign * (values[0] - values[1])
    return selectable_criterion(name).shown(worse + 0.0)


def _drop(found: Sequence[Comparison]) -> dict[str, Any] | None:
    pair = _pair(found)
    if pair is None:
        return None
    seen, unseen = (one.split for one in pair)
    columns = ["criterion"]
    columns += [f"{name}, {what}" for name in ("first", "second") for what in (seen, unseen, "worse by")]
    rows = []
    for name in _comparable(pair):
        cells = [name]
        for _, values in _losses(pair, name):
            cells += [*(selectable_criterion(name).shown(value) for value in values), _loss(name, values)]
        rows.append(cells)
    return {
        "title": f"Training groups ({seen}) and unseen groups ({unseen})",
        "columns": columns,
        "rows": rows,
        "remarks": [
            "As observed; a report on one model has what is true and what chance alone would give. Whether the two "
            "differ is tested on each split above."
        ],
    }
