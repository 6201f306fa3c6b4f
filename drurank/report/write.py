"""The whole report: files, a picture, and tables on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from drurank.files import replace_file, write_json
from drurank.report.count_tables import accuracy_table
from drurank.report.counts import SplitCounts
from drurank.report.drop import find_drop
from drurank.report.remarks import said_drop
from drurank.report.served import Served, figure_table
from drurank.report.tables import criteria_table, drop_table, groups_table
from drurank.report.worst import on_worst
from drurank.run_folder.group_counts import write_checked
from drurank.run_folder.layout import GROUPS_CSV, GROUPS_PARQUET, GROUPS_PICTURE, REPORT_FILE
from drurank.terminal import Terminal, say

SIDE_BY_SIDE = 2
REPORT_FILES = (REPORT_FILE, GROUPS_CSV, GROUPS_PARQUET, GROUPS_PICTURE)


OF_FIGURES = ("gap", "ratio")
"""Criteria that reports show of each further figure."""


def figure_files(name: str) -> tuple[str, str, str]:
    """File names of the tables and the picture of a further figure."""
    return f"groups_{name}.csv", f"groups_{name}.parquet", f"groups_{name}.png"


def write_report(
    folder: Path,
    splits: Sequence[SplitCounts],
    names: Sequence[str],
    *,
    min_count: int = 1,
    shrink: bool = False,
    about: Mapping[str, Any],
    figures: Mapping[str, Sequence[Served]] | None = None,
) -> dict[str, Any]:
    """Write ``groups.csv``, ``groups.parquet``, ``report.json`` and ``groups.png``, and of each figure the tables.

    Args:
        folder: where to write; created if missing.
        splits: counts by split.
        names: criteria by name.
        min_count: the criteria leave out groups with fewer samples; the tables still list them.
        shrink: the criteria use each group's posterior mean accuracy.
        about: further entries for the top of the report, plain values.
        figures: further figure to each split.

    Returns:
        The content of ``report.json``.

    Raises:
        InputError: if no group has ``min_count`` samples.
    """
    files = (GROUPS_CSV, GROUPS_PARQUET, GROUPS_PICTURE)
    tables = [accuracy_table(split) for split in splits]
    found = _write_figure([folder / name for name in files], splits, tables, names, min_count, shrink)
    report = {**about, "min_count": min_count, "shrink": shrink, **found}
    for name, of_splits in (figures or {}).items():
        paths, tables = [folder / one for one in figure_files(name)], [figure_table(split) for split in of_splits]
        of_figure = list(dict.fromkeys([*names, *OF_FIGURES]))
        part = _write_figure(paths, of_splits, tables, of_figure, min_count, shrink)
        report.setdefault("figures", {})[name] = part
    write_json(folder / REPORT_FILE, report)
    return report


def _write_figure(
    files: Sequence[Path],
    splits: Sequence[Served],
    tables: Sequence[pa.Table],
    names: Sequence[str],
    min_count: int,
    shrink: bool,
) -> dict[str, Any]:
    """Write the tables and the picture of a figure; its part of the report."""
    from drurank.report.pictures import draw_groups, save_picture  # here, since matplotlib is slow to import

    summaries = {split.split: split.summary(names, min_count=min_count, shrink=shrink) for split in splits}
    drop = find_drop(splits, summaries, min_count=min_count)
    groups, (text, parquet, picture) = pa.concat_tables(tables), files
    replace_file(text, lambda path: pa_csv.write_csv(groups, path))
    write_checked(groups, parquet, overlap=any(split.overlap for split in splits))
    replace_file(picture, lambda path: save_picture(draw_groups(splits), path))
    return {"splits": summaries, "drop": drop}


def print_report(
    report: Mapping[str, Any],
    splits: Sequence[SplitCounts],
    folder: Path,
    figures: Mapping[str, Sequence[Served]] | None = None,
    *,
    explains: bool = True,
) -> None:
    """Print criteria by split, how much worse unseen groups are served, and the worst and best groups.

    Args:
        report: what ``write_report`` returned.
        splits: counts by split.
        folder: where it was written to.
        figures: further figure to each split.
        explains: whether it says how to read it, which one report of several need not repeat.
    """
    console = Terminal()
    _print_figure(console, report, splits, shrink=report["shrink"], explains=explains)
    for name, counts in (figures or {}).items():
        _print_figure(console, report["figures"][name], counts, shrink=report["shrink"], explains=explains)
    for sentence in _cut_off(report):
        console.print(sentence)
    *tables, picture = REPORT_FILES
    further = [name for figure in figures or {} for name in figure_files(figure)]
    there = Path(folder).resolve() if ".." in Path(folder).parts else Path(folder)
    say(f"Written to {there}: {', '.join([*tables, *further])}; look at {there / picture}")


def _print_figure(
    console: Terminal, content: Mapping[str, Any], splits: Sequence[Served], *, shrink: bool, explains: bool
) -> None:
    names, explained = list(content["splits"]), content["splits"] if explains else {}
    for begin in range(0, len(names), SIDE_BY_SIDE):
        columns = {name: content["splits"][name] for name in names[begin : begin + SIDE_BY_SIDE]}
        console.print_table(criteria_table(columns, {} if begin else explained))
    if content["drop"]:
        console.print_table(drop_table(content["drop"], shrink=shrink))
        console.print(*said_drop(content["drop"]))
    for split in splits:
        console.print(on_worst(split, content["splits"][split.split]))
        console.print_table(groups_table(split, explains=explains and split is splits[0]))


def _cut_off(report: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each split with texts longer than the limit."""
    texts = report.get("texts") or {"truncated": {}}
    for split, longer in texts["truncated"].items():
        if longer and split in report["splits"]:
            rows = report["splits"][split]["rows"]
            yield f"{split}: of {rows:,} texts {longer:,} were cut off after {texts['max_length']:,} tokens."
