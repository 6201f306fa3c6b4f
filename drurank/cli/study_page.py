"""A study as one page of HTML: for people who have no Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from drurank.figures.selecting import figure_in, selectable_criterion
from drurank.report.html import inline_png, made_now, render_page
from drurank.report.remarks import on_criteria
from drurank.study.finished import Study
from drurank.study.seeds import true_intervals
from drurank.study.tables import Cell, StudyTable, in_epochs, shown_cell
from drurank.words import counted

TEMPLATE = "study.html.j2"
ALT = {
    "choosing": "Each criterion on validation against the accuracy of the worst group on test, a point a candidate.",
    "methods": "Criteria of each method: of each seed the true value, estimated, with its interval, and the observed.",
    "groups": "Accuracies of the groups by method, the worst first, beside what chance alone would give.",
}
OF_OPTION = "{} of each candidate by the value of {}."
TRUE = "In brackets: 5 to 95 % of the mean over all seeds of the criterion of these groups' true accuracies."
TRUE_OF_ONE = "In brackets: 5 to 95 % of the criterion of these groups' true accuracies, with this seed."


def write_study_page(
    file: Path,
    study: Study,
    table: StudyTable,
    differences: Mapping[str, Any],
    pictures: Sequence[Path],
    what: Sequence[str],
    commands: Sequence[str],
) -> None:
    """Write a page on a study.

    Args:
        file: where to.
        study: finished candidates.
        table: of its methods on one split.
        differences: ``title``, ``columns``, ``rows`` and ``remarks`` of methods against the first; no rows where there
            is one method.
        pictures: files of what ``study plot`` draws.
        what: sentences on what was run.
        commands: that make the same again.
    """
    (on,) = table.on
    drawn = [f"Of the first of {len(study.repeats)} splits of the data."] if len(study.repeats) > 1 else []
    name = study.folder.resolve().name
    render_page(
        file,
        TEMPLATE,
        title=f"Methods compared: {name}",
        summary=[*table.verdict, *what],
        methods=_methods(study, table, on),
        differences=differences,
        drawn=drawn,
        pictures=[_picture(path, table.names[0]) for path in pictures],
        of_groups=_groups(study, table, on),
        made=[("study", str(study.folder)), *(("command", line) for line in commands), made_now()],
    )


def _methods(study: Study, table: StudyTable, on: str) -> dict[str, Any]:
    names, of_one_split = list(table.names), len(table.repeats) == 1
    better = [f"{name} ({selectable_criterion(name).better} is better)" for name in names]
    chosen = study.side_by_side(table.by, on)[1]
    rows = []
    for row in table.rows:
        ends = true_intervals(chosen[row.method], table.by, on, names) if of_one_split else {}
        rows.append([row.method, *(_cell(name, row.cells[on, name], ends.get(name)) for name in names)])
    brackets = [TRUE if len(table.seeds) > 1 else TRUE_OF_ONE] if of_one_split else []
    legend = [
        table.legend_of("*", "+"),
        *brackets,
        *on_criteria([name for name in names if figure_in(name) is None], has_interval=of_one_split),
    ]
    return {
        "title": f"Methods on {on}",
        "columns": ["method", *better],
        "rows": rows,
        "remarks": [f"{table.title}.", *legend, *(line for line in table.remarks if line not in table.verdict)],
        "chosen": [(row.method, in_epochs(row.settings, row.epochs)) for row in table.rows],
    }


def _cell(name: str, cell: Cell, ends: Sequence[float] | None) -> str:
    mark = "*" if cell.is_distinguishable else "+" if cell.is_second else ""
    true = f" ({' to '.join(selectable_criterion(name).shown(end) for end in ends)})" if ends else ""
    return f"{shown_cell(name, cell)}{f' {mark}' if mark else ''}{true}"


def _picture(path: Path, cell: str) -> dict[str, str]:
    alt = ALT.get(path.stem, OF_OPTION.format(cell, path.stem))
    return {"title": path.stem, "picture": inline_png(path.read_bytes()), "alt": alt}


def _groups(study: Study, table: StudyTable, on: str) -> dict[str, Any] | None:
    """Share right of each group by method, mean over seeds; ``None`` over several splits, whose groups differ."""
    if len(table.repeats) > 1:
        return None
    side = study.side_by_side(table.by, on)[0]
    shares = 100 * side.correct[0].mean(axis=1) / side.count[0]
    order = np.argsort(shares.mean(axis=0), kind="stable")
    return {
        "title": f"{counted(len(order), 'group')} of {on}",
        "columns": ["group", "rows", *side.methods],
        "rows": [[side.groups[i], f"{side.count[0][i]:,}", *(f"{share:.1f}" for share in shares[:, i])] for i in order],
        "remarks": ["Rows that are right in percent, mean over seeds. Differences of single groups may be chance."],
    }
