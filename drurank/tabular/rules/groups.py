"""Groups that are too small, of one label, on both sides, or the label by another name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from drurank.tabular.columns import as_option
from drurank.tabular.resplitting import split_again
from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules.finding import LISTED, TINY, Finding, counted_once, listed, some_groups
from drurank.tabular.rules.leaks import determines
from drurank.tabular.rules.spelling import joined_as_advised
from drurank.words import counted, quoted

REMEDY = {"ood_val": "val", "ood_test": "test"}
"""Splits whose groups training must lack, and what to call such a split where it has them."""
UNLIKELY = 0.01


JOINED = ", with groups that differ only by how they are written joined"


def tiny_groups(data: GroupedRows) -> Iterator[Finding]:
    """Groups of fewer than ``TINY`` rows, in one finding for all splits; joined where that is advised."""
    written, data = data, joined_as_advised(data)
    joined = "" if data is written else JOINED
    said, names, of_tested = [], [], False
    for split in data.splits if data.grouped else ():
        size = data.group_sizes(split, once=True)
        tiny = np.flatnonzero((size > 0) & (size < TINY))
        if len(tiny) == 0:
            continue
        tiny = tiny[np.argsort(size[tiny], kind="stable")]
        smallest = some_groups(data, tiny, partial(_with_size, data, size))
        said.append(f"{len(tiny):,} of {counted(int((size > 0).sum()), 'group')} in {split}, as {smallest}")
        names += listed(data, tiny)
        of_tested |= split == data.tested
    if said:
        yield Finding(
            "tiny_groups",
            "warning" if of_tested else "note",
            f"groups of fewer than {TINY} rows{counted_once(data, data.used)}{joined}, whose accuracy over n rows "
            f"moves in steps of 1/n, so that the worst of them is mostly chance: {'; '.join(said)}; give more rows, "
            f"join groups or leave them out of the criteria with min_count={TINY}",
            list(dict.fromkeys(names))[:LISTED],
        )


def _with_size(data: GroupedRows, size: np.ndarray, group: int) -> str:
    return f"{quoted(data.group_names[group])} ({size[group]})"


def one_class_groups(data: GroupedRows) -> Iterator[Finding]:
    """Groups of two or more rows of one label, and how many chance alone would make; joined where that is advised."""
    written, data = data, joined_as_advised(data)
    joined = "" if data is written else JOINED
    every = np.flatnonzero(data.label >= 0) if data.members else np.flatnonzero((data.group >= 0) & (data.label >= 0))
    rows, group = _members_of(data, data.once(every))
    label = data.label[rows]
    size = np.bincount(group, minlength=len(data.group_names))
    pairs = np.unique(group * len(data.label_names) + label)
    all_one = len(pairs) == (size > 0).sum()
    if not data.grouped or len(np.unique(label)) < 2 or (all_one and determines(group, label)):
        return
    one = np.flatnonzero((np.bincount(pairs // len(data.label_names), minlength=len(size)) == 1) & (size > 1))
    if len(one) == 0:
        return
    share = np.bincount(label) / len(label)
    sizes, times = np.unique(size[size > 1], return_counts=True)
    by_chance = float(sum(n * (share**k).sum() for k, n in zip(sizes, times, strict=True)))
    only = np.zeros(len(size), dtype=np.int64)
    only[pairs // len(data.label_names)] = pairs % len(data.label_names)
    one = one[np.argsort(-size[one], kind="stable")]
    said = some_groups(
        data,
        one,
        lambda g: f"{quoted(data.group_names[g])} ({size[g]:,} rows, all {quoted(data.label_names[only[g]])})",
    )
    # The chance that any of m groups of the largest's size has one label is at most m times that of one.
    suspicious = bool((share ** size[one[0]]).sum() * times.sum() < UNLIKELY)
    yield Finding(
        "one_class_groups",
        "warning" if suspicious else "note",
        f"{counted(len(one), 'group')} of two or more rows{counted_once(data, every)}{joined}{',' * bool(joined)} "
        f"{'has' if len(one) == 1 else 'have'} only one label (about {by_chance:.1f} expected by chance): {said}; "
        f"{'its' if len(one) == 1 else 'their'} accuracy measures one class only; check that no labels were lost"
        f"{'' if suspicious else ' in the largest such group'}",
        listed(data, one),
    )


def shared_groups(data: GroupedRows) -> Iterator[Finding]:
    """OOD splits that hold groups of training."""
    for split, instead in REMEDY.items():
        size = data.group_sizes(split) if data.grouped else np.zeros(0, dtype=np.int64)
        both = np.flatnonzero((size > 0) & data.group_is_trained) if size.any() else size[:0]
        if len(both) == 0:
            continue
        rows = data.rows_of(split)
        member, group = _members_of(data, rows)
        first = int(member[np.isin(group, both)].min())
        column = data.split_column
        written = split if column is None else column.texts[column.codes[first]]
        remedy = data.remedies.get("shared_groups") or (
            f"put all rows of a group on one side, or call the split what it is, as split_names={{{written!r}: "
            f"{instead!r}}}"
        )
        if _are_joined(data, both):
            remedy = f"by join_twins=True groups are one that were split apart; {split_again(data)}"
        said = f"is for groups that training lacks, and {_share(data, split, size, both)} in train too"
        said = f"{said} ({some_groups(data, both := _largest_first(size, both))}); {remedy}"
        if column is None:
            yield Finding("shared_groups", "error", f"{split} {said}", listed(data, both))
        else:
            yield Finding.of_cell("shared_groups", "error", column, first, said, listed(data, both))


def _are_joined(data: GroupedRows, groups: np.ndarray) -> bool:
    """Whether some of these groups are one only since they were joined."""
    if not data.join_twins:
        return False
    rows = np.flatnonzero(np.isin(data.group, groups))
    written = np.stack([column.codes[rows] for column in data.group_columns], axis=1)
    return len(np.unique(written, axis=0)) > len(groups)


def shared_ood_groups(data: GroupedRows) -> Iterator[Finding]:
    """Groups that are in both OOD splits."""
    size = data.group_sizes("ood_test")
    both = np.flatnonzero((size > 0) & (data.group_sizes("ood_val") > 0)) if data.grouped else size[:0]
    if len(both):
        both = _largest_first(size, both)
        yield Finding(
            "shared_groups",
            "warning",
            f"{_share(data, 'ood_test', size, both)} in ood_val too ({some_groups(data, both)}), and what is tested is "
            "then no longer unseen when the checkpoint is chosen; put all rows of a group on one side",
            listed(data, both),
        )


def _share(data: GroupedRows, split: str, size: np.ndarray, some: np.ndarray) -> str:
    """How many of a split's groups these are, with how many rows."""
    rows = counted(int(size[some].sum()), "row")
    of = counted(int((size > 0).sum()), "group")
    return f"{len(some):,} of {of} of {split} ({rows}) {'is' if len(some) == 1 else 'are'}"


def _largest_first(size: np.ndarray, groups: np.ndarray) -> np.ndarray:
    return groups[np.argsort(-size[groups], kind="stable")]


def unseen_groups(data: GroupedRows) -> Iterator[Finding]:
    """Splits of training's groups that hold others too."""
    for split in data.splits:
        if split not in ("id_val", "id_test", "val", "test") or not (data.trains and data.grouped):
            continue
        size = data.group_sizes(split)
        unseen = np.flatnonzero((size > 0) & ~data.group_is_trained)
        mixed = 0 < len(unseen) < (size > 0).sum()
        if len(unseen) and (split.startswith("id_") or mixed):
            yield Finding(
                "unseen_groups",
                "warning" if split.startswith("id_") else "note",
                f"{counted(len(unseen), 'group')} of {split} with {counted(int(size[unseen].sum()), 'row')} "
                f"{'has' if len(unseen) == 1 else 'have'} no training row ({some_groups(data, unseen)}), so that "
                f"{split} mixes seen and unseen groups; put these rows into ood_{split.removeprefix('id_')}",
                listed(data, unseen),
            )


def one_group(data: GroupedRows) -> Iterator[Finding]:
    """One group in all, or in a split."""
    alone = {}
    for split in data.splits if data.grouped else ():
        found = np.flatnonzero(data.group_sizes(split))
        if len(found) == 1:
            alone[split] = data.group_names[found[0]]
    if alone:
        said = ", ".join(f"{split} has {quoted(name)} only" for split, name in alone.items())
        yield Finding(
            "one_group",
            "warning",
            f"only one group in a split: {said}; with one there is nothing to compare, and worst, average and overall "
            "are the same; name another column as group=..., or make the split again",
            list(dict.fromkeys(alone.values())),
        )


def group_says_label(data: GroupedRows) -> Iterator[Finding]:
    """A group that is the label: each group is of one label and each label in one group, so accuracy is recall."""
    groups, labels, pairs = _pairs_with_label(data)
    if _is_one_column(data) and 1 < groups == labels == pairs:
        name = data.group_columns[0].name if data.group_columns else "group"
        group = f"the group, column {name!r}," if data.group_columns else "the group"
        label = f"the label {data.label_column.name!r}" if data.label_column else "the label"
        yield Finding(
            "group_is_label",
            "error",
            f"{group} says in every row what {label} says; name another, or several of which it is one "
            f"({as_option('group', [name, '<another>'])})",
            [name],
            column=name,
        )


def group_fixes_label(data: GroupedRows) -> Iterator[Finding]:
    """Groups of one label each, or labels of one group each, where the two are not the same by another name."""
    groups, labels, pairs = _pairs_with_label(data)
    if groups < 2 or labels < 2 or (_is_one_column(data) and groups == labels == pairs):
        return
    rows, group = _members_of(data, np.flatnonzero((data.label >= 0) & ~data.copied))
    label = data.label[rows]
    by_group = pairs == groups and determines(group, label)
    by_label = pairs == labels and determines(label, group)
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
        "warning",
        f"the group {said} {how} (label {quoted(data.label_names[label[0]])} in group "
        f"{quoted(data.group_names[group[0]])}), so that accuracy by group says nothing about groups; name another "
        "column as group=...",
        names,
    )


def _pairs_with_label(data: GroupedRows) -> tuple[int, int, int]:
    """How many groups and labels the rows have that have both, and how many pairs of them; 0 without groups."""
    rows, group = _members_of(data, np.flatnonzero(data.label >= 0) if data.grouped else np.zeros(0, dtype=np.int64))
    label = data.label[rows]
    pairs = np.unique(group * len(data.label_names) + label)
    return len(np.unique(group)), len(np.unique(label)), len(pairs)


def _is_one_column(data: GroupedRows) -> bool:
    return len(data.group_columns) < 2


def _members_of(data: GroupedRows, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of these rows, int64 ``[k]`` and each once, row and group of each membership, int64 ``[p]`` each."""
    chosen = np.zeros(len(data.split), dtype=bool)
    chosen[rows] = True
    row, group = data.pairs
    return row[chosen[row]], group[chosen[row]]
