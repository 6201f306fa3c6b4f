"""What reports of predictions and of counts share: what is read, checked and told, and where it is written."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from drurank.criteria import criterion, default_criteria
from drurank.errors import InputError, check_count
from drurank.files import refuse_existing
from drurank.report.cells import refuse_on_alone
from drurank.report.page import Section, write_page
from drurank.report.write import REPORT_FILES, figure_files
from drurank.run_folder.layout import CARD_FILE, OF_CLASS, PROBABILITIES, SEEN
from drurank.tabular.columns import Names
from drurank.tabular.dropping import complete_rows, said_dropped
from drurank.tabular.several import Source, files_of
from drurank.tabular.streaming import may_stream, read_distinct
from drurank.terminal import say
from drurank.words import as_names

OF_PREDICT = ("split", SEEN, PROBABILITIES)
"""Columns that a report looks at where they are there."""


def checked(criteria: Names, min_count: int, on: Names, split: str | None) -> tuple[str, ...]:
    """Names of the criteria, of which each is known; what else needs no row is looked at too."""
    names = tuple(as_names(criteria)) or default_criteria()
    for name in names:
        criterion(name)
    check_count("min_count", min_count)
    refuse_on_alone(on, split)
    return names


def folder_for(
    source: str,
    output: str | None,
    html: str | None,
    card: bool,
    overwrite: bool,
    figures: Sequence[str] = (),
    places: Sequence[str] = ("",),
) -> Path:
    """Where to write, with nothing there that is replaced unasked."""
    path, inputs = Path(os.path.expanduser(source)).absolute(), files_of(source)
    if not output and len(inputs) > 1 and not path.is_dir():
        raise InputError(f"{source} is {len(inputs):,} files; say which folder to write to, as output=report")
    folder = Path(os.path.expanduser(output)) if output else path.with_name(f"{path.stem}_report")
    files = [*REPORT_FILES, *(name for figure in figures for name in figure_files(figure))]
    files += [CARD_FILE] if card else []
    pages = [Path(os.path.expanduser(html))] if html else []
    written = [folder / place / name for place in places for name in files]
    refuse_existing([*written, *pages], overwrite=overwrite, inputs=list(map(os.path.expanduser, inputs)))
    return folder


def read_checked(
    path: str,
    check: Callable[[pa.Table], None],
    delimiter: str | None,
    text_encoding: str | None,
    names: Collection[str],
    only_counts: bool = False,
) -> Source:
    """The table, with what it needs; of Parquet only the columns of these names, and those that ``predict`` adds.

    Args:
        path: of the table.
        check: refuses one that lacks a column.
        delimiter: see ``read_table``.
        text_encoding: see there.
        names: of the columns.
        only_counts: whether it only matters how often each row occurs, so that of Parquet no more need be held.
    """
    if only_counts and delimiter is None and text_encoding is None and may_stream(path):
        return read_distinct(path, {*names, SEEN})

    def wanted(name: str) -> bool:
        return name in names or name in OF_PREDICT or name.startswith(OF_CLASS)

    source = Source.read(path, delimiter=delimiter, text_encoding=text_encoding, wanted=wanted)
    check(source.table)
    return source


def options_given(**options: str | list[str] | None) -> dict[str, Any]:
    """The options that were given, for the top of the report."""
    return {name: value for name, value in options.items() if value}


def complete_table(
    source: Source, label: Sequence[str], group: Sequence[str], drop: bool
) -> tuple[Source, dict[str, Any]]:
    """The rows that have a label and a group, and what the report says of the others."""
    labels, groups = ([source.column(name) for name in names] for names in (label, group))
    kept, blank = complete_rows(source.path, labels, groups, source.table.num_rows, drop=drop, times=source.times)
    if blank is None:
        return source, {}
    complete = source.take(kept)
    dropped = {"rows": source.rows - complete.rows, "blank": blank}
    say(f"{said_dropped(dropped)}.")
    return complete, {"dropped": dropped}


def write_page_of(html: str | None, sections: Sequence[Section]) -> None:
    """Write the page, if one was asked for."""
    if html is None:
        return
    report = sections[0].report
    source = Path(str(report.get("predictions", report.get("counts")))).name
    write_page(Path(os.path.expanduser(html)), sections, title=f"How groups are served: {source}")
    say(f"Page: {html}")


def say_of_split(columns: Collection[str], split: str | None) -> None:
    """Point to the split where the table has one and it was not named."""
    if split is None and "split" in columns:
        say("Note: all rows are reported together; to report each split by itself, give split=split.")
