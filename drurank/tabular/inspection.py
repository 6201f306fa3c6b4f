"""A look at grouped data before it is trained on: parts, groups, label balance, and everything suspicious."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from drurank.files import replace_file, write_json
from drurank.tabular.rows import GroupedRows
from drurank.tabular.suspicions import find_suspicions
from drurank.tabular.suspicions.finding import Finding

GROUPS_FILE, FINDINGS_FILE = "groups.csv", "findings.json"
MOST_LABELS = 50
"""Labels up to which the table of groups has columns for each."""
ACCURACY = 0.8
SIGNIFICANCE, POWER = 0.05, 0.8


@dataclass(frozen=True)
class PartSummary:
    """One part at a glance.

    Attributes:
        part: its name.
        rows: in it.
        groups: that have rows in it.
        sizes: of these groups: minimum, quartiles and maximum, float64 ``[5]``.
        label_counts: rows by label, int64 ``[k]``.
    """

    part: str
    rows: int
    groups: int
    sizes: np.ndarray
    label_counts: np.ndarray

    @classmethod
    def of(cls, data: GroupedRows, part: str) -> PartSummary:
        """Count a part's rows."""
        rows, size = data.rows_of(part), data.group_sizes(part)
        size, label = size[size > 0], data.label[rows]
        sizes = np.percentile(size, (0, 25, 50, 75, 100)) if len(size) else np.zeros(5)
        labels = np.bincount(label[label >= 0], minlength=len(data.labels))
        return cls(part, len(rows), len(size), sizes, labels)

    @property
    def label_shares(self) -> np.ndarray:
        """Share of the rows by label, float64 ``[k]``; 0 where none has a label."""
        shares: np.ndarray = self.label_counts / max(self.label_counts.sum(), 1)
        return shares


@dataclass(frozen=True)
class GroupCells:
    """The groups of every part, one entry a part and group that has rows.

    Attributes:
        part: int64 ``[c]``.
        group: int64 ``[c]``.
        count: rows, int64 ``[c]``.
        cell: entry of each pair of entry and label that has rows, int64 ``[p]``.
        label: of that pair.
        label_count: rows of that pair.
        unusual: chi-square statistic of each entry's label counts against its part's shares, float64 ``[c]``; unlike a
            difference of shares, it does not put the smallest groups first by chance.
    """

    part: np.ndarray
    group: np.ndarray
    count: np.ndarray
    cell: np.ndarray
    label: np.ndarray
    label_count: np.ndarray
    unusual: np.ndarray

    @classmethod
    def of(cls, data: GroupedRows, parts: list[PartSummary]) -> GroupCells:
        """Count the rows of each part, group and label."""
        some = np.flatnonzero((data.part >= 0) & (data.group >= 0))
        key = data.part[some] * len(data.groups) + data.group[some]
        keys, of_row, count = np.unique(key, return_inverse=True, return_counts=True)
        part, group = np.divmod(keys, max(len(data.groups), 1))
        label = data.label[some]
        pairs, pair_count = np.unique(of_row[label >= 0] * len(data.labels) + label[label >= 0], return_counts=True)
        cell, label = np.divmod(pairs, max(len(data.labels), 1))
        share = np.array([summary.label_shares for summary in parts]).reshape(len(parts), len(data.labels))
        labelled = np.bincount(cell, weights=pair_count, minlength=len(keys))
        expected = labelled[cell] * share[part[cell], label]
        unusual = np.bincount(cell, weights=pair_count**2 / expected, minlength=len(keys)) - labelled
        return cls(part, group, count, cell, label, pair_count, unusual)

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
        parts: one summary a part.
        findings: everything suspicious, the gravest first.
    """

    data: GroupedRows
    parts: list[PartSummary]
    findings: list[Finding]

    @cached_property
    def cells(self) -> GroupCells:
        """The groups of every part."""
        return GroupCells.of(self.data, self.parts)

    def groups_table(self) -> pa.Table:
        """One row a part and group: split, group, count, labels, unusual, and counts and shares by label.

        ``labels`` is how many labels the group has there, ``unusual`` the chi-square statistic of their counts against
        the part's shares. Above ``MOST_LABELS`` labels the counts by label are left out.
        """
        cells, data = self.cells, self.data
        columns: dict[str, Any] = {
            "split": pa.array(data.parts, pa.string()).take(pa.array(cells.part)),
            "group": pa.array(data.groups, pa.string()).take(pa.array(cells.group)),
            "count": cells.count,
            "labels": np.bincount(cells.cell, minlength=len(cells.count)),
            "unusual": cells.unusual,
        }
        if len(data.labels) <= MOST_LABELS:
            counts = cells.by_label(len(data.labels))
            shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
            columns |= {f"count_{name}": counts[:, code] for code, name in enumerate(data.labels)}
            columns |= {f"share_{name}": shares[:, code] for code, name in enumerate(data.labels)}
        return pa.table(columns)

    def resolution(self) -> str:
        """One sentence on how small a difference between groups the data can show at all."""
        data, part = self.data, next((p for p in self.parts if p.part == self.data.tested), None)
        if part is None:
            return "No row is in a part, so that there is no difference between groups to be shown."
        if not data.grouped or part.groups < 2:
            return f"{data.tested} has not two groups, so that it can show no difference between groups."
        accuracy = max(ACCURACY, float(part.label_shares.max(initial=0)))
        if accuracy >= 1:
            return f"{data.tested} has one label only, so that it can show no difference between groups."
        median, fewest = float(part.sizes[2]), float(part.sizes[0])
        why = "the share of the commonest label" if accuracy > ACCURACY else "assumed"
        finds, at_least = (_points(smallest_difference(count, accuracy), accuracy) for count in (median, fewest))
        return (
            f"In {part.part} a group has {median:g} rows in the median, so that at an accuracy of {accuracy:.1%} "
            f"({why}) a two-sided test at {SIGNIFICANCE:.0%} finds {finds} between two such groups in {POWER:.0%} of "
            f"cases{f', and between two of the smallest ({fewest:g} rows) {at_least}' if fewest < median else ''}."
        )

    def write(self, folder: Path) -> None:
        """Write ``groups.csv`` and ``findings.json`` (parts, findings, last sentence)."""
        table = self.groups_table()
        replace_file(folder / GROUPS_FILE, lambda path: pa_csv.write_csv(table, path))
        content = {
            "data": self.data.source,
            "parts": {
                part.part: {
                    "rows": part.rows,
                    "groups": part.groups,
                    "group_sizes": dict(zip(("min", "q1", "median", "q3", "max"), part.sizes.tolist(), strict=True)),
                    "labels": dict(zip(self.data.labels, part.label_counts.tolist(), strict=True)),
                }
                for part in self.parts
            },
            "findings": [asdict(finding) for finding in self.findings],
            "resolution": self.resolution(),
        }
        write_json(folder / FINDINGS_FILE, content)


def inspect_rows(data: GroupedRows) -> Inspection:
    """Count what is there and look for all that is suspicious; nothing is refused."""
    return Inspection(data, [PartSummary.of(data, part) for part in data.parts], find_suspicions(data))


def smallest_difference(count: float, accuracy: float) -> float:
    """Difference between the accuracies of two groups that a two-sided 5 % test finds with a power of 80 %.

    That of two normals, ``(z_0.975 + z_0.8) sqrt(2 p (1 - p) / n)``.

    Args:
        count: rows ``n`` of each group.
        accuracy: ``p``, about which both lie.
    """
    # scipy.special takes a while to import, which the command line's help need not wait for.
    from scipy.special import ndtri

    quantiles = ndtri(1 - SIGNIFICANCE / 2) + ndtri(POWER)
    return float(quantiles * np.sqrt(2 * accuracy * (1 - accuracy) / count))


def _points(difference: float, accuracy: float) -> str:
    # One group can at worst be wrong in every row.
    return f"a difference of {100 * difference:.1f} points" if difference < accuracy else "no difference at all"
