"""The whole report: tables in files, pictures, and the same on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
from rich.console import Console

from drurank.files import replace_file, write_json
from drurank.report.counts import SplitCounts
from drurank.report.pictures import draw_groups
from drurank.report.tables import criteria_table, groups_table

GROUPS_PICTURE = "groups.png"


def write_report(
    folder: Path,
    splits: Sequence[SplitCounts],
    names: Sequence[str],
    *,
    min_count: int = 1,
    shrink: bool = False,
    about: Mapping[str, Any],
) -> dict[str, Any]:
    """Write ``groups.csv``, ``groups.parquet``, ``report.json`` and ``groups.png``.

    Args:
        folder: where to; made if need be.
        splits: counts by split.
        names: criteria by name.
        min_count: the criteria leave out groups with fewer samples; the tables list them all the same.
        shrink: take as a group's accuracy its posterior mean, in the criteria.
        about: what else to put at the head of the report, plain values.

    Returns:
        The content of ``report.json``.

    Raises:
        InputError: if no group has ``min_count`` samples.
    """
    summaries = {split.split: split.summary(names, min_count=min_count, shrink=shrink) for split in splits}
    report = {**about, "min_count": min_count, "shrink": shrink, "splits": summaries, "drop": _drop(summaries)}
    groups = pa.concat_tables([split.table() for split in splits])
    replace_file(folder / "groups.csv", lambda path: pa_csv.write_csv(groups, path))
    replace_file(folder / "groups.parquet", lambda path: pa_parquet.write_table(groups, path))
    replace_file(folder / GROUPS_PICTURE, lambda path: draw_groups(splits).savefig(path, format="png"))
    write_json(folder / "report.json", report)
    return report


def print_report(report: Mapping[str, Any], splits: Sequence[SplitCounts], console: Console | None = None) -> None:
    """Show the criteria of each split side by side, and the worst and best groups of each."""
    console = console or Console()
    console.print(criteria_table(report["splits"], report["drop"]))
    for split in splits:
        console.print(groups_table(split))


def _drop(splits: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """By how much each criterion is worse for groups never seen than for groups of training."""
    for unseen, seen in (("ood_test", "id_test"), ("test", "id_test"), ("ood_val", "id_val"), ("val", "id_val")):
        if unseen in splits and seen in splits:
            before, after = splits[seen]["criteria"], splits[unseen]["criteria"]
            sign = {name: 1 if entry["better"] == "max" else -1 for name, entry in before.items()}
            drop = {name: sign[name] * (before[name]["value"] - after[name]["value"]) for name in before}
            return {"from": seen, "to": unseen, "criteria": drop}
    return None
