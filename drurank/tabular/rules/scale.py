"""Labels that are numbers: of another scale in some places, codes of something missing, or measurements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules.finding import Finding, counted_once
from drurank.words import counted, quoted, some

MANY = 20
FEW = 0.05
SMALLEST = 5
"""Fewest rows of a group whose scale is judged."""
LARGER, SMALLER = 1.5, 10.0
"""A scale is another one where its end is so many times larger, or smaller, than the usual one's."""


def _numeric(data: GroupedRows) -> bool:
    return len(data.label_names) > 1 and bool(np.isfinite(data.label_numbers).all())


def label_words(data: GroupedRows) -> Iterator[Finding]:
    """Labels most of which are numbers and a few are words."""
    wrong = np.isinf(data.label_numbers)
    rows = data.label[data.label >= 0]
    once = data.label[data.once(np.flatnonzero(data.label >= 0))]
    share = wrong[once].mean() if len(once) else 0.0
    if 0 < share <= FEW:
        words = [data.label_names[code] for code in np.flatnonzero(wrong)]
        yield Finding(
            "label_words",
            "warning",
            f"the labels are numbers except {some(map(quoted, words))} in {counted(int(wrong[rows].sum()), 'row')}; "
            "fix these or leave the rows out, since each counts as a class",
            words,
        )


@dataclass(frozen=True)
class _Scales:
    """Ends and middle (5, 50, 95 %) of the labels of each unit, how many differ, and the share not whole."""

    count: np.ndarray
    low: np.ndarray
    middle: np.ndarray
    high: np.ndarray
    distinct: np.ndarray
    fraction: np.ndarray

    @classmethod
    def of(cls, unit: np.ndarray, value: np.ndarray, size: int) -> _Scales:
        order = np.lexsort((value, unit))
        ranked = value[order] if len(value) else np.zeros(1)  # no unit has rows then
        count = np.bincount(unit, minlength=size)
        start = np.minimum(np.cumsum(count) - count, max(len(value) - 1, 0))
        ends = [ranked[start + (share * np.maximum(count - 1, 0)).astype(np.int64)] for share in (0.05, 0.5, 0.95)]
        changes = np.ones(len(value), dtype=bool)
        changes[1:] = (np.diff(ranked) != 0) | (np.diff(unit[order]) != 0)
        distinct = np.bincount(unit[order], weights=changes, minlength=size)
        fraction = np.bincount(unit, weights=value % 1 != 0, minlength=size) / np.maximum(count, 1)
        return cls(count, ends[0], ends[1], ends[2], distinct, fraction)

    def off(self, usual: np.ndarray) -> np.ndarray:
        """Units whose scale is another than that of the usual ones, int64 ``[k]``; none where these have no scale."""
        high, low = np.median(self.high[usual]), np.median(self.low[usual])
        larger = (self.middle > high) & (self.high >= LARGER * high) if high > 0 else np.zeros_like(usual)
        smaller = (self.high > 0) & (self.high * SMALLER <= high) & (self.distinct > 2)
        parts_of_one = (self.fraction >= 0.5) & (np.median(self.fraction[usual]) == 0)
        off = (larger | smaller | parts_of_one) & (self.count >= SMALLEST)
        rest = usual & ~off
        if not rest.any():
            return np.flatnonzero(usual & False)
        off &= ~larger | (self.middle > self.high[rest].max())
        # Where a usual unit has but a few of the labels, as where groups are made of classes, no scale can be told.
        spread = self.high[rest].max() - self.low[rest].min()
        told = high > low and np.median(self.high[rest] - self.low[rest]) * 2 >= spread
        return np.flatnonzero(off & told)

    def said(self, unit: int) -> str:
        return f"{self.low[unit]:g} to {self.high[unit]:g}"


def label_scale(data: GroupedRows) -> Iterator[Finding]:
    """Splits, then groups, whose labels are on another scale; in the rest measurements, or values far from most."""
    if not _numeric(data):
        return
    rows = data.once(every := np.flatnonzero((data.label >= 0) & (data.split >= 0)))
    once = counted_once(data, every)
    if len(rows) == 0:
        return  # no row is in a split, which another rule says
    value = data.label_numbers[data.label[rows]]
    if data.trains:
        scales = _Scales.of(data.split[rows], value, len(data.splits))
        usual = np.arange(len(data.splits)) == data.splits.index("train")
        yield from _say(scales, off := scales.off(usual), "split", data.splits, "training", once)
        kept = ~np.isin(data.split[rows], off)
        rows, value = rows[kept], value[kept]
    if data.grouped:
        place, group = _groups_of(data, rows)
        scales = _Scales.of(group, value[place], len(data.group_names))
        usual = scales.count >= SMALLEST
        off = scales.off(usual) if usual.sum() > 2 else np.zeros(0, np.int64)
        off = off[np.argsort(-scales.count[off], kind="stable")]
        yield from _say(scales, off, "group", data.group_names, "most groups", once)
        kept = np.ones(len(rows), dtype=bool)
        kept[place[np.isin(group, off)]] = False
        value = value[kept]
    yield from _regression(data, value) if _is_measured(value) else _strays(value, once)


def _groups_of(data: GroupedRows, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Place among these rows, int64 ``[k]``, and group, once for each group that they are in, int64 ``[p]`` each."""
    place = np.full(len(data.split), -1)
    place[rows] = np.arange(len(rows))
    row, group = data.pairs
    here = place[row] >= 0
    return place[row[here]], group[here]


def _say(scales: _Scales, off: np.ndarray, what: str, names: Sequence[str], usual: str, once: str) -> Iterator[Finding]:
    if len(off):
        rest = np.setdiff1d(np.flatnonzero(scales.count), off)
        common = f"{np.median(scales.low[rest]):g} to {np.median(scales.high[rest]):g}"
        said = some(f"{quoted(names[u])} ({scales.said(u)}, {counted(int(scales.count[u]), 'row')})" for u in off)
        yield Finding(
            "label_scale",
            "warning",
            f"the labels of {counted(len(off), what)} are numbers of another scale than those of {usual} ({common}): "
            f"{said}{once}; bring all to one scale",
            [names[u] for u in off],
        )


def _strays(value: np.ndarray, once: str) -> Iterator[Finding]:
    found, count = np.unique(value, return_counts=True)
    if len(found) < 3:
        return  # Two classes may be called any two numbers, as -1 and 1.
    low, high = np.quantile(value, (FEW, 1 - FEW), method="nearest")
    gap = np.diff(found) > max(high - low, 1)
    above = np.cumsum(np.append(False, gap & (found[:-1] >= high))) > 0
    below = np.cumsum(np.append(gap & (found[1:] <= low), False)[::-1])[::-1] > 0
    stray = above | below | ((found < 0) & (low >= 0))
    if stray.any():
        names = [f"{number:g}" for number in found[stray]]
        rows = int(count[stray].sum())
        yield Finding(
            "stray_labels",
            "warning",
            f"the label is {some(names)} in {counted(rows, 'row')} ({rows / len(value):.2%}){once} and from {low:g} to "
            f"{high:g} in most others, which looks like a code for something missing or a slip; if it is one, leave "
            "these rows out or fix them",
            names,
        )


def _is_measured(value: np.ndarray) -> bool:
    found = np.unique(value)
    classes = len(found) > 0 and found[0] in (0, 1) and bool((np.diff(found) == 1).all())
    return len(found) > MANY and not classes


def _regression(data: GroupedRows, value: np.ndarray) -> Iterator[Finding]:
    name = data.label_column.name if data.label_column else "label"
    yield Finding(
        "regression",
        "warning",
        f"the labels in {quoted(name)} are {len(np.unique(value)):,} different numbers from {value.min():g} to "
        f"{value.max():g} that are not counted through from 0 or 1, which looks like a measurement and not like "
        "classes; if it is one, cut it into a few classes",
        [name],
    )
