"""What a fit says of its table before it begins."""

from __future__ import annotations

from lightning.pytorch.utilities.rank_zero import rank_zero_info, rank_zero_warn

from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules.cells import joined_values, missing_cells, padded_cells
from drurank.tabular.rules.groups import unseen_groups
from drurank.tabular.rules.labels import unlabelled_splits
from drurank.tabular.rules.odd import odd_columns
from drurank.tabular.rules.sentinels import sentinels
from drurank.tabular.rules.spelling import names_alike
from drurank.tabular.taken import columns_taken, sum_up

TOLD = (
    unlabelled_splits,
    odd_columns,
    names_alike,
    unseen_groups,
    padded_cells,
    joined_values,
    missing_cells,
    sentinels,
)
"""Of what ``inspect`` finds, that which leaves a run without what was meant, and which is quick to find."""

NOTED = ("padded_cells", "joined_values", "missing_cells", "spelling", "codes", "sentinels")
"""Codes of notes of these that are said too."""


def say_taken(data: GroupedRows) -> None:
    """Say how each column is taken, warn of what is likely meant otherwise, and note what was left out of names."""
    rank_zero_info(f"{data.source}: {sum_up(columns_taken(data))}")
    for check in TOLD:
        for finding in check(data):
            if finding.severity == "warning":
                rank_zero_warn(f"{data.source}: {finding.sentence}")
            elif finding.code in NOTED:
                rank_zero_info(f"{data.source}: {finding.sentence}")
