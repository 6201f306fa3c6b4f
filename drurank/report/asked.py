"""What reports of predictions and of counts share: what is read, checked and told, and where it is written."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from drurank.criteria import criterion, default_criteria
from drurank.errors import check_count
from drurank.files import refuse_existing
from drurank.report.cells import refuse_on_alone
from drurank.report.page import Section, write_page
from drurank.report.write import REPORT_FILES, figure_files
from drurank.run_folder.layout import CARD_FILE, OF_CLASS, PROBABILITIES, SEEN
from drurank.tabular.columns import Column, Names
from drurank.tabular.dropping import complete_rows, said_dropped
from drurank.tabular.reading import read_table
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
    path = Path(os.path.expanduser(source)).absolute()
    folder = Path(os.path.expanduser(output)) if output else path.with_name(f"{path.stem}_report")
    files = [*REPORT_FILES, *(name for figure in figures for name in figure_files(figure))]
    files += [CARD_FILE] if card else []
    pages = [Path(os.path.expanduser(html))] if html else []
    written = [folder / place / name for place in places for name in files]
    refuse_existing([*written, *pages], overwrite=overwrite, inputs=[str(path)])
    return folder


def read_checked(
    path: str,
    check: Callable[[pa.Table], None],
    delimiter: str | None,
    text_encoding: str | None,
    names: Collection[str],
) -> pa.Table:
    """The table, with what it needs; of Parquet only the columns of these names, and those that ``predict`` adds."""

    def wanted(name: str) -> bool:
        return name in names or name in OF_PREDICT or name.startswith(OF_CLASS)

    table = read_table(path, delimiter=delimiter, text_encoding=text_encoding, wanted=wanted)
    check(table)
    return table


def options_given(**options: str | list[str] | None) -> dict[str, Any]:
    """The options that were given, for the top of the report."""
    return {name: value for name, value in options.items() if value}


def complete_table(
    path: str, table: pa.Table, label: Sequence[str], group: Sequence[str], drop: bool
) -> tuple[pa.Table, np.ndarray | None, dict[str, Any]]:
    """The rows that have a label and a group, their places if some are left out, and what the report says of these."""
    labels, groups = ([Column(path, name, table[name]) for name in names] for names in (label, group))
    kept, blank = complete_rows(path, labels, groups, table.num_rows, drop=drop)
    if blank is None:
        return table, None, {}
    dropped = {"rows": table.num_rows - len(kept), "blank": blank}
    say(f"{said_dropped(dropped)}.")
    return table.take(pa.array(kept)), kept, {"dropped": dropped}


def write_page_of(html: str | None, sections: Sequence[Section]) -> None:
    """Write the page, if one was asked for."""
    if html is None:
        return
    report = sections[0].report
    source = Path(str(report.get("predictions", report.get("counts")))).name
    write_page(Path(os.path.expanduser(html)), sections, title=f"How groups are served: {source}")
    say(f"Page: {html}")


def say_of_split(table: pa.Table, split: str | None) -> None:
    """Point to the split where the table has one and it was not named."""
    if split is None and "split" in table.column_names:
        say("Note: all rows are reported together; to report each split by itself, give split=split.")
