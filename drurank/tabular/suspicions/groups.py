"""Groups that are too small, of one label, on both sides, or the label by another name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from drurank.tabular.columns import determines_label
from drurank.tabular.rows import GroupedRows
from drurank.tabular.suspicions.finding import (
    LISTED,
    TINY,
    Finding,
    Severity,
    counted,
    group_names,
    quoted,
    some_groups,
)

UNLIKELY = 0.01


def tiny_groups(data: GroupedRows) -> Iterator[Finding]:
    """Groups of fewer than ``TINY`` rows, in one finding for all parts."""
    said, names, of_tested = [], [], False
    for part in data.parts if data.grouped else ():
        size = data.group_sizes(part)
        tiny = np.flatnonzero((size > 0) & (size < TINY))
        if len(tiny) == 0:
            continue
        tiny = tiny[np.argsort(size[tiny], kind="stable")]
        smallest = some_groups(data, tiny, partial(_with_size, data, size))
        said.append(f"{len(tiny):,} of {counted(int((size > 0).sum()), 'group')} in {part}, as {smallest}")
        names += group_names(data, tiny)
        of_tested |= part == data.tested
    if said:
        yield Finding(
            "tiny_groups",
            "warning" if of_tested else "note",
            f"groups of fewer than {TINY} rows, whose accuracy over n rows moves in steps of 1/n, so that the worst of "
            f"them is mostly chance: {'; '.join(said)}; give more rows, join groups, or leave them out of the criteria "
            f"with --model.min_count {TINY}",
            list(dict.fromkeys(names))[:LISTED],
        )


def _with_size(data: GroupedRows, size: np.ndarray, group: int) -> str:
    return f"{quoted(data.groups[group])} ({size[group]})"


def one_class_groups(data: GroupedRows) -> Iterator[Finding]:
    """Groups of two or more rows that are all of one label, and how many chance alone would make."""
    rows = np.flatnonzero((data.group >= 0) & (data.label >= 0))
    group, label = data.group[rows], data.label[rows]
    size = np.bincount(group, minlength=len(data.groups))
    pairs = np.unique(group * len(data.labels) + label)
    all_one = len(pairs) == (size > 0).sum()
    if not data.grouped or len(np.unique(label)) < 2 or (all_one and determines_label(group, label)):
        return
    one = np.flatnonzero((np.bincount(pairs // len(data.labels), minlength=len(size)) == 1) & (size > 1))
    if len(one) == 0:
        return
    share = np.bincount(label) / len(label)
    sizes, times = np.unique(size[size > 1], return_counts=True)
    by_chance = float(sum(n * (share**k).sum() for k, n in zip(sizes, times, strict=True)))
    only = np.zeros(len(size), dtype=np.int64)
    only[pairs // len(data.labels)] = pairs % len(data.labels)
    one = one[np.argsort(-size[one], kind="stable")]
    said = some_groups(
        data, one, lambda g: f"{quoted(data.groups[g])} ({size[g]:,} rows, all {quoted(data.labels[only[g]])})"
    )
    # The chance that any of m groups of the largest's size has one label is at most m times that of one.
    suspicious = bool((share ** size[one[0]]).sum() * times.sum() < UNLIKELY)
    yield Finding(
        "one_class_groups",
        "warning" if suspicious else "note",
        f"{counted(len(one), 'group')} of two or more rows {'has' if len(one) == 1 else 'have'} one label only, where "
        f"chance would make about {by_chance:.1f}: {said}; accuracy there is that on one class, so "
        f"look whether labels {'were lost' if suspicious else 'of the largest were lost'}",
        group_names(data, one),
    )


def shared_groups(data: GroupedRows) -> Iterator[Finding]:
    """OOD parts that share groups with training or each other, and ID parts whose groups training lacks."""
    if not data.grouped:
        return
    size = {part: data.group_sizes(part) for part in data.parts}
    for part in data.parts:
        if part.startswith("ood_") and data.trains:
            yield from _both(data, part, "train", size, "error", "groups of an OOD part must be unseen in training")
    if "ood_val" in size and "ood_test" in size:
        why = "what is tested is then no longer unseen when the checkpoint is chosen"
        yield from _both(data, "ood_test", "ood_val", size, "warning", why)
    for part in data.parts:
        if part not in ("id_val", "id_test", "val", "test") or not data.trains:
            continue
        unseen = np.flatnonzero((size[part] > 0) & (size["train"] == 0))
        mixed = 0 < len(unseen) < (size[part] > 0).sum()
        if len(unseen) and (part.startswith("id_") or mixed):
            yield Finding(
                "unseen_groups",
                "warning" if part.startswith("id_") else "note",
                f"{counted(len(unseen), 'group')} of {part} with {counted(int(size[part][unseen].sum()), 'row')} "
                f"{'has' if len(unseen) == 1 else 'have'} no training row "
                f"({some_groups(data, unseen)}), so that {part} mixes seen and "
                f"unseen groups; put these rows into ood_{part.removeprefix('id_')}",
                group_names(data, unseen),
            )


def _both(
    data: GroupedRows, part: str, other: str, size: dict[str, np.ndarray], severity: Severity, why: str
) -> Iterator[Finding]:
    both = np.flatnonzero((size[part] > 0) & (size[other] > 0))
    if len(both):
        both = both[np.argsort(-size[part][both], kind="stable")]
        rows = counted(int(size[part][both].sum()), "row")
        yield Finding(
            "shared_groups",
            severity,
            f"{len(both):,} of {counted(int((size[part] > 0).sum()), 'group')} of {part} ({rows}) "
            f"{'is' if len(both) == 1 else 'are'} in {other} too ({some_groups(data, both)}), "
            f"and {why}; put all rows of a group on one side",
            group_names(data, both),
        )


def one_group(data: GroupedRows) -> Iterator[Finding]:
    """One group in all, or in a part."""
    alone = {}
    for part in data.parts if data.grouped else ():
        found = np.flatnonzero(data.group_sizes(part))
        if len(found) == 1:
            alone[part] = data.groups[found[0]]
    if alone:
        said = ", ".join(f"{part} has {quoted(name)} only" for part, name in alone.items())
        yield Finding(
            "one_group",
            "warning",
            f"of groups {said}; with one there is nothing to compare, and worst, average and overall are the same; "
            "name another column with --data.group, or split anew",
            list(dict.fromkeys(alone.values())),
        )


def group_is_label(data: GroupedRows) -> Iterator[Finding]:
    """Groups that are classes, or labels that are groups."""
    rows = np.flatnonzero((data.group >= 0) & (data.label >= 0))
    group, label = data.group[rows], data.label[rows]
    pairs = len(np.unique(group * len(data.labels) + label))
    groups, labels = len(np.unique(group)), len(np.unique(label))
    if not data.grouped or groups < 2 or labels < 2:
        return
    by_group = pairs == groups and determines_label(group, label)
    by_label = pairs == labels and determines_label(label, group)
    if not (by_group or by_label):
        return
    names = [column.name for column in data.group_columns] or ["group"]
    said = ", ".join(map(repr, names))
    if data.label_column is not None and data.label_column.name in names:
        yield Finding(
            "group_is_label",
            "note",
            f"the label {data.label_column.name!r} is one of the columns of the group ({said}), so that each group has "
            "one label and its accuracy is that on one class, which is as asked",
            names,
        )
        return
    how = "is the label by other names" if by_group and by_label else "has one label in each group"
    how = how if by_group else "is fixed by the label, each of which is in one group only"
    yield Finding(
        "group_is_label",
        "error",
        f"the group {said} {how} (label {quoted(data.labels[label[0]])} in group {quoted(data.groups[group[0]])}), so "
        "that accuracy by group says nothing about groups; name another column with --data.group",
        names,
    )
