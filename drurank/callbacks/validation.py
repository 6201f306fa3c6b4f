"""Counts by group of every validation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pa_parquet
from lightning.pytorch import Callback, LightningModule

from drurank.errors import InputError
from drurank.files import replace_file
from drurank.methods import GroupModule
from drurank.report import SplitCounts
from drurank.training.loaders import as_list

VALIDATION_FOLDER = "validation"


class ValidationCounts(Callback):
    """Writes ``validation/epoch_<t>.parquet`` into the run's folder at each validation of a fit: counts by group.

    Its columns are ``split, group, count, correct``, one row a validation part and group with samples. From them every
    criterion of every epoch is computed again without the model.
    """

    def on_validation_end(self, trainer: Any, pl_module: LightningModule) -> None:
        """Write the counts of the epoch."""
        if trainer.state.fn != "fit" or trainer.sanity_checking:
            return
        if not isinstance(pl_module, GroupModule):
            name = type(pl_module).__name__
            raise InputError(f"ValidationCounts reads the counts of a GroupModule, and the model is a {name}")
        loaders = [loader.dataset for loader in as_list(trainer.val_dataloaders)]
        parts = [dataset for dataset in loaders if dataset.split != "train"]
        counts = [tuple(value.cpu().numpy() for value in metric.counts()) for metric in pl_module.evaluated.values()]
        folder = trainer.log_dir  # asks all processes
        if folder is None or trainer.fast_dev_run or not trainer.is_global_zero:
            return
        tables = []
        for dataset, (correct, count) in zip(parts, counts, strict=True):
            some = SplitCounts.of_some(dataset.split or "val", dataset.group_names, correct, count, None)
            size = len(some.groups)
            tables.append(
                pa.table(
                    {
                        "split": pa.array([some.split] * size, pa.string()),
                        "group": pa.array(list(some.groups), pa.string()),
                        "count": some.count,
                        "correct": some.correct,
                    }
                )
            )
        file = Path(folder) / VALIDATION_FOLDER / f"epoch_{trainer.current_epoch:04}.parquet"
        table = pa.concat_tables(tables)
        replace_file(file, lambda path: pa_parquet.write_table(table, path))
