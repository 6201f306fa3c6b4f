"""Labels that are alone, rare, no classes, or unseen in training."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from drurank.errors import nearest
from drurank.tabular.coding import ALL_ROWS
from drurank.tabular.columns import to_number
from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules.finding import TINY, Finding, Severity, counted_once
from drurank.words import counted, quoted, some

NEARLY_ALL = 0.95


def one_label(data: GroupedRows) -> Iterator[Finding]:
    """One label in a split, or none in training."""
    said, names = {}, []
    for split in data.splits:
        label = data.label[data.rows_of(split)]
        found = np.unique(label[label >= 0])
        where = "training" if split == "train" else f"{split} rows" if split == ALL_ROWS else split
        if len(found) == 1:
            names.append(data.label_names[found[0]])
            said[split] = f"one label, {quoted(names[-1])}, in {where}"
        elif len(found) == 0 and split == "train":
            said[split] = "no label in training"
    if said:
        severity: Severity = "error" if "train" in said or not data.trains else "warning"
        remedy = f"has {' and '.join(said.values())}; give rows of two or more labels"
        yield Finding.of_column("one_label", severity, data.label_column, "label", remedy, list(dict.fromkeys(names)))


def unlabelled_splits(data: GroupedRows) -> Iterator[Finding]:
    """Splits for testing without any label."""
    if data.label_column is not None and data.unlabelled:
        which = " and ".join(data.unlabelled)
        yield Finding.of_column(
            "unlabelled_splits",
            "warning",
            data.label_column,
            "label",
            f"has no label in any row of {which}, so that {which} cannot be tested, only predicted; give the labels to "
            "test it",
            data.unlabelled,
        )


def fraction_labels(data: GroupedRows) -> Iterator[Finding]:
    """Labels of training that are all numbers, but not all whole."""
    learnt = data.label[data.learnt]
    number = {code: to_number(data.label_names[code]) for code in np.unique(learnt[learnt >= 0]).tolist()}
    broken = [code for code in number if not number[code].is_integer()]
    if data.label_column is not None and broken and not np.isinf(list(number.values())).any():
        yield Finding.of_cell(
            "fraction_labels",
            "error",
            data.label_column,
            data.learnt[np.argmax(np.isin(learnt, broken))],
            "is not a whole number, and labels are classes; give whole numbers or else names",
            [data.label_names[code] for code in broken[:10]],
        )


def unseen_labels(data: GroupedRows) -> Iterator[Finding]:
    """Labels that training lacks."""
    known = np.append(data.label_is_trained, True)
    said, names, first = [], [], -1
    for split in data.splits:
        rows = data.rows_of(split)
        rows = rows[~known[data.label[rows]]]
        if len(rows):
            new = [data.label_names[code] for code in np.unique(data.label[rows])]
            said.append(f"{some(map(quoted, new))} in {counted(len(rows), 'row')} of {split}")
            names += new
            first = int(rows[0]) if first < 0 else min(first, int(rows[0]))
    if not said:
        return
    name = data.label_names[data.label[first]]
    trained = [label for label, is_known in zip(data.label_names, known[:-1], strict=True) if is_known]
    remedy = (
        f"is a label that training lacks ({'; '.join(said)}); {nearest(name, data.trained_labels or trained)}; "
        "write one of these, leave the row out, or train on rows of it too"
    )
    names = list(dict.fromkeys(names))
    if data.label_column is None:
        yield Finding("unseen_labels", "error", f"the label {quoted(name)} {remedy}", names)
    else:
        yield Finding.of_cell("unseen_labels", "error", data.label_column, first, remedy, names)


def imbalance(data: GroupedRows) -> Iterator[Finding]:
    """Nearly all rows of a split of one label; repeated ones count, since they are trained on and scored."""
    extreme = {}
    for split in data.splits:
        label = data.label[data.rows_of(split)]
        count = np.bincount(label[label >= 0], minlength=len(data.label_names))
        if (count > 0).sum() > 1 and count.max() >= NEARLY_ALL * count.sum():
            extreme[split] = (data.label_names[count.argmax()], count.max() / count.sum())
    if extreme:
        said = ", ".join(f"{split} ({quoted(name)} {share:.1%})" for split, (name, share) in extreme.items())
        yield Finding(
            "imbalance",
            "warning",
            f"one label makes up {NEARLY_ALL:.0%} of the rows or more in {said}, so that always saying it scores as "
            "well in accuracy; look at accuracy by label too (group=[...] with the label among the columns)",
            list(dict.fromkeys(name for name, _ in extreme.values())),
        )


def rare_labels(data: GroupedRows) -> Iterator[Finding]:
    """Labels that training has next to no row of."""
    label = data.label[data.once(data.learnt)]
    count = np.bincount(label[label >= 0], minlength=len(data.label_names))
    rare = np.flatnonzero((count > 0) & (count < TINY))
    if len(rare):
        said = some(
            f"{quoted(data.label_names[code])} ({count[code]})" for code in rare[np.argsort(count[rare], kind="stable")]
        )
        where = "training" if data.trains else "all"
        yield Finding(
            "rare_labels",
            "warning",
            f"{counted(len(rare), 'label')} of {(count > 0).sum():,} {'has' if len(rare) == 1 else 'have'} fewer than "
            f"{TINY} of {where} rows{counted_once(data, data.learnt)}: {said}; little can be learnt of them, so join "
            "them with others or leave them out",
            [data.label_names[code] for code in rare],
        )
