"""Features that cannot be read, say nothing, or say another thing in each row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from drurank.tabular.alike import copies
from drurank.tabular.columns import LARGEST, Column, as_option
from drurank.tabular.feature import FEWEST, Feature
from drurank.tabular.odd import has_too_many, oddity
from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules.finding import Finding
from drurank.tabular.writings import Writing, option_of, writing_of
from drurank.words import SHOWN, counted, quoted, some

MUCH_UNSEEN = 0.2
MARKS_SAID = {",": "a comma", ".": "a point", " ": "blanks", "'": "an apostrophe", "%": "a percent sign"}


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
    """Features that cannot be read as they are, in one finding for each way in which their numbers are written."""
    found: dict[tuple[Writing, str] | None, list[Finding]] = {}
    for name, said in data.unusable.items():
        found.setdefault(None, []).append(Finding("unusable_columns", "error", said, [name]))
    for feature in data.features:
        for writing, fault in _number_faults(data, feature):
            found.setdefault(writing, []).append(fault)
    for faults in found.values():
        names = [fault.names[0] for fault in faults]
        others = f"; the same holds for {some(map(_named, faults[1:]), shown=10)}" if len(names) > 1 else ""
        yield replace(faults[0], sentence=faults[0].sentence + others, names=names)


def is_unusable(data: GroupedRows, feature: Feature) -> bool:
    """Whether ``unusable_columns`` names a feature."""
    return any(True for _ in _number_faults(data, feature))


def _named(fault: Finding) -> str:
    """A column, and its first cell that is wrong."""
    return quoted(fault.names[0]) + ("" if fault.row is None else f" (row {fault.row}: {quoted(fault.value or '')})")


def _rest(column: Column, wrong: np.ndarray) -> str:
    """The cells that are wrong as the first one is: the next few, and how many more there are."""
    if len(wrong) < 2:
        return ""
    shown = [f"row {column.place_of(row)} {quoted(column.cell(row))}" for row in wrong[1 : 1 + SHOWN]]
    more = f" and {len(wrong) - 1 - SHOWN:,} more" if len(wrong) > 1 + SHOWN else ""
    return f" (nor are {', '.join(shown)}{more})"


Fault = tuple[tuple[Writing, str] | None, Finding]
"""How the numbers of a column are written, if with marks, and what is wrong with them."""


def _number_faults(data: GroupedRows, feature: Feature) -> Iterator[Fault]:
    """What is wrong with the numbers of a column, by its first such cell."""
    column = feature.column
    if not feature.is_number:
        if not (feature.asked or column.is_typed):
            yield from _almost_numbers(data, column)
        return
    if not (column.is_number or column.is_text):
        said = f"held numbers in training and holds {column.values.type} here; write numbers"
        yield None, Finding.of_column("unusable_columns", "error", column, "feature", said, [column.name])
        return
    wrong = data.used[np.abs(column.numbers[data.used]) > LARGEST]
    if len(wrong):
        rest = _rest(column, wrong)
        said = f"is not a number between -{LARGEST:g} and {LARGEST:g}{rest}; write one, or leave the row out"
        yield None, Finding.of_cell("unusable_columns", "error", column, wrong[0], said)


def _almost_numbers(data: GroupedRows, column: Column) -> Iterator[Fault]:
    """Cells of text that keep a column from being one of numbers: a few words, or marks in the numbers."""
    learnt = data.once(data.learnt)
    numbers = column.numbers[learnt]
    wrong = learnt[np.isinf(numbers)]
    codes = f"if they are codes, give {as_option('categorical', [column.name])}"
    if len(wrong) == 0:
        return
    writing = writing_of(column.texts[code] for code in np.unique(column.codes[learnt]) if code >= 0)
    if writing is not None and writing[0] != "date":
        said = f"looks like a number with {_mark_said(writing)}; give {option_of(writing, [column.name])}, or, "
        yield writing, Finding.of_cell("unusable_columns", "error", column, wrong[0], said + codes)
    elif len(wrong) < np.isfinite(numbers).sum():
        rest = _rest(column, wrong)
        said = f"is not a finite number, as most cells of the column are{rest}; write a number or NA, or, {codes}"
        yield None, Finding.of_cell("unusable_columns", "error", column, wrong[0], said)


def _mark_said(writing: tuple[Writing, str]) -> str:
    where = {"thousands": " between thousands", "decimal": " before its decimals"}
    return MARKS_SAID[writing[1]] + where.get(writing[0], "")


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
    """Categories, unless one-hot encoding refuses them, or whole numbers, of which most rows have one of their own."""
    distinct = ids(data)
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


def ids(data: GroupedRows) -> list[Feature]:
    """The features that ``distinct_columns`` names."""
    rows = data.once(np.arange(len(data.split)))
    different = data.used
    # Where nothing else tells rows apart, those of one code are no copies.
    if any(_is_code(data, f) for f in data.features) and sum(not _is_constant(f.code) for f in data.read) > 1:
        different = rows[~copies(data.codes(data.read)[1:])[rows]]
    return [
        feature
        for feature in data.features
        if (_is_distinct_code(feature, different) if _is_code(data, feature) else _is_distinct(feature, rows))
        and not (_is_odd(data, feature) or has_too_many(data, feature))
    ]


def _is_code(data: GroupedRows, feature: Feature) -> bool:
    odd = oddity(data, feature)
    return odd is not None and odd.kind == "codes"


def _is_distinct_code(feature: Feature, different: np.ndarray) -> bool:
    """Whether most rows have a number of their own, copies in other splits left out."""
    return len(different) >= FEWEST and not feature.repeats(different)


def _is_odd(data: GroupedRows, feature: Feature) -> bool:
    """Whether another finding says what the column is."""
    odd = oddity(data, feature)
    return odd is not None and odd.kind in ("dates", "compact_dates", "marked_numbers")


def _is_distinct(feature: Feature, rows: np.ndarray) -> bool:
    if len(rows) < FEWEST or feature.missing.all() or (feature.is_number and feature.asked):
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
