"""A split by group: whole groups that training never sees, and some rows of each that it does."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from drurank.errors import InputError, check_count, check_number, check_seed
from drurank.splits import SPLITS
from drurank.tabular.hashing import copies_as_one, hash_rows

TRAIN, ID_VAL, OOD_VAL = SPLITS.index("train"), SPLITS.index("id_val"), SPLITS.index("ood_val")
ID_TEST, OOD_TEST = SPLITS.index("id_test"), SPLITS.index("ood_test")
LEFT_OUT = -1
GOLDEN = (math.sqrt(5) - 1) / 2
HALF = 0.5 + 1e-9
"""What is added before rounding down; 0.285 of 100 is a hair below its half in binary."""


@dataclass(frozen=True)
class SplitOptions:
    """How groups and rows are shared out: the method ``group``.

    Groups are drawn whatever their labels are, also with ``stratify``: a group that comes later does not come by label.
    A share of a count is the nearest whole number, halves up, and where the share is not 0 at least 1.

    Args:
        ood_val: share of the groups that go, with all their rows, to ood_val; 0 for no such split.
        ood_test: share of the groups that go, with all their rows, to ood_test; 0 for no such split.
        id_share: share of rows held out from each remaining group (at least one row, never all). Half of these groups,
            rounded up, give them to id_val, the rest to id_test. Copies of a row count as one and stay together, unless
            chance alone makes such pairs. 0: no ID splits.
        min_count: groups with fewer rows are left out of the output; the manifest names them.
        stratify: keep each group's label proportions in the held-out rows, rounding so that rare labels are not lost.
        seed: another one gives another split; one seed always the same, in whatever order the rows are.

    Raises:
        InputError: if a share is out of its range, or leaves nothing to train on or nothing to split.
    """

    ood_val: float = 0.15
    ood_test: float = 0.15
    id_share: float = 0.2
    min_count: int = 1
    stratify: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("ood_val", "ood_test", "id_share"):
            check_number(name, getattr(self, name), high=1, below=True)
        if self.ood_val + self.ood_test >= 1:
            raise InputError(
                f"ood_val {self.ood_val} and ood_test {self.ood_test} leave no group to train on; give shares with a "
                "sum below 1"
            )
        if not (self.ood_val or self.ood_test or self.id_share):
            raise InputError("ood_val, ood_test and id_share are all 0, so that nothing is split; give one above 0")
        check_count("min_count", self.min_count)
        check_seed("seed", self.seed)


@dataclass(frozen=True)
class SplitFacts:
    """What one split holds.

    Attributes:
        rows: its rows.
        groups: groups that have rows in it.
        min_group_rows: rows in it of the group with the fewest.
        median_group_rows: median over these groups of their rows in it.
        label_shares: label to its share of the rows.
    """

    rows: int
    groups: int
    min_group_rows: int
    median_group_rows: float
    label_shares: dict[str, float]


def split_by_group(
    rows: pa.Table,
    label: np.ndarray,
    group: np.ndarray,
    group_names: Sequence[str],
    options: SplitOptions,
    *,
    aside: Collection[str] = (),
    source: str = "the table",
) -> np.ndarray:
    """The split of each row.

    Which groups leave training depends on the seed and on their names, which of its rows a group gives away on the seed
    and on what stands in them: never on the order of the rows. Copies of a row in a group stay in one split, unless
    chance alone makes such pairs, in columns of few values.

    Args:
        rows: every column of the table, ``n`` rows.
        label: class number, int64 ``[n]``; numbers must not depend on the order of the rows.
        group: group number, int64 ``[n]``.
        group_names: name by group number, each with rows.
        options: how they are shared out.
        aside: columns that tell no copies apart: those of label and group, and those that only number the rows.
        source: file, for messages.

    Returns:
        Code of each row's split, its place in ``SPLITS``, int64 ``[n]``; -1 in groups with too few rows.

    Raises:
        InputError: if there are too few groups for these splits, or a group has one row and is to give some away.
    """
    count = np.bincount(group, minlength=len(group_names))
    kept = np.flatnonzero(count >= options.min_count)
    if len(kept) == 0:
        raise InputError(
            f"{source}: each group has fewer rows than min_count {options.min_count:,}, the largest {count.max():,}; "
            "give a lower min_count"
        )
    _refuse_single_rows(source, count, kept, group_names, options)
    hashes = hash_rows(pa.table({"group": [group_names[number] for number in kept.tolist()]}), options.seed)
    drawn = kept[np.argsort(hashes, kind="stable")]
    val, test = _groups_of(source, len(drawn), options)
    split_of_group = np.full(len(count), LEFT_OUT)
    split_of_group[drawn] = np.repeat([OOD_VAL, OOD_TEST, TRAIN], [val, test, len(drawn) - val - test])
    split: np.ndarray = split_of_group[group]
    if options.id_share > 0:
        stay = drawn[val + test :]
        id_split = np.full(len(count), LEFT_OUT)
        id_split[stay] = np.where(np.arange(len(stay)) * 2 < len(stay), ID_VAL, ID_TEST)
        cut = _cut_rows(rows, label, group, stay, options, aside)
        split[cut] = id_split[group[cut]]
    return split


def summarise(
    split: np.ndarray, label: np.ndarray, group: np.ndarray, label_names: Sequence[str]
) -> dict[str, SplitFacts]:
    """What each split that has rows holds.

    Args:
        split: code of each row's split, its place in ``SPLITS``, int64 ``[n]``; -1 for none.
        label: class number, int64 ``[n]``.
        group: group number, int64 ``[n]``.
        label_names: name by class number.
    """
    summaries = {}
    for place, name in enumerate(SPLITS):
        inside = split == place
        if inside.any():
            sizes = np.bincount(group[inside])
            sizes = sizes[sizes > 0]
            shares = np.bincount(label[inside], minlength=len(label_names)) / inside.sum()
            summaries[name] = SplitFacts(
                rows=int(inside.sum()),
                groups=len(sizes),
                min_group_rows=int(sizes.min()),
                median_group_rows=float(np.median(sizes)),
                label_shares=dict(zip(label_names, shares.tolist(), strict=True)),
            )
    return summaries


def _refuse_single_rows(
    source: str, count: np.ndarray, kept: np.ndarray, names: Sequence[str], options: SplitOptions
) -> None:
    single = kept[count[kept] == 1].tolist()
    if options.id_share > 0 and single:
        others = f", one of {len(single):,} such groups" if len(single) > 1 else ""
        raise InputError(
            f"{source}: group {names[single[0]]!r} has one row{others}, and id_share {options.id_share} cuts rows from "
            "groups that also train; give min_count=2 to leave such groups out, or id_share=0"
        )


def _groups_of(source: str, groups: int, options: SplitOptions) -> tuple[int, int]:
    """Numbers of groups for OOD validation and OOD test."""
    val, test = (
        max(1, math.floor(share * groups + HALF)) if share > 0 else 0 for share in (options.ood_val, options.ood_test)
    )
    needed = 2 if options.id_share > 0 else 1
    if groups - val - test < needed:
        least = "two, one for id_val and one for id_test" if needed == 2 else "one to train on"
        raise InputError(
            f"{source}: of {groups:,} {'group' if groups == 1 else 'groups'} {val:,} would go to ood_val and {test:,} "
            f"to ood_test, and the rest must be at least {least}; "
            "a share above 0 takes one group at least, so give fewer of them (ood_val=0, ood_test=0 or "
            "id_share=0), smaller ones, or a table of more groups"
        )
    return val, test


def _cut_rows(
    rows: pa.Table,
    label: np.ndarray,
    group: np.ndarray,
    stay: np.ndarray,
    options: SplitOptions,
    aside: Collection[str],
) -> np.ndarray:
    """Which rows are cut from the groups that stay, bool ``[n]``.

    Each group's rows are laid out by hash, and if asked for by label first, and every n-th row is cut. So the cut of
    each label is its share rounded up or down; which of both, the start decides, that is spread evenly over the groups.
    """
    hashes = hash_rows(rows, options.seed)
    first_by = label if options.stratify else None
    order, first, unit = copies_as_one(rows, group, label, hashes, first_by, aside)
    cut = np.zeros(len(order), dtype=bool)
    cut[order] = _every_nth(group[order][first], stay, options.id_share)[unit]
    return cut


def _every_nth(group: np.ndarray, stay: np.ndarray, share: float) -> np.ndarray:
    """Which of the rows are cut, bool ``[n]``, by their groups, which ascend."""
    count = np.bincount(group)
    quota, start = np.zeros_like(count), np.zeros_like(count)
    quota[stay] = np.clip(np.floor(share * count[stay] + HALF), 1, count[stay] - 1)
    start[stay] = np.arange(1, len(stay) + 1) * GOLDEN % 1 * count[stay]
    place = np.arange(len(group)) - (np.cumsum(count) - count)[group]
    before = place * quota[group] + start[group]
    cut: np.ndarray = (before + quota[group]) // count[group] > before // count[group]
    return cut
