"""Predictions as a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import BasePredictionWriter
from torch import Tensor

from drurank.callbacks.pictures import folder_of
from drurank.data.file import FileData
from drurank.errors import InputError
from drurank.files import refuse_existing
from drurank.methods import GroupModule
from drurank.processes import gather_objects
from drurank.run_folder.layout import OF_CLASS, PREDICTIONS_FILE, PROBABILITIES, SEEN
from drurank.tabular.columns import Names
from drurank.tabular.formats import PARQUET, WRITTEN
from drurank.tabular.several import read_files
from drurank.tabular.writing import write_table
from drurank.terminal import say
from drurank.training.loaders import as_list
from drurank.words import as_names, counted

COLUMNS = ("row", "split", "group", SEEN, "label", "prediction", PROBABILITIES)
OF_DATA = ("split", "group", SEEN, "label")


class PredictionWriter(BasePredictionWriter):
    """Ends ``predict`` with a table of the predictions, ``predictions.parquet`` in the run's folder.

    Its columns: ``row`` (place in the source, from 0), ``split``, ``group``, ``seen_in_training`` (whether training has
    the group), ``label`` (each only where a row has one), ``prediction``, and ``probabilities``, a list in the order of
    the labels that the column's metadata names.

    Args:
        keep: columns of the data to write beside the predictions, as ids; a list or one string with commas.
        output: file of the predictions; its ending says the format: .parquet, .csv or .tsv.
            ``<run>/predictions.parquet``, if not given. Whatever the data calls them, its columns are row, split,
            group, seen_in_training (whether training has the group) and label (each only where some row has one),
            prediction, and the probabilities.
        overwrite: replace that file if it exists.
        by_class: write a column ``probability_<label>`` for each class instead of the list, as text formats always do.

    Raises:
        InputError: if the format is unknown, a kept column has the name of one of these, or the file exists.
    """

    def __init__(
        self, keep: Names = None, output: str | None = None, by_class: bool = False, overwrite: bool = False
    ) -> None:
        super().__init__(write_interval="epoch")
        self.keep, self.by_class, self.overwrite = as_names(keep), by_class, overwrite
        self.output = None if output is None else Path(output).expanduser()
        self.written: tuple[pa.Table, Path] | None = None
        self._checked: Any = None
        """The data for which the output was checked, until it is written."""
        if self.output is not None and self.output.suffix.lower() not in WRITTEN:
            raise InputError(f"output is {output!r}; give a name that ends in {', '.join(WRITTEN)}")
        taken = [name for name in self.keep if name in COLUMNS or name.startswith(OF_CLASS)]
        if taken:
            raise InputError(
                f"keep names {taken[0]!r}, as predictions call a column of their own; rename it, or leave it out"
            )

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Check the options before anything is predicted.

        Raises:
            InputError: if the model is no ``GroupModule``, or an option cannot be met.
        """
        if stage == "predict" and not isinstance(pl_module, GroupModule):
            raise InputError(
                f"PredictionWriter writes what a GroupModule predicts, and the model is a {type(pl_module).__name__}; "
                "rebase it on GroupModule, or leave PredictionWriter out"
            )
        if stage == "predict":
            data = trainer.datamodule  # type: ignore[attr-defined]
            if self._checked is None or self._checked is not data:
                self.check_early(data)
            self.check_kept(data)

    def check_early(self, data: Any) -> None:
        """Refuse, before rows are read, to write over the data or a file unasked, and what surely is no column.

        Raises:
            InputError: naming the column or the file.
        """
        files = [] if self.output is None else [self.output]
        refuse_existing(files, overwrite=self.overwrite, inputs=read_files(data))
        if self.keep and isinstance(data, FileData):
            data.refuse_unknown(self.keep)
        self._checked = data

    def check_kept(self, data: Any) -> None:
        """Refuse columns to keep that the data, which is read for it, does not have.

        Raises:
            InputError: naming the column.
        """
        if self.keep:
            self._kept(data, np.zeros(0, np.int64))

    def write_on_epoch_end(
        self, trainer: Trainer, pl_module: LightningModule, predictions: Sequence[Any], batch_indices: Sequence[Any]
    ) -> None:
        """Gather the predictions of all processes and write them in the order of the rows of the data."""
        self._checked = None
        datasets = [loader.dataset for loader in as_list(trainer.predict_dataloaders)]
        by_loader = predictions if len(datasets) > 1 else [predictions]
        data = trainer.datamodule  # type: ignore[attr-defined]
        names = getattr(data, "label_names", None)
        gathered = [_gather(batches) for batches in by_loader]
        folder = None if self.output is not None else folder_of(trainer)  # asks all processes
        file = self.output if folder is None else folder / PREDICTIONS_FILE
        if not trainer.is_global_zero or trainer.fast_dev_run or file is None:  # type: ignore[attr-defined]
            return
        by_class = self.by_class or file.suffix.lower() not in PARQUET
        tables = [_table(rows, dataset, names, by_class) for rows, dataset in zip(gathered, datasets, strict=True)]
        table = _without_empty(pa.concat_tables(tables).sort_by([("row", "ascending"), ("split", "ascending")]))
        if self.keep:
            kept = self._kept(data, table["row"].to_numpy())
            for place, name in enumerate(self.keep):
                table = table.add_column(1 + place, name, kept[name])
        write_table(table, file)
        self.written = table, file
        say(f"{counted(table.num_rows, 'prediction')} in {file}")

    def _kept(self, data: Any, rows: np.ndarray) -> pa.Table:
        if not hasattr(data, "source_columns"):
            raise InputError(f"keep is {','.join(self.keep)!r}, and {type(data).__name__} has no columns; leave it out")
        kept: pa.Table = data.source_columns(self.keep, rows)
        return kept


def _gather(batches: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    mine = {key: torch.cat([batch[key].cpu() for batch in batches]) for key in batches[0]}
    everyone = gather_objects(mine)
    return {key: torch.cat([rows[key] for rows in everyone]) for key in mine}


def _table(rows: dict[str, Tensor], dataset: Any, label_names: list[str] | None, by_class: bool) -> pa.Table:
    probability = rows["probability"].numpy()
    classes = probability.shape[1]
    names = label_names or [str(i) for i in range(classes)]
    columns = {
        "row": pa.array(dataset.rows[rows["index"]].numpy()),
        "split": pa.array([dataset.split] * len(rows["index"]), pa.string()),
        "group": named(rows["group"], dataset.group_names),
        SEEN: _seen(rows["group"], dataset.num_seen),
        "label": named(rows["label"], names),
        "prediction": named(rows["prediction"], names),
    }
    fields = [pa.field(name, array.type) for name, array in columns.items()]
    if by_class:
        found = {f"{OF_CLASS}{name}": pa.array(probability[:, number]) for number, name in enumerate(names[:classes])}
        fields += [pa.field(name, array.type) for name, array in found.items()]
        return pa.Table.from_arrays([*columns.values(), *found.values()], schema=pa.schema(fields))
    listed = pa.FixedSizeListArray.from_arrays(probability.reshape(-1), classes)
    fields.append(pa.field(PROBABILITIES, listed.type, metadata={"labels": "\n".join(names)}))
    return pa.Table.from_arrays([*columns.values(), listed], schema=pa.schema(fields))


def _seen(group: Tensor, trained: int | None) -> pa.Array:
    """Whether training has the group of each row; null where it has none, or that is not known."""
    known = group.numpy() >= 0 if trained is not None else np.zeros(len(group), dtype=bool)
    return pa.array(group.numpy() < (trained or 0), pa.bool_(), mask=~known)


def _without_empty(table: pa.Table) -> pa.Table:
    """The table without what the data has of no row, as labels of new rows."""
    return table.drop_columns([name for name in OF_DATA if table[name].null_count == table.num_rows])


def named(number: Tensor, names: Sequence[str]) -> pa.Array:
    """Names of these numbers, int64 ``[n]``; null where one is negative."""
    found = np.array([*names, None], dtype=object)[number.clamp(min=-1).numpy()]
    return pa.array(found, pa.string())
