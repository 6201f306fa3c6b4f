"""Labels that are alone, rare, or unseen in training."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from drurank.tabular.rows import GroupedRows
from drurank.tabular.suspicions.finding import TINY, Finding, counted, quoted, some

NEARLY_ALL = 0.95


def one_label(data: GroupedRows) -> Iterator[Finding]:
    """One label in a part."""
    alone = {}
    for part in data.parts:
        found = np.unique(data.label[data.rows_of(part)])
        found = found[found >= 0]
        if len(found) == 1:
            alone[part] = data.labels[found[0]]
    if alone:
        said = ", ".join(f"{part} {quoted(name)}" for part, name in alone.items())
        yield Finding(
            "one_label",
            "error" if "train" in alone or not data.trains else "warning",
            f"one label is all there is in {said}; there is nothing to tell apart, so give rows of two or more labels",
            list(dict.fromkeys(alone.values())),
        )


def unseen_labels(data: GroupedRows) -> Iterator[Finding]:
    """Labels of a part that training lacks."""
    known = np.zeros(len(data.labels) + 1, dtype=bool)
    known[data.label[data.learnt]] = known[-1] = True
    said, names = [], []
    for part in data.evaluated:
        label = data.label[data.rows_of(part)]
        unseen, count = np.unique(label[~known[label]], return_counts=True)
        if len(unseen):
            named = [quoted(data.labels[code]) for code in unseen]
            said.append(f"{some(named)} in {counted(int(count.sum()), 'row')} of {part}")
            names += [data.labels[code] for code in unseen]
    if said:
        yield Finding(
            "unseen_labels",
            "error",
            f"training lacks labels: {'; '.join(said)}; they can never be predicted, so mend them, leave these rows "
            "out, or give training rows of them",
            list(dict.fromkeys(names)),
        )


def imbalance(data: GroupedRows) -> Iterator[Finding]:
    """Nearly all rows of one label, or labels that training has next to no row of."""
    extreme = {}
    for part in data.parts:
        label = data.label[data.rows_of(part)]
        count = np.bincount(label[label >= 0], minlength=len(data.labels))
        if (count > 0).sum() > 1 and count.max() >= NEARLY_ALL * count.sum():
            extreme[part] = (data.labels[count.argmax()], count.max() / count.sum())
    if extreme:
        said = ", ".join(f"{part} ({quoted(name)} {share:.1%})" for part, (name, share) in extreme.items())
        yield Finding(
            "imbalance",
            "warning",
            f"one label makes up {NEARLY_ALL:.0%} of the rows or more in {said}, so that always saying it scores as "
            "well in accuracy; look at accuracy by label too (--data.group with the label among the columns)",
            list(dict.fromkeys(name for name, _ in extreme.values())),
        )
    label = data.label[data.learnt]
    count = np.bincount(label[label >= 0], minlength=len(data.labels))
    rare = np.flatnonzero((count > 0) & (count < TINY))
    if len(rare):
        said = some(
            f"{quoted(data.labels[code])} ({count[code]})" for code in rare[np.argsort(count[rare], kind="stable")]
        )
        where = "training" if data.trains else "all"
        yield Finding(
            "rare_labels",
            "warning",
            f"{counted(len(rare), 'label')} of {(count > 0).sum():,} {'has' if len(rare) == 1 else 'have'} fewer than "
            f"{TINY} of {where} rows: {said}; nothing much can be learnt of them, so join them with others or leave "
            "them out",
            [data.labels[code] for code in rare],
        )
