"""Cells that are blank, or say that something is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from drurank.tabular.columns import NO_NUMBER, Column, as_option
from drurank.tabular.feature import Feature
from drurank.tabular.odd import oddity
from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules.finding import Finding
from drurank.words import counted, quoted, some

MOSTLY = 0.5
JOINED = "values that differ only by how they are written are joined"


def blank_labels(data: GroupedRows) -> Iterator[Finding]:
    """Rows without a label."""
    if data.label_column is not None:
        needed = data.used[~np.isin(data.used, data.untested)] if data.unlabelled else data.used
        yield from blank_cells([data.label_column], "label", needed)


def blank_groups(data: GroupedRows) -> Iterator[Finding]:
    """Rows without a group, except training rows where these may lack it."""
    trained = np.isin(data.used, data.rows_of("train"))
    if data.group_in == "eval":
        yield from blank_cells(data.group_columns, "group", data.used[~trained], data.remedies.get("blank_group"))
        return
    besides = ", or, for training rows of a method that needs no groups, give group_in='eval'" if trained.any() else ""
    remedy = data.remedies.get("blank_group") or REMEDY + besides
    yield from blank_cells(data.group_columns, "group", data.used, remedy)


REMEDY = "give each row one, or leave the row out"


def blank_cells(columns: Sequence[Column], role: str, rows: np.ndarray, remedy: str | None = None) -> Iterator[Finding]:
    """Blank cells of columns that need a value in each of these rows, in one finding a column.

    Args:
        columns: of one role.
        role: label, group or the like.
        rows: places in the table, int64 ``[k]``.
        remedy: what to do about it.
    """
    for column in columns:
        blank = rows[column.codes[rows] < 0]
        if len(blank):
            cells = column.cells(blank)
            more = f", one of {cells:,} such cells" if cells > 1 else ""
            said = f"is not a {role}{more}; {remedy or REMEDY}"
            yield Finding.of_cell(f"blank_{role}", "error", column, blank[0], said)


def missing_cells(data: GroupedRows) -> Iterator[Finding]:
    """Features that lack cells, in one finding for all."""
    missing = {feature.name: int(feature.missing[data.used].sum()) for feature in data.features}
    names = sorted((name for name in missing if missing[name]), key=missing.__getitem__, reverse=True)
    if not names:
        return
    total = len(data.used)
    worst = next(feature for feature in data.features if feature.name == names[0])
    said = some((f"{name} {missing[name]:,} ({missing[name] / total:.1%})" for name in names), shown=10)
    remedy = f"missing={data.missing!r} takes care of them"
    if data.missing == "error":
        those = "such columns" if len(names) > 1 else "the column"
        remedy = f"give missing='indicator' or missing='drop', or leave {those} out ({as_option('exclude', names)})"
    rest = f"cells missing by column: {said}; {remedy}"
    much = worst.missing[data.once(data.used)].mean() > MOSTLY
    yield Finding.of_cell(
        "missing_cells",
        "error" if data.missing == "error" else "warning" if much else "note",
        worst.column,
        data.used[np.argmax(worst.missing[data.used])],
        f"is missing; {rest}",
        names,
        of_blank=f"is blank; {rest}",
    )


def empty_columns(data: GroupedRows) -> Iterator[Finding]:
    """Features that no training row has."""
    names = [f.name for f in data.features if len(data.learnt) and f.missing[data.learnt].all()]
    if names:
        column = next(feature.column for feature in data.features if feature.name == names[0])
        others = f" (nor do {some(map(quoted, names[1:]), shown=10)})" if len(names) > 1 else ""
        where = "training row" if data.trains else "row"
        said = f"has no value in any {where}{others}; leave it out ({as_option('exclude', names)})"
        yield Finding.of_column("empty_columns", "error", column, "feature", said, names)


def padded_cells(data: GroupedRows) -> Iterator[Finding]:
    """Names with blanks at their ends, which are left out, in one finding for all columns."""
    columns = [*data.group_columns, *filter(None, (data.label_column, data.split_column))]
    columns += [feature.column for feature in data.features if not feature.is_number]
    padded = {column.name: column.padded for column in columns if column.is_text and column.padded}
    if padded:
        said = some((f"{name} {counted(cells, 'cell')}" for name, cells in padded.items()), shown=10)
        yield Finding(
            "padded_cells",
            "note",
            f"blanks at the ends of names are left out, so that 'a' and 'a ' are one: {said}",
            list(padded),
        )


def joined_values(data: GroupedRows) -> Iterator[Finding]:
    """Categories that are read as another way of writing them, in one finding for all columns."""
    said = joined_cells(data.features, data.used)
    if said:
        names = [feature.name for feature in data.features if feature.is_joined]
        yield Finding("joined_values", "note", f"{JOINED}: {said}", names)


def joined_cells(features: Sequence[Feature], rows: np.ndarray) -> str:
    """How many cells of these rows, int64 ``[k]``, are read as another way of writing them, by column."""
    found = {feature.name: feature.column.reread(rows) for feature in features if feature.is_joined}
    return some((_reread(name, cells) for name, cells in found.items() if cells), shown=10)


def _reread(name: str, cells: Mapping[tuple[str, str], int]) -> str:
    pairs = some(f"{quoted(written)} as {quoted(meant)}" for written, meant in cells)
    return f"{name} {counted(sum(cells.values()), 'cell')} ({pairs})"


def missing_as_text(data: GroupedRows) -> Iterator[Finding]:
    """Cells of text that mean nothing is there, and count as a category, a group or a label of their own."""
    columns = [*data.group_columns, *([data.label_column] if data.label_column else [])]
    columns += [feature.column for feature in data.features if not feature.is_number]
    odd = {feature.name: oddity(data, feature) for feature in data.features}
    read_otherwise = {name for name, one in odd.items() if one is not None and one.writing is not None}
    for column in {column.name: column for column in columns}.values():
        if column.name in read_otherwise:
            continue  # Read as what they look like, such cells are missing.
        words = [text for text in column.texts if text.strip().lower() in (*NO_NUMBER, "?") and column.is_text]
        if words:
            rows = sum(int((column.codes == column.texts.index(word)).sum()) for word in words)
            said = (
                f"says {some(map(quoted, words))} in {counted(rows, 'row')}, which counts as a value like any other; "
                "leave such cells blank if nothing is known there"
            )
            yield Finding.of_column("missing_as_text", "warning", column, "column", said, [column.name, *words])
