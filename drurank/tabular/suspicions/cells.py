"""Cells that are blank, or say what they should not, and parts that are not there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from drurank.errors import nearest
from drurank.splits import SPLITS
from drurank.tabular.columns import NO_NUMBER
from drurank.tabular.rows import GroupedRows
from drurank.tabular.suspicions.finding import Finding, counted, quoted, some

MOSTLY = 0.5


def split_cells(data: GroupedRows) -> Iterator[Finding]:
    """Cells of the split column that are no split."""
    column = data.split_column
    if column is None:
        return
    count = np.bincount(column.codes[column.codes >= 0], minlength=len(column.texts))
    unknown = [code for code in np.argsort(-count, kind="stable") if column.texts[code] not in data.split_names]
    if unknown:
        said = some(f"{quoted(column.texts[code])} ({counted(int(count[code]), 'row')})" for code in unknown)
        first = column.texts[unknown[0]]
        yield Finding(
            "split_spelling",
            "error",
            f"the split column {column.name!r} says {said}, which is no split ({nearest(first, SPLITS)}), so those "
            f"rows are in no part here; mend them, or say what they stand for with --data.split_names "
            f"'{{{first}: ...}}'",
            [column.texts[code] for code in unknown],
        )


def lacking_parts(data: GroupedRows) -> Iterator[Finding]:
    """No rows to train on, to choose by, or to test on."""
    if data.split_column is None:
        return
    wanted = {
        "training": ("train",),
        "validation": ("ood_val", "val", "id_val"),
        "test": ("ood_test", "test", "id_test"),
    }
    lacking = {use: names for use, names in wanted.items() if not set(names) & set(data.parts)}
    if lacking:
        names = " and no ".join(f"{use} rows ({' or '.join(names)})" for use, names in lacking.items())
        yield Finding(
            "lacking_parts",
            "warning",
            f"the split column {data.split_column.name!r} leaves no {names}; a fit needs training and validation rows, "
            "and a test needs test rows; split the table anew",
            [names[0] for names in lacking.values()],
        )


def blank_cells(data: GroupedRows) -> Iterator[Finding]:
    """Missing cells by column."""
    roles = {"label": [data.label_column], "group": data.group_columns, "split": [data.split_column]}
    for role, columns in roles.items():
        for column in columns:
            blank = np.flatnonzero(column.codes < 0) if column is not None else np.zeros(0, np.int64)
            if column is None or len(blank) == 0:
                continue
            besides = ", or, where it is a training row, --data.group_in eval" if role == "group" else ""
            yield Finding(
                f"blank_{role}",
                "error",
                f"column {column.name!r} is blank in {counted(len(blank), 'row')}, first in row "
                f"{data.place_of(blank[0])} (the first is 0), and each row needs a {role}; fill it in, or leave the "
                f"row out{besides}",
                [column.name],
            )
    missing = {feature.name: int((feature.code < 0).sum()) for feature in data.features}
    names = sorted((name for name in missing if missing[name]), key=missing.__getitem__, reverse=True)
    if names:
        total = len(data.part)
        said = some((f"{name} {missing[name]:,} ({missing[name] / total:.1%})" for name in names), shown=10)
        much = missing[names[0]] > MOSTLY * total
        yield Finding(
            "missing_cells",
            "warning" if much else "note",
            f"{counted(len(names), 'column')} of features lack cells, by column: {said}; a fit needs --data.missing "
            f"indicator (or drop), or leave {'such columns' if len(names) > 1 else 'the column'} out (--data.exclude "
            f"{names[0]})",
            names,
        )


def missing_as_text(data: GroupedRows) -> Iterator[Finding]:
    """Cells of text that mean nothing is there, and count as a category, a group or a label of their own."""
    columns = [*data.group_columns, *([data.label_column] if data.label_column else [])]
    columns += [feature.column for feature in data.features if not feature.is_number]
    for column in {column.name: column for column in columns}.values():
        words = [text for text in column.texts if text.strip().lower() in (*NO_NUMBER, "?") and column.is_text]
        if words:
            rows = sum(int((column.codes == column.texts.index(word)).sum()) for word in words)
            yield Finding(
                "missing_as_text",
                "warning",
                f"column {column.name!r} says {some(map(quoted, words))} in {counted(rows, 'row')}, which counts as a "
                "value like any other; leave such cells blank if nothing is known there",
                [column.name, *words],
            )
