"""A look at grouped data before it is trained on: splits, groups, label balance, and everything suspicious."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from drurank.files import replace_file, write_json
from drurank.tabular.power import POWER, SIGNIFICANCE, smallest_difference
from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules import find
from drurank.tabular.rules.finding import Finding, counted_once
from drurank.tabular.rules.spelling import joined_as_advised
from drurank.words import counted

GROUPS_FILE, FINDINGS_FILE = "groups.csv", "findings.json"
MOST_LABELS = 50
"""Labels up to which the table of groups has columns for each."""
ACCURACY = 0.8
"""What a good group is taken to reach, where always giving the commonest label reaches less."""


@dataclass(frozen=True)
class SplitSummary:
    """One split at a glance.

    Attributes:
        split: its name.
        rows: in it.
        groups: that have rows in it.
        sizes: of these groups: minimum, quartiles and maximum, float64 ``[5]``.
        label_counts: rows by label, int64 ``[k]``.
    """

    split: str
    rows: int
    groups: int
    sizes: np.ndarray
    label_counts: np.ndarray

    @classmethod
    def of(cls, data: GroupedRows, split: str) -> SplitSummary:
        """Count a split's rows."""
        rows, size = data.rows_of(split), data.group_sizes(split)
        size, label = size[size > 0], data.label[rows]
        sizes = np.percentile(size, (0, 25, 50, 75, 100)) if len(size) else np.zeros(5)
        labels = np.bincount(label[label >= 0], minlength=len(data.label_names))
        return cls(split, len(rows), len(size), sizes, labels)

    @property
    def label_shares(self) -> np.ndarray:
        """Share of the rows by label, float64 ``[k]``; 0 where none has a label."""
        shares: np.ndarray = self.label_counts / max(self.label_counts.sum(), 1)
        return shares


@dataclass(frozen=True)
class GroupCells:
    """The groups of every split, one entry a split and group that has rows.

    Attributes:
        split: code, int64 ``[c]``.
        group: code, int64 ``[c]``.
        count: rows, int64 ``[c]``.
        cell: entry of each pair of entry and label that has rows, int64 ``[p]``.
        label: of that pair.
        label_count: rows of that pair.
        unusual: chi-square statistic of each entry's label counts against its split's shares, float64 ``[c]``; unlike a
            difference of shares, it does not put the smallest groups first by chance.
    """

    split: np.ndarray
    group: np.ndarray
    count: np.ndarray
    cell: np.ndarray
    label: np.ndarray
    label_count: np.ndarray
    unusual: np.ndarray

    @classmethod
    def of(cls, data: GroupedRows, splits: list[SplitSummary]) -> GroupCells:
        """Count the rows of each split, group and label."""
        row, code = data.pairs
        used = data.split[row] >= 0
        some = row[used]
        key = data.split[some] * len(data.group_names) + code[used]
        keys, of_row, count = np.unique(key, return_inverse=True, return_counts=True)
        split, group = np.divmod(keys, max(len(data.group_names), 1))
        label = data.label[some]
        pairs, pair_count = np.unique(
            of_row[label >= 0] * len(data.label_names) + label[label >= 0], return_counts=True
        )
        cell, label = np.divmod(pairs, max(len(data.label_names), 1))
        share = np.array([summary.label_shares for summary in splits]).reshape(len(splits), len(data.label_names))
        labelled = np.bincount(cell, weights=pair_count, minlength=len(keys))
        expected = labelled[cell] * share[split[cell], label]
        unusual = np.bincount(cell, weights=pair_count**2 / expected, minlength=len(keys)) - labelled
        return cls(split, group, count, cell, label, pair_count, unusual)

    def by_label(self, labels: int) -> np.ndarray:
        """Rows of each entry by label, int64 ``[c, k]``."""
        counts = np.zeros((len(self.count), labels), dtype=np.int64)
        counts[self.cell, self.label] = self.label_count
        return counts


@dataclass(frozen=True)
class Inspection:
    """What was seen.

    Attributes:
        data: what was looked at.
        splits: one summary a split.
        findings: everything suspicious, the gravest first.
    """

    data: GroupedRows
    splits: list[SplitSummary]
    findings: list[Finding]

    @property
    def exit_status(self) -> int:
        """1 if a finding is an error, which would stop a fit, else 0."""
        return int(any(finding.severity == "error" for finding in self.findings))

    @cached_property
    def cells(self) -> GroupCells:
        """The groups of every split."""
        return GroupCells.of(self.data, self.splits)

    def groups_table(self) -> pa.Table:
        """One row a split and group: split, group, count, labels, unusual, and counts and shares by label.

        ``labels`` is how many labels the group has there, ``unusual`` the chi-square statistic of their counts against
        the split's shares. Above ``MOST_LABELS`` labels the counts by label are left out.
        """
        cells, data = self.cells, self.data
        columns: dict[str, Any] = {
            "split": pa.array(data.splits, pa.string()).take(pa.array(cells.split)),
            "group": pa.array(data.group_names, pa.string()).take(pa.array(cells.group)),
            "count": cells.count,
            "labels": np.bincount(cells.cell, minlength=len(cells.count)),
            "unusual": cells.unusual,
        }
        if len(data.label_names) <= MOST_LABELS:
            counts = cells.by_label(len(data.label_names))
            shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
            columns |= {f"count_{name}": counts[:, code] for code, name in enumerate(data.label_names)}
            columns |= {f"share_{name}": shares[:, code] for code, name in enumerate(data.label_names)}
        return pa.table(columns)

    def resolution(self) -> str:
        """How small a difference between groups the data can show at all, in words; repeated rows count once."""
        data = joined_as_advised(self.data)
        begins = "The" if data is self.data else "Once groups that differ only by how they are written are joined, the"
        if data.tested not in data.splits:
            return "No row is in a split, so there is no difference between groups to show."
        size = data.group_sizes(data.tested, once=True)
        size = size[size > 0]
        if not data.grouped or len(size) < 2:
            return f"{data.tested} has fewer than two groups, so it can show no difference between groups."
        label = data.label[data.once(rows := data.rows_of(data.tested))]
        count = np.bincount(label[label >= 0], minlength=1)
        accuracy = max(ACCURACY, float(count.max() / max(count.sum(), 1)))
        if accuracy >= 1:
            return f"{data.tested} has one label only, so it can show no difference between groups."
        median, fewest = float(np.median(size)), int(size.min())
        group = f"{begins} median {'' if data.split_column is None else f'{data.tested} '}group"
        smallest = f", and between two of the smallest ({counted(fewest, 'row')}) {_points(fewest, accuracy)}"
        return (
            f"{group} has {median:g} row{'s' * (median != 1)}{counted_once(data, rows)}. Between two such groups, "
            f"{_points(median, accuracy)} can be detected "
            f"reliably{smallest if fewest < median else ''} ({100 * POWER:g} % power of Fisher's exact test, two-sided "
            f"at {100 * SIGNIFICANCE:g} %, the better group's accuracy {round(100 * accuracy, 1):g} %, "
            f"{'the share of the commonest label' if accuracy > ACCURACY else 'assumed'})."
        )

    def write(self, folder: Path) -> None:
        """Write ``groups.csv`` and ``findings.json`` (splits, findings, last sentence)."""
        table = self.groups_table()
        replace_file(folder / GROUPS_FILE, lambda path: pa_csv.write_csv(table, path))
        content = {
            "data": self.data.source,
            "splits": {
                split.split: {
                    "rows": split.rows,
                    "groups": split.groups,
                    "group_sizes": dict(zip(("min", "q1", "median", "q3", "max"), split.sizes.tolist(), strict=True)),
                    "labels": dict(zip(self.data.label_names, split.label_counts.tolist(), strict=True)),
                }
                for split in self.splits
            },
            "findings": [asdict(finding) for finding in self.findings],
            "resolution": self.resolution(),
        }
        write_json(folder / FINDINGS_FILE, content)


def inspect_rows(data: GroupedRows) -> Inspection:
    """Count what is there and look for all that is suspicious; nothing is refused."""
    return Inspection(data, [SplitSummary.of(data, split) for split in data.splits], find(data))


def _points(count: float, accuracy: float) -> str:
    difference = smallest_difference(int(count), accuracy)
    if difference is None:
        return "no difference"
    return f"only differences of {math.ceil(1000 * difference) / 10:.1f} points or more"
