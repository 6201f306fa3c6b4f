"""The command ``report`` for two tables of predictions, or several columns of one: what differs, shown and written."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from rich.table import Table

from drurank.cli.compare_page import write_comparison_page
from drurank.cli.compare_shown import print_comparison
from drurank.cli.comparing import write_groups
from drurank.errors import InputError
from drurank.figures.selecting import selectable_criterion
from drurank.files import refuse_existing
from drurank.report import report_predictions
from drurank.study.comparing import Comparison, Planned
from drurank.study.comparing_columns import compare_columns
from drurank.study.comparing_files import compare_predictions
from drurank.tabular.several import files_of
from drurank.terminal import Terminal, say
from drurank.words import parts_of_names

OUTPUTS = ("predictions", "output", "html", "overwrite")
"""Options beside those of what compares."""
OF_SCORES = ("score", "threshold", "threshold_on")
"""Options that only figures of scores read."""


def show_compared_tables(settings: Mapping[str, Any], second: str) -> list[Comparison]:
    """Compare two tables of predictions for the same rows, and show and write what is found.

    Args:
        settings: options of ``report_predictions``, the first table among them.
        second: the other table.

    Raises:
        InputError: if an option has no effect here, a file exists, or what ``compare_predictions`` raises.
    """
    tables = [settings["predictions"], second]
    kind = "two tables are", "table", "two"
    given = _given(settings, compare_predictions, kind) | {"predictions": tables}
    outputs = Outputs.of(settings, tables, lambda one: one.split)
    found = compare_predictions(**given, before=outputs.refuse)
    _show(found, outputs)
    outputs.write_pages(found, _made(given, compare_predictions))
    return found


def show_compared_columns(settings: Mapping[str, Any], columns: Sequence[str]) -> list[Comparison]:
    """Compare each column of predictions with each, and show and write what is found.

    Args:
        settings: options of ``report_predictions``.
        columns: of the predictions.

    Raises:
        InputError: if an option has no effect here, a file exists, or what ``compare_columns`` raises.
    """
    kind = "columns are", "column of predictions", str(len(columns))
    given = _given(settings, compare_columns, kind) | {"prediction": list(columns)}
    outputs = Outputs.of(
        settings, files_of(settings["predictions"]), lambda one: f"{one.split}_{one.first}_{one.second}"
    )
    found = compare_columns(**given, before=outputs.refuse)
    if len(columns) > 2:
        _print_side_by_side(found, columns)
    _show(found, outputs)
    outputs.write_pages(found, {"predictions": settings["predictions"], **_made(given, compare_columns)})
    return found


@dataclass(frozen=True)
class Outputs:
    """What is written of comparisons.

    Attributes:
        folder: of the tables of groups; none are written, if not given.
        page: file of the page; of several pairs each has its own, with the names of the two.
        overwrite: whether files that exist are replaced.
        inputs: files that are read.
        name: what a comparison is called in the name of its table.
    """

    folder: Path | None
    page: Path | None
    overwrite: bool
    inputs: Sequence[str]
    name: Callable[[Planned], str]

    @classmethod
    def of(cls, settings: Mapping[str, Any], read: Sequence[str], name: Callable[[Planned], str]) -> Self:
        """As the options say."""
        folder, page = (
            None if settings[one] is None else Path(settings[one]).expanduser() for one in ("output", "html")
        )
        return cls(folder, page, settings["overwrite"], list(map(os.path.expanduser, read)), name)

    def refuse(self, planned: Sequence[Planned]) -> None:
        """Refuse, before anything is computed, what may not be written.

        Raises:
            InputError: naming the first file that exists or is read.
        """
        files = [*self.tables(planned).values(), *self.pages(planned).values()]
        refuse_existing(files, overwrite=self.overwrite, inputs=self.inputs)

    def tables(self, planned: Sequence[Planned]) -> dict[Planned, Path]:
        """File of the groups of each comparison."""
        if self.folder is None:
            return {}
        parts = parts_of_names(list(map(self.name, planned)))
        return {one: self.folder / f"comparison_{part}.csv" for one, part in zip(planned, parts, strict=True)}

    def pages(self, planned: Sequence[Planned]) -> dict[tuple[str, str], Path]:
        """File of the page of each pair."""
        if self.page is None:
            return {}
        pairs = list(dict.fromkeys((one.first, one.second) for one in planned))
        if len(pairs) == 1:
            return {pairs[0]: self.page}
        parts = parts_of_names(["_".join(pair) for pair in pairs])
        names = [f"{self.page.stem}_{part}{self.page.suffix}" for part in parts]
        return {pair: self.page.with_name(name) for pair, name in zip(pairs, names, strict=True)}

    def write_pages(self, found: Sequence[Comparison], made: Mapping[str, Any]) -> None:
        """Write the pages, which say how they were made."""
        for pair, page in self.pages([one.planned for one in found]).items():
            write_comparison_page(page, [one for one in found if (one.first, one.second) == pair], made)
            say(f"Page: {page}")


def _given(settings: Mapping[str, Any], compare: Callable[..., Any], kind: tuple[str, str, str]) -> dict[str, Any]:
    """The options of what compares.

    Raises:
        InputError: naming another one that is given.
    """
    (are, one, count), known = kind, inspect.signature(compare).parameters
    usual = inspect.signature(report_predictions).parameters
    for name, value in settings.items():
        if name not in (*known, *OUTPUTS) and value != usual[name].default:
            why = f"it is of a report on one {one}"
            if name in OF_SCORES:
                why = f"{are} compared by what they predict, not by scores"
            elif name == "shrink":
                why = f"{are} compared by observed accuracies"
            raise InputError(f"{name} is {value!r}, and {why}; leave it out to compare {count}")
    return {name: value for name, value in settings.items() if name in known}


def _made(given: Mapping[str, Any], compare: Callable[..., Any]) -> dict[str, Any]:
    """Options that a page names: the group, and what is not as usual."""
    known = inspect.signature(compare).parameters
    changed = {
        name: value
        for name, value in given.items()
        if name not in ("predictions", "prediction") and value != known[name].default
    }
    return {"group": given["group"], **changed}


def _show(found: Sequence[Comparison], outputs: Outputs) -> None:
    files = outputs.tables([one.planned for one in found])
    for one in found:
        print_comparison(one)
        if one.planned in files:
            write_groups(one, files[one.planned])


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
