"""What a test leaves: a table of groups, the criteria by split, and both on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import torch
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from torch import Tensor

from drurank.criteria import compute_criteria, criterion
from drurank.files import replace_file, write_json

WORST_SHOWN = 10


@dataclass(frozen=True)
class SplitCounts:
    """How the groups of one split were served.

    Attributes:
        split: name of the split, as ``ood_test``.
        group_names: name by group.
        correct: samples classified rightly by group, int64 ``[m]``.
        count: samples by group, int64 ``[m]``; groups with none are not reported.
        num_seen: how many of the groups, from the first, have training rows; ``None`` where that is not known.
    """

    split: str
    group_names: Sequence[str]
    correct: Tensor
    count: Tensor
    num_seen: int | None

    def table(self) -> pa.Table:
        """One row a group that has samples: split, group, count, correct, accuracy, seen_in_training."""
        place = torch.nonzero(self.count).squeeze(1).numpy()
        count, correct = self.count.numpy()[place], self.correct.numpy()[place]
        return pa.table(
            {
                "split": pa.array([self.split] * len(place), pa.string()),
                "group": pa.array([self.group_names[i] for i in place], pa.string()),
                "count": count,
                "correct": correct,
                "accuracy": correct / count,
                "seen_in_training": self._is_seen(place),
            }
        )

    def _is_seen(self, place: np.ndarray) -> pa.Array:
        if self.num_seen is None:
            return pa.nulls(len(place), pa.bool_())
        return pa.array(place < self.num_seen)

    def summary(self, names: Sequence[str], min_count: int) -> dict[str, Any]:
        """Rows, groups, those left out of the criteria or unseen in training, and the criteria, as plain values."""
        some = self.count > 0
        values = compute_criteria(self.correct, self.count, names, min_count=min_count)
        return {
            "rows": int(self.count.sum()),
            "groups": int(some.sum()),
            "groups_left_out": int((some & (self.count < min_count)).sum()),
            "groups_unseen_in_training": None if self.num_seen is None else int(some[self.num_seen :].sum()),
            "criteria": {
                name: {"value": float(value), "better": criterion(name).mode} for name, value in values.items()
            },
        }


def write_report(
    folder: Path, splits: Sequence[SplitCounts], names: Sequence[str], *, min_count: int = 1, about: Mapping[str, Any]
) -> dict[str, Any]:
    """Write ``groups.csv``, ``groups.parquet`` and ``report.json``.

    Args:
        folder: where to; made if need be.
        splits: counts by split.
        names: criteria by name.
        min_count: the criteria leave out groups with fewer samples; the tables list them all the same.
        about: what else to put at the head of the report, plain values.

    Returns:
        The content of ``report.json``.
    """
    groups = pa.concat_tables([split.table() for split in splits])
    replace_file(folder / "groups.csv", lambda path: pa_csv.write_csv(groups, path))
    replace_file(folder / "groups.parquet", lambda path: pa_parquet.write_table(groups, path))
    report = {**about, "min_count": min_count, "splits": {s.split: s.summary(names, min_count) for s in splits}}
    write_json(folder / "report.json", report)
    return report


def print_report(report: Mapping[str, Any], splits: Sequence[SplitCounts], console: Console | None = None) -> None:
    """Show the criteria of each split side by side, and the worst ten groups of each."""
    console = console or Console()
    console.print(criteria_table(report["splits"]))
    for split in splits:
        console.print(worst_table(split))


def criteria_table(columns: Mapping[str, Mapping[str, Any]], title: str = "Criteria") -> Table:
    """Criteria as rows and splits (or runs) as columns; each column is a split's ``summary``."""
    table = Table(title=title)
    table.add_column("criterion")
    for name, content in columns.items():
        table.add_column(f"{name}\n{content['groups']:,} groups\n{content['rows']:,} rows", justify="right")
    table.add_column("better", style="dim")
    first = next(iter(columns.values()))["criteria"]
    for criterion_name, entry in first.items():
        cells = [f"{content['criteria'][criterion_name]['value']:.4f}" for content in columns.values()]
        table.add_row(criterion_name, *cells, "higher" if entry["better"] == "max" else "lower")
    for line, words in (
        ("groups_left_out", "left out (few rows)"),
        ("groups_unseen_in_training", "unseen in training"),
    ):
        if any(content[line] for content in columns.values()):
            cells = ["" if content[line] is None else f"{content[line]:,}" for content in columns.values()]
            table.add_row(words, *cells, "", style="dim")
    return table


def worst_table(split: SplitCounts) -> Table:
    """The worst groups of a split, the worst first."""
    groups = split.table().to_pydict()
    order = np.argsort(groups["accuracy"], kind="stable")[:WORST_SHOWN]
    table = Table(title=f"Worst {len(order)} of {len(groups['group']):,} groups in {split.split}")
    table.add_column("group")
    for column in ("rows", "correct", "accuracy"):
        table.add_column(column, justify="right")
    for i in order:
        numbers = (f"{groups['count'][i]:,}", f"{groups['correct'][i]:,}", f"{groups['accuracy'][i]:.3f}")
        table.add_row(escape(groups["group"][i]), *numbers)
    return table
