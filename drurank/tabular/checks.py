"""What makes groups useless, told before a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from drurank.errors import InputError
from drurank.tabular.columns import Column

REMEDY = {"ood_val": "val", "ood_test": "test"}
"""Parts whose groups training must lack, and what to call such a part where it has them."""


def refuse_seen_groups(
    split: Column, meant: str, rows: np.ndarray, group: np.ndarray, names: Sequence[str], num_seen: int
) -> None:
    """Stop if a part that is to hold groups unseen in training holds others.

    Args:
        split: column of the split.
        meant: the part, as ``ood_test``; any but these is let pass.
        rows: its places in the file, int64 ``[n]``.
        group: number of each row's group, int64 ``[n]``, -1 for none.
        names: name of each group by number.
        num_seen: number of the groups of training, which come first.

    Raises:
        InputError: naming the first such row.
    """
    seen = (group >= 0) & (group < num_seen)
    if meant not in REMEDY or not seen.any():
        return
    place = int(np.argmax(seen))
    written = split.texts[split.codes[rows[place]]]
    raise split.error(
        int(rows[place]),
        f"is for groups that training lacks, and the row's group {names[group[place]]!r} has rows there "
        f"(one of {seen.sum():,} such rows); mend the split or the group, or call the part what it is by "
        f"--data.split_names '{{{written}: {REMEDY[meant]}}}'",
    )


def refuse_label_as_group(group: Column, label: Column) -> None:
    """Stop if each group is one label and each label one group: accuracy by group is then recall by class.

    Raises:
        InputError: if so in every row that has both.
    """
    both = (group.codes >= 0) & (label.codes >= 0)
    pairs = np.unique(np.stack([group.codes[both], label.codes[both]]), axis=1)
    if pairs.shape[1] and all(len(np.unique(side)) == pairs.shape[1] for side in pairs):
        raise InputError(
            f"{group.path}: the group, column {group.name!r}, says in every row what the label {label.name!r} says; "
            f"name another, or several of which it is one (--data.group {group.name},<another>)"
        )
