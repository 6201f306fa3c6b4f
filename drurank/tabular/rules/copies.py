"""Rows that are there twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules.finding import Finding, some

BY_CHANCE = 2.0
"""So many times the pairs that independent columns would make are put down to chance."""
AGREE = 0.5
"""Share of the way from chance to certainty that the labels of copies agree at least."""


def copied_rows(data: GroupedRows) -> Iterator[Finding]:
    """Rows of a split that are copies of others in it."""
    features = _told_apart_by(data)
    if not features:
        return
    said, first, chance = [], -1, []
    for split in data.splits:
        here = data.rows_of(split)
        codes = [code[here] for code in (data.label, data.group, *features)]
        rows, copy = alike_rows(codes)
        if len(rows):
            said.append(f"{len(rows) - int(copy.max()) - 1:,} in {split}")
            first = data.place_of(int(here[rows[0]])) if first < 0 else first
            chance.append(looks_like_chance(codes[0], codes[1:]))
    if said:
        yield Finding(
            "copied_rows",
            "note" if all(chance) else "warning",
            f"rows that are copies of an earlier one of their split in label, group and all features: "
            f"{some(said, shown=7)} (the first that has a copy is row {first}, counted from 0); {_advice(all(chance))}",
            [str(first)],
        )


def copies_across_splits(data: GroupedRows) -> Iterator[Finding]:
    """Rows of a split that have a copy in training, whatever its group, since groups of OOD splits differ."""
    features = _told_apart_by(data)
    if not features or not data.evaluated:
        return
    rows, copy = alike_rows([data.label, *features])
    trained = data.split[rows] == data.splits.index("train")
    times = np.bincount(copy[trained], minlength=int(copy.max(initial=-1)) + 1)
    said, pair = [], (-1, -1)
    for split in data.evaluated:
        here = np.flatnonzero((data.split[rows] == data.splits.index(split)) & (times[copy] > 0))
        if len(here):
            said.append(f"{len(here):,} of {len(data.rows_of(split)):,} in {split}")
            if pair[0] < 0:
                two = rows[here[0]], rows[np.argmax(trained & (copy == copy[here[0]]))]
                pair = (data.place_of(int(two[0])), data.place_of(int(two[1])))
    if said:
        chance = looks_like_chance(data.label, features)
        yield Finding(
            "copies_across_splits",
            "note" if chance else "warning",
            f"rows that have a copy in training in label and all features: {some(said, shown=7)} (row {pair[0]} is row "
            f"{pair[1]}, counted from 0){'' if chance else ', and what was learnt by heart counts as right there'}; "
            f"{_advice(chance)}",
            [str(row) for row in pair],
        )


def _told_apart_by(data: GroupedRows) -> list[np.ndarray]:
    """Codes of the features or texts; none where one cannot be read, since rows may differ in it."""
    read = {feature.name: feature.code for feature in (*data.features, *data.texts)}
    return list(read.values()) if set(data.unusable) <= set(read) else []


def _advice(chance: bool) -> str:
    if chance:
        return (
            "in columns of so few values chance alone makes such pairs, so they are likely different rows that no "
            "feature tells apart"
        )
    return "leave the copies out, or, if they are different rows, give the column that tells them apart"


def alike_rows(codes: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Rows that another row equals in all columns.

    Args:
        codes: code of each row's value by column, int64 ``[n]`` each, -1 for missing.

    Returns:
        Their places in ascending order, int64 ``[k]``, and a number from 0 that rows which are equal share.
    """
    rows = np.arange(len(codes[0]))
    copy = np.zeros(len(rows), dtype=np.int64)
    # Columns of many values first, so that few rows are left for the others.
    for code in sorted(codes, key=lambda code: int(code.max(initial=0)), reverse=True):
        key = copy * (int(code.max(initial=0)) + 2) + code[rows] + 1
        copy, count = np.unique(key, return_inverse=True, return_counts=True)[1:]
        again = count[copy] > 1
        rows, copy = rows[again], copy[again]
    return rows, np.unique(copy, return_inverse=True)[1]


def looks_like_chance(label: np.ndarray, others: Sequence[np.ndarray]) -> bool:
    """Whether pairs of rows that are equal in all columns are no more than is to be expected without copying.

    They are not where the other columns, were each independent of all others, would make half of these pairs or
    more; nor where rows that are equal in the other columns have different labels about as often as any two rows.

    Args:
        label: its code, int64 ``[n]``.
        others: code of each row's value by column, int64 ``[n]`` each.
    """
    rows, copy = alike_rows(others)
    width = int(label.max(initial=0)) + 2
    alike, equal = _pairs(copy), _pairs(np.unique(copy * width + label[rows], return_inverse=True)[1])
    n = len(label)
    every = n * (n - 1) / 2
    by_label = _pairs(label) / every
    if equal <= BY_CHANCE * every * by_label * float(np.prod([_pairs(code) / every for code in others])):
        return True
    return equal / alike - by_label < AGREE * (1 - by_label)


def _pairs(code: np.ndarray) -> float:
    """How many pairs of rows have the same code, of codes from -1."""
    count = np.bincount(code + 1)
    return float((count * (count - 1.0)).sum() / 2)
