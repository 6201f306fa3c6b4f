"""The column that says the split of each row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from drurank.errors import nearest
from drurank.splits import SPLITS, TEST, TRAINING, VALIDATION, lacking
from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules.cells import blank_cells
from drurank.tabular.rules.finding import Finding
from drurank.words import counted, quoted, some


def blank_split(data: GroupedRows) -> Iterator[Finding]:
    """Rows that say no split."""
    column = data.split_column
    if column is not None:
        yield from blank_cells([column], "split", np.arange(len(column.codes)), f"give one of {', '.join(SPLITS)}")


def unknown_splits(data: GroupedRows) -> Iterator[Finding]:
    """Cells that do not name a split."""
    column = data.split_column
    unknown = [text for text in column.texts if text not in data.split_names] if column is not None else []
    if column is None or not unknown:
        return
    count = np.bincount(column.codes[column.codes >= 0], minlength=len(column.texts))
    said = some(f"{quoted(text)} ({counted(int(count[column.texts.index(text)]), 'row')})" for text in unknown)
    yield Finding.of_cell(
        "split_spelling",
        "error",
        column,
        int(np.argmax(column.codes == column.texts.index(unknown[0]))),
        f"is not a split; {nearest(unknown[0], data.split_names)}; fix each such cell, here {said}, or say what it "
        f"stands for, as split_names={{{unknown[0]!r}: 'train'}}",
        unknown,
    )


def lacking_splits(data: GroupedRows) -> Iterator[Finding]:
    """No rows to train on, to choose a checkpoint by, or to test on."""
    wanted = {"train": TRAINING, "ood_val": VALIDATION, "ood_test": TEST} if data.split_column is not None else {}
    said = {name: lacking(splits, data.splits) for name, splits in wanted.items()}
    names = [name for name in wanted if said[name]]
    if names:
        severe = {"train", "ood_val"} & set(names)
        yield Finding.of_column(
            "lacking_splits",
            "error" if severe else "warning",
            data.split_column,
            "split",
            "; it ".join(said[name] or "" for name in names),
            names,
        )
