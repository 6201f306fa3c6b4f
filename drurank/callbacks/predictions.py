"""Predictions as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import torch
import torch.distributed as dist
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import BasePredictionWriter
from torch import Tensor

from drurank.callbacks.pictures import folder_of
from drurank.files import replace_file
from drurank.run_folder.layout import PREDICTIONS_FILE
from drurank.training.loaders import as_list


class PredictionWriter(BasePredictionWriter):
    """Ends ``predict`` with ``predictions.parquet`` in the run's folder.

    Its columns: ``row`` (place in the source, from 0), ``split``, ``group``, ``label`` (empty where the data has none),
    ``prediction``, and ``probabilities``, a list in the order of the labels that the column's metadata names.
    """

    def __init__(self) -> None:
        super().__init__(write_interval="epoch")

    def write_on_epoch_end(
        self, trainer: Trainer, pl_module: LightningModule, predictions: Sequence[Any], batch_indices: Sequence[Any]
    ) -> None:
        """Gather the predictions of all processes and write them by split and row."""
        datasets = [loader.dataset for loader in as_list(trainer.predict_dataloaders)]
        by_loader = predictions if len(datasets) > 1 else [predictions]
        names = getattr(trainer.datamodule, "label_names", None)  # type: ignore[attr-defined]
        gathered = [_gather(batches) for batches in by_loader]
        folder = folder_of(trainer)
        if folder is None:
            return
        tables = [_table(rows, dataset, names) for rows, dataset in zip(gathered, datasets, strict=True)]
        table = pa.concat_tables(tables).sort_by([("split", "ascending"), ("row", "ascending")])
        file = folder / PREDICTIONS_FILE
        replace_file(file, lambda path: pa_parquet.write_table(table, path))
        print(f"{table.num_rows:,} predictions in {file}")


def _gather(batches: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    mine = {key: torch.cat([batch[key].cpu() for batch in batches]) for key in batches[0]}
    if not (dist.is_available() and dist.is_initialized()):
        return mine
    everyone: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, mine)
    return {key: torch.cat([rows[key] for rows in everyone]) for key in mine}


def _table(rows: dict[str, Tensor], dataset: Any, label_names: list[str] | None) -> pa.Table:
    classes = rows["probability"].shape[1]
    names = label_names or [str(i) for i in range(classes)]
    probability = pa.FixedSizeListArray.from_arrays(rows["probability"].numpy().reshape(-1), classes)
    field = pa.field("probabilities", probability.type, metadata={"labels": "\n".join(names)})
    columns = {
        "row": pa.array(dataset.rows[rows["index"]].numpy()),
        "split": pa.array([dataset.split or "predict"] * len(rows["index"]), pa.string()),
        "group": _named(rows["group"], dataset.group_names),
        "label": _named(rows["label"], names),
        "prediction": _named(rows["prediction"], names),
    }
    schema = pa.schema([*(pa.field(name, array.type) for name, array in columns.items()), field])
    return pa.Table.from_arrays([*columns.values(), probability], schema=schema)


def _named(number: Tensor, names: Sequence[str]) -> pa.Array:
    found = np.array([*names, None], dtype=object)[number.clamp(min=-1).numpy()]
    return pa.array(found, pa.string())
