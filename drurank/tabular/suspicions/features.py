"""Features that give the label away, say nothing, or say another thing in each row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from drurank.tabular.columns import determines_label
from drurank.tabular.rows import Feature, GroupedRows
from drurank.tabular.suspicions.finding import Finding, counted, quoted, some

NEARLY = 0.97
GAIN = 0.1
"""A rule is as good as the label where it has at most this share of the errors of always saying the commonest one."""
MUCH_UNSEEN = 0.2
FEWEST = 20
"""Rows from which on it is no chance that all differ."""


def unusable_columns(data: GroupedRows) -> Iterator[Finding]:
    """Features that cannot be read as they are, in one finding."""
    names = list(data.unusable)
    if names:
        others = f"; the like holds of {some(map(quoted, names[1:]), shown=10)}" if len(names) > 1 else ""
        yield Finding("unusable_columns", "error", data.unusable[names[0]] + others, names)


def label_in_disguise(data: GroupedRows) -> Iterator[Finding]:
    """Features that determine the label in training, or all but, in one finding each."""
    rows = data.learnt[data.label[data.learnt] >= 0]
    label = data.label[rows]
    if len(rows) == 0 or len(np.unique(label)) < 2:
        return
    base = 1 - np.bincount(label).max() / len(label)
    where = "training row" if data.trains else "row"
    exact, nearly = [], {}
    for feature in data.features:
        code = feature.code[rows]
        share = others_agree(code, label)
        if share < NEARLY or 1 - share > GAIN * base:
            continue
        if determines_label(code, label):
            exact.append(feature.name)
        else:
            nearly[feature.name] = share
    if exact:
        yield Finding(
            "determines_label",
            "error",
            f"every value of {_columns(exact)} goes with one label in every {where}; leave out (--data.exclude "
            f"{','.join(exact)}) what is not known before the label is, and allow the rest (--data.allow_leaks ...)",
            exact,
        )
    if nearly:
        shares = some(f"{share:.2%}" for share in nearly.values())
        yield Finding(
            "nearly_determines_label",
            "warning",
            f"{_columns(list(nearly))} all but determines the label: saying what other rows of the same value have is "
            f"right in {shares} of the {where}s that have such; is it known before the label is? if not, leave it out "
            f"(--data.exclude {','.join(nearly)})",
            list(nearly),
        )


def _columns(names: list[str]) -> str:
    return (
        f"column {quoted(names[0])}" if len(names) == 1 else f"each of the columns {some(map(quoted, names), shown=10)}"
    )


def others_agree(code: np.ndarray, label: np.ndarray) -> float:
    """How often the label most frequent among the *other* rows of the same value is right; a tie is wrong.

    A row that is alone with its value is not counted, since any column of many values would else pass.

    Args:
        code: number of the value, int64 ``[n]``.
        label: int64 ``[n]``.

    Returns:
        Share of the rows that are not alone; 0 where these are fewer than half.
    """
    times = np.bincount(code + 1)
    if times[times > 1].sum() * 2 < len(code):
        return 0.0
    width = int(label.max()) + 1
    pair, count = np.unique((code + 1) * width + label, return_counts=True)
    value = pair // width
    order = np.lexsort((count, value))
    value, count = value[order], count[order]
    last = np.append(np.diff(value) != 0, True)
    top = np.flatnonzero(last)
    before = np.maximum(top - 1, 0)
    second = np.where((top > 0) & (value[before] == value[top]), count[before], 0)
    total = np.diff(np.append(0, np.cumsum(count)[top]))
    shared = total > 1
    right = np.where(count[top] - 1 > second, count[top], 0)[shared].sum()
    return float(right / total[shared].sum())


def constant_columns(data: GroupedRows) -> Iterator[Finding]:
    """Features of one value in training; one that lacks all cells is told with the missing ones."""
    names = [f.name for f in data.features if len(f.code) > 1 and _is_constant(f.code[data.learnt])]
    if names:
        yield Finding(
            "constant_columns",
            "note",
            f"{counted(len(names), 'column')} of one value in all {'training ' if data.trains else ''}rows, which say "
            f"nothing: {some(map(quoted, names), shown=10)}; leave them out (--data.exclude {','.join(names[:10])})",
            names,
        )


def _is_constant(code: np.ndarray) -> bool:
    return bool((code == code[0]).all()) and code[0] >= 0


def distinct_columns(data: GroupedRows) -> Iterator[Finding]:
    """Categories, or whole numbers, of which each row, or most, has one of its own."""
    distinct = [feature for feature in data.features if _is_distinct(feature)]
    if distinct:
        names = [f"{quoted(feature.name)} ({feature.size:,} values)" for feature in distinct]
        yield Finding(
            "distinct_columns",
            "warning",
            f"columns with another value in each row or in most, of which a table learns nothing that holds for other "
            f"rows: {some(names, shown=10)}; leave out what only identifies a row (--data.exclude "
            f"{','.join(feature.name for feature in distinct[:10])}); from texts learns --data Text, whose column is "
            "--data.text",
            [feature.name for feature in distinct],
        )


def _is_distinct(feature: Feature) -> bool:
    rows = len(feature.code)
    if rows < FEWEST or feature.size == 0:
        return False
    if not feature.is_number:
        return not feature.repeats
    return feature.size == rows and bool((feature.column.numbers % 1 == 0).all())


def unseen_categories(data: GroupedRows) -> Iterator[Finding]:
    """Categories that training lacks, in one finding for all columns and parts."""
    said: dict[str, float] = {}
    names: dict[str, None] = {}
    for feature in data.features:
        if feature.is_number or not feature.repeats:
            continue
        known = np.zeros(feature.size + 1, dtype=bool)
        known[feature.code[data.learnt]] = known[-1] = True
        for part in data.evaluated:
            code = feature.code[data.rows_of(part)]
            unseen = code[~known[code]]
            if len(unseen):
                first = quoted(feature.column.texts[unseen[0]])
                kinds = counted(len(np.unique(unseen)), "category", "categories")
                share = len(unseen) / len(code)
                said[f"{feature.name} in {part} {kinds} in {counted(len(unseen), 'row')} ({share:.2%}), as {first}"] = (
                    share
                )
                names[feature.name] = None
    if said:
        yield Finding(
            "unseen_categories",
            "warning" if max(said.values()) >= MUCH_UNSEEN else "note",
            f"categories that training lacks, which all count as one: "
            f"{some(sorted(said, key=said.__getitem__, reverse=True), shown=5, between='; ')}; look "
            "whether they are spelt otherwise, or leave the column out",
            list(names),
        )
