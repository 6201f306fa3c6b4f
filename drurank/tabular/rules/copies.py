"""Rows that are there twice."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from drurank.tabular.alike import alike_rows, looks_like_chance
from drurank.tabular.resplitting import split_again
from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules.finding import Finding
from drurank.words import some

CHANCE = (
    "in columns of so few values chance alone makes such pairs, so they are likely different rows that no feature "
    "tells apart"
)
OTHER_ROWS = "if they are different rows, give the column that tells them apart"
ON_PURPOSE = (
    "rows repeated on purpose, as to balance labels, may stay in training, and the other findings count each once; "
    f"take others out of the file; {OTHER_ROWS}"
)


def copied_rows(data: GroupedRows) -> Iterator[Finding]:
    """Rows of a split that are copies of others in it."""
    if not _told_apart_by(data):
        return
    copies = {split: int(data.copied[data.rows_of(split)].sum()) for split in data.splits}
    said = [f"{copies[split]:,} in {split}" for split in data.splits if copies[split]]
    if said:
        by_chance = len(data.chance_splits) == len(said)
        rows = data.alike[0]
        first = data.name_row(int(rows[data.split[rows] >= 0][0]))
        yield Finding(
            "copied_rows",
            "note" if by_chance else "warning",
            f"rows that are copies of an earlier one of their split in label, group and all features: "
            f"{some(said, shown=7)} (the first that has a copy is row {first}, counted from 0); "
            f"{CHANCE if by_chance else ON_PURPOSE}",
            [first],
        )


def copies_across_splits(data: GroupedRows) -> Iterator[Finding]:
    """Rows of a split that have a copy in training, whatever its group, since groups of OOD splits differ."""
    features = _told_apart_by(data)
    if not features or not data.evaluated:
        return
    rows, copy = alike_rows([data.label, *features])
    trained = data.split[rows] == data.splits.index("train")
    times = np.bincount(copy[trained], minlength=int(copy.max(initial=-1)) + 1)
    said, pair, found = [], ("", ""), np.zeros(len(rows), dtype=bool)
    for split in data.evaluated:
        here = np.flatnonzero((data.split[rows] == data.splits.index(split)) & (times[copy] > 0))
        if len(here):
            found[here] = True
            said.append(f"{len(here):,} of {len(data.rows_of(split)):,} in {split}")
            if not pair[0]:
                two = rows[here[0]], rows[np.argmax(trained & (copy == copy[here[0]]))]
                pair = (data.name_row(int(two[0])), data.name_row(int(two[1])))
    if said:
        # Rows repeated within a split say nothing about chance between splits.
        once = data.once(np.arange(len(data.split)))
        chance = looks_like_chance(data.label[once], [code[once] for code in features])
        yield Finding(
            "copies_across_splits",
            "note" if chance else "warning",
            f"rows that have a copy in training in label and all features: {some(said, shown=7)} (row {pair[0]} is row "
            f"{pair[1]}, counted from 0){'' if chance else ', and what was learnt by heart counts as right there'}; "
            f"{CHANCE if chance else _remedy(data, rows, copy, trained, found)}",
            list(pair),
        )


def _remedy(data: GroupedRows, rows: np.ndarray, copy: np.ndarray, trained: np.ndarray, found: np.ndarray) -> str:
    """What to do about copies in training: ``split`` keeps those of one group together, and no option those of others.

    Args:
        data: the rows.
        rows: places of those that equal another, int64 ``[k]``.
        copy: the number that equal ones share, int64 ``[k]``.
        trained: which of them are in training, bool ``[k]``.
        found: which of them are evaluated and have a copy there, bool ``[k]``.
    """
    key = copy * (int(data.group_set.max(initial=0)) + 2) + data.group_set[rows] + 1
    together = np.isin(key[found], key[trained])
    said = []
    if together.any() and data.grouped and data.group_columns:
        said.append(f"`split` keeps copies in one group together: {split_again(data, join=False)}")
    if not said or not together.all():
        said.append(f"take the copies{' of other groups' if said else ''} out of the file")
    return "; ".join([*said, OTHER_ROWS])


def _told_apart_by(data: GroupedRows) -> list[np.ndarray]:
    """Codes of the features or texts; none where one cannot be read, since rows may differ in it."""
    read = {feature.name: feature.code for feature in data.read}
    return list(read.values()) if set(data.unusable) <= set(read) else []
