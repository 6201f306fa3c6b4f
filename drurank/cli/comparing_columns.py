"""The command ``report`` for several columns of predictions of one table: models side by side, each with each."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from drurank.errors import InputError
from drurank.figures.selecting import selectable_criterion
from drurank.files import refuse_existing
from drurank.report import report_predictions
from drurank.tabular.reading import read_head
from drurank.tabular.several import files_of
from drurank.terminal import Terminal
from drurank.words import as_names, parts_of_names

OF_BOTH = ("predictions", "output", "overwrite")
"""Options beside those of ``compare_columns``."""
OF_SCORES = ("score", "threshold", "threshold_on")
"""Options that only figures of scores read."""


def columns_to_compare(settings: Mapping[str, Any]) -> list[str]:
    """The columns of predictions, where several are named; none where a column is called so as a whole."""
    names = as_names(settings["prediction"])
    if len(names) < 2:
        return []
    head = read_head(
        files_of(settings["predictions"])[0],
        delimiter=settings["delimiter"],
        text_encoding=settings["text_encoding"],
    )
    return [] if head is not None and settings["prediction"] in head.column_names else names


def compare_shown_columns(settings: Mapping[str, Any], columns: Sequence[str]) -> Any:
    """Compare each column with each, and show and write what is found.

    Args:
        settings: options of ``report_predictions``.
        columns: of the predictions.

    Raises:
        InputError: if an option has no effect here, a file exists, or what ``compare_columns`` raises.
    """
    from drurank.cli.compare_shown import print_comparison
    from drurank.cli.comparing import write_groups
    from drurank.study.comparing_columns import compare_columns

    known, usual = (inspect.signature(one).parameters for one in (compare_columns, report_predictions))
    for name, value in settings.items():
        if name not in (*known, *OF_BOTH) and value != usual[name].default:
            what = "columns are compared by what they predict, not by scores"
            why = what if name in OF_SCORES else "it is of a report on one column of predictions"
            raise InputError(f"{name} is {value!r}, and {why}; leave it out to compare {len(columns)}")
    given = {name: value for name, value in settings.items() if name in known}
    found = compare_columns(**{**given, "prediction": list(columns)})
    files: list[Path | None] = [None] * len(found)
    if settings["output"] is not None:
        output = Path(settings["output"]).expanduser()
        parts = parts_of_names([f"{one.split}_{one.first}_{one.second}" for one in found])
        files = [output / f"comparison_{part}.csv" for part in parts]
    read = list(map(os.path.expanduser, files_of(settings["predictions"])))
    refuse_existing(filter(None, files), overwrite=settings["overwrite"], inputs=read)
    if len(columns) > 2:
        _print_side_by_side(found, columns)
    for one, file in zip(found, files, strict=True):
        print_comparison(one)
        if file is not None:
            write_groups(one, file)
    return found


def _print_side_by_side(found: Sequence[Any], columns: Sequence[str]) -> None:
    """The criteria of all models, a table a split."""
    for split in dict.fromkeys(one.split for one in found):
        pairs = [one for one in found if one.split == split and one.first == columns[0]]
        table = Table(title=f"Models side by side, {split}")
        for heading in ("criterion", *columns):
            table.add_column(heading, justify="left" if heading == "criterion" else "right")
        for place, of_first in enumerate(pairs[0].criteria):
            values = [of_first.first, *(pair.criteria[place].second for pair in pairs)]
            show = selectable_criterion(of_first.criterion).shown
            table.add_row(of_first.criterion, *(show(value, 1) for value in values))
        Terminal().print(table)
