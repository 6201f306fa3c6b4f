"""Counts by group of every validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
from lightning.pytorch import Callback, LightningModule

from drurank.callbacks.pictures import folder_of
from drurank.errors import InputError
from drurank.methods import GroupModule
from drurank.report import SplitCounts
from drurank.report.classes import ClassCounts
from drurank.report.count_tables import counts_table
from drurank.run_folder.group_counts import write_checked
from drurank.run_folder.layout import validation_file


class ValidationCounts(Callback):
    """Writes ``validation/epoch_<t>.parquet`` into the run's folder at each validation of a fit: counts by group.

    Its columns are ``split, group, count, correct``, one row a validation split and group with samples. From them every
    criterion of every epoch is computed again without the model.
    """

    def on_validation_end(self, trainer: Any, pl_module: LightningModule) -> None:
        """Write the counts of the epoch."""
        if trainer.state.fn != "fit" or trainer.sanity_checking:
            return
        if not isinstance(pl_module, GroupModule):
            name = type(pl_module).__name__
            raise InputError(f"ValidationCounts reads the counts of a GroupModule, and the model is a {name}")
        splits = split_counts(pl_module)
        folder = folder_of(trainer)
        if folder is None:
            return
        table = pa.concat_tables(map(counts_table, splits))
        overlap = any(split.overlap for split in splits)
        write_checked(table, validation_file(folder, trainer.current_epoch), overlap=overlap)


def split_counts(method: GroupModule, classes: Mapping[str, ClassCounts] | None = None) -> list[SplitCounts]:
    """Counts by group of the splits of the last evaluation; every process must call it.

    Args:
        method: what was evaluated.
        classes: the same rows by class, for the splits where that is known.
    """
    found = []
    for split in method.evaluation.splits:
        correct, count = (counted.cpu().numpy() for counted in split.criteria.counts())
        well, every = split.whole()
        names, seen = split.dataset.group_names, split.dataset.num_seen
        counts = SplitCounts.of_some(split.name, names, correct, count, seen, (classes or {}).get(split.name))
        found.append(replace(counts, whole=(int(well), int(every))) if split.record.overlap else counts)
    return found
