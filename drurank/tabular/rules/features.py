"""Features that give the label away, say nothing, or say another thing in each row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from drurank.tabular.columns import LARGEST, Column, as_option
from drurank.tabular.feature import Feature
from drurank.tabular.rows import FEWEST, GroupedRows
from drurank.tabular.rules.finding import Finding, counted, quoted, some

COMMA_NUMBER = re.compile(r"\s*[+-]?\d[\d.' ]*,\d[\d.,' ]*(e[+-]?\d+)?\s*", re.IGNORECASE)
NEARLY = 0.97
GAIN = 0.1
"""A rule is as good as the label where it has at most this share of the errors of always saying the commonest one."""
MUCH_UNSEEN = 0.2


def no_features(data: GroupedRows) -> Iterator[Finding]:
    """A table with nothing to learn from."""
    if data.label_column is not None and not (data.features or data.texts or data.unusable):
        yield Finding(
            "no_features",
            "error",
            "there are no features left beside label, group and split; exclude fewer columns",
            [],
            data.source,
        )


def unusable_columns(data: GroupedRows) -> Iterator[Finding]:
    """Features that cannot be read as they are, in one finding."""
    found = [Finding("unusable_columns", "error", said, [name]) for name, said in data.unusable.items()]
    found += [fault for feature in data.features if (fault := _number_fault(data, feature)) is not None]
    if found:
        names = [finding.names[0] for finding in found]
        others = f"; the like holds of {some(map(quoted, names[1:]), shown=10)}" if len(names) > 1 else ""
        yield replace(found[0], sentence=found[0].sentence + others, names=names)


def _number_fault(data: GroupedRows, feature: Feature) -> Finding | None:
    """What is wrong with the numbers of a column, by its first such cell."""
    column = feature.column
    if not feature.is_number:
        return None if feature.asked or column.is_typed else _almost_numbers(data, column)
    if not (column.is_number or column.is_text):
        said = f"held numbers in training and holds {column.values.type} here; write numbers"
        return Finding.of_column("unusable_columns", "error", column, "feature", said, [column.name])
    wrong = data.used[np.abs(column.numbers[data.used]) > LARGEST]
    said = f"is not a number between -{LARGEST:g} and {LARGEST:g}; write one, or leave the row out"
    return Finding.of_cell("unusable_columns", "error", column, wrong[0], said) if len(wrong) else None


def _almost_numbers(data: GroupedRows, column: Column) -> Finding | None:
    """Cells of text that keep a column from being one of numbers: a few words, or commas in the numbers."""
    learnt = data.once(data.learnt)
    numbers = column.numbers[learnt]
    wrong = learnt[np.isinf(numbers)]
    codes = f"if they are codes, give {as_option('categorical', [column.name])}"
    if 0 < len(wrong) < np.isfinite(numbers).sum():
        said = f"is not a finite number, as most cells of the column are; write a number or NA, or, {codes}"
        return Finding.of_cell("unusable_columns", "error", column, wrong[0], said)
    if len(wrong) and all(COMMA_NUMBER.fullmatch(column.texts[code]) for code in np.unique(column.codes[wrong])):
        said = "looks like a number with a comma; write a point for the decimals and nothing between thousands, or, "
        return Finding.of_cell("unusable_columns", "error", column, wrong[0], said + codes)
    return None


def determines_label(data: GroupedRows) -> Iterator[Finding]:
    """Features that determine the label in training and are not allowed to, in one finding."""
    if not data.features:
        return
    rows, label = _labelled(data, data.distinct_learnt)
    names = [f.name for f in data.features if f.name not in data.allow_leaks and determines(f.values[rows], label)]
    if names:
        what = f"the label {data.label_column.name!r}" if data.label_column else "the label"
        which = "each of the columns" if len(names) > 1 else "column"
        yield Finding(
            "determines_label",
            "error",
            f"{which} {some(map(quoted, names), shown=10)} determines {what} in every {_row(data)}; leave out what is "
            f"not known before the label is ({as_option('exclude', names)}), and allow the rest "
            f"({as_option('allow_leaks', names)})",
            names,
            column=names[0],
        )


def nearly_determines_label(data: GroupedRows) -> Iterator[Finding]:
    """Features that all but determine the label in training, in one finding."""
    rows, label = _labelled(data, data.once(data.learnt))
    base = 1 - np.bincount(label).max() / len(label) if len(label) else 0.0
    shares = {}
    for feature in data.features:
        code = feature.code[rows]
        if len(rows) and not determines(code, label):
            share = others_agree(code, label)
            if share >= NEARLY and 1 - share <= GAIN * base:
                shares[feature.name] = share
    if shares:
        names = list(shares)
        which = "each of the columns" if len(names) > 1 else "column"
        yield Finding(
            "nearly_determines_label",
            "warning",
            f"{which} {some(map(quoted, names), shown=10)} all but determines the label: saying what other rows of the "
            f"same value have is right in {some(f'{share:.2%}' for share in shares.values())} of the {_row(data)}s "
            "that have such; is it known before the label is? if not, leave it out "
            f"({as_option('exclude', names)})",
            names,
            column=names[0],
        )


def _labelled(data: GroupedRows, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Those of some rows that have a label, int64 ``[k]``, and their labels; none where all have the same one."""
    rows = rows[data.label[rows] >= 0]
    label = data.label[rows]
    several = len(rows) > 0 and bool((label != label[0]).any())
    return (rows, label) if several else (rows[:0], label[:0])


def _row(data: GroupedRows) -> str:
    return "training row" if data.trains else "row"


def determines(value: np.ndarray, label: np.ndarray) -> bool:
    """Whether each value of a feature goes with one label in training.

    Only where values that are seen in two or more rows make up at least half of the rows; a column of distinct values
    determines everything and says nothing.

    Args:
        value: codes or numbers of distinct rows, ``[n]``; missing ones count as one value.
        label: class numbers from 0, int64 ``[n]``.
    """
    if len(value) == 0:
        return False
    _, code, count = np.unique(value, return_inverse=True, return_counts=True)
    pairs = len(np.unique(code * (label.max() + 1) + label))
    return pairs == len(count) and bool(count[count > 1].sum() * 2 >= len(code))


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
    """Features of one value in training; one without any cells is in ``empty_columns``."""
    names = [f.name for f in data.features if len(f.code) > 1 and _is_constant(f.code[data.learnt])]
    if names:
        yield Finding(
            "constant_columns",
            "note",
            f"{counted(len(names), 'column')} of one value in all {'training ' if data.trains else ''}rows, which say "
            f"nothing: {some(map(quoted, names), shown=10)}; leave them out ({as_option('exclude', names)})",
            names,
        )


def _is_constant(code: np.ndarray) -> bool:
    return bool((code == code[0]).all()) and code[0] >= 0


def distinct_columns(data: GroupedRows) -> Iterator[Finding]:
    """Categories, or whole numbers, of which each row, or most, has one of its own."""
    rows = data.once(np.arange(len(data.split)))
    distinct = [feature for feature in data.features if _is_distinct(feature, rows)]
    if distinct:
        names = [f"{quoted(feature.name)} ({feature.size:,} values)" for feature in distinct]
        yield Finding(
            "distinct_columns",
            "warning",
            f"columns whose value differs in (almost) every row: {some(names, shown=10)}; a model cannot generalize "
            f"from them; exclude ID columns ({as_option('exclude', [feature.name for feature in distinct])}); for "
            "texts, use the data Text with text=...",
            [feature.name for feature in distinct],
        )


def _is_distinct(feature: Feature, rows: np.ndarray) -> bool:
    if len(rows) < FEWEST or feature.missing.all():
        return False
    if not feature.is_number:
        return not feature.repeats(rows)
    return feature.is_whole and feature.size == len(rows)


def unseen_categories(data: GroupedRows) -> Iterator[Finding]:
    """Categories that training lacks, in one finding for all columns and splits."""
    said: dict[str, float] = {}
    names: dict[str, None] = {}
    every, most = data.once(np.arange(len(data.split))), 0.0
    for feature in data.features:
        if feature.is_number or not feature.repeats(every):
            continue
        known = np.zeros(feature.size + 1, dtype=bool)
        known[feature.code[data.learnt]] = known[-1] = True
        for split in data.evaluated:
            rows = data.rows_of(split)
            code = feature.code[rows]
            unseen = code[~known[code]]
            if len(unseen):
                first = quoted(feature.column.texts[unseen[0]])
                kinds = counted(len(np.unique(unseen)), "category", "categories")
                share = len(unseen) / len(code)
                most = max(most, float(1 - known[feature.code[data.once(rows)]].mean()))
                said[
                    f"{feature.name} in {split} {kinds} in {counted(len(unseen), 'row')} ({share:.2%}), as {first}"
                ] = share
                names[feature.name] = None
    if said:
        yield Finding(
            "unseen_categories",
            "warning" if most >= MUCH_UNSEEN else "note",
            f"categories that training lacks, which all count as one: "
            f"{some(sorted(said, key=said.__getitem__, reverse=True), shown=5, between='; ')}; check "
            "whether they are spelt differently, or leave the column out",
            list(names),
        )
