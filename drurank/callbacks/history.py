"""What a method did: the weights in force in each epoch, and the ranks and accuracies they came from."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.utilities.rank_zero import rank_zero_warn

from drurank.callbacks.pictures import folder_of, keep_picture
from drurank.errors import InputError
from drurank.files import begins_with, replace_file
from drurank.run_folder.layout import WEIGHTS_FILE, WEIGHTS_PICTURE
from drurank.run_folder.place import run_folder
from drurank.training.hyperparameters import log_training_set

if TYPE_CHECKING:
    from drurank.methods import GroupModule

COLUMNS = ("epoch", "group", "count", "accuracy", "rank", "mean_weight", "max_weight")


class GroupHistory(Callback):
    """Writes ``weights.csv`` into the run's folder, one row an epoch and group, and ``weights.png`` at the fit's end.

    The row of epoch ``t`` has the weights in force in that epoch beside what they were made from: ``epoch, group,
    count, accuracy, rank, mean_weight, max_weight``. Count, accuracy and rank are those known at the end of epoch
    ``t - 1``, by the predictions that rank the groups (empty in epoch 0); the mean and the maximum are over the group's
    training samples. For ERM the predictions are those made while it trained. The last rows, of the epoch after the
    last, hold where the run ended. The picture, weight by rank over epochs, is drawn where the weights differ; a
    TensorBoard, W&B or MLflow logger gets it too.
    """

    def __init__(self) -> None:
        self._begun: Path | None = None

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Look at the model.

        Raises:
            InputError: if it is no ``GroupModule``.
        """
        from drurank.methods import GroupModule  # here, since methods are slow to import

        if not isinstance(pl_module, GroupModule):
            raise InputError(
                f"GroupHistory writes the weights of a GroupModule, and the model is a {type(pl_module).__name__}; "
                "rebase it on a method such as ERM, or leave GroupHistory out"
            )

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write the weights that come into force."""
        self._write(trainer, pl_module, trainer.current_epoch)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write where the run ended."""
        self._write(trainer, pl_module, trainer.current_epoch)

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Draw the weights; write first where a run ended that was killed between its last checkpoint and its end."""
        method: Any = pl_module
        train: Any = getattr(trainer.train_dataloader, "dataset", None)
        if trainer.fast_dev_run:  # type: ignore[attr-defined]
            return
        folder = run_folder(trainer)
        idle = self._begun is None and not method.state and train is not None
        if idle:
            log_training_set(trainer)  # as at the start of a training
        if idle and _count_rows(folder / WEIGHTS_FILE, trainer.current_epoch) < train.num_training_groups:
            method.begin_tables(train)
            self._write(trainer, method, trainer.current_epoch)
        self._draw(trainer)

    def _write(self, trainer: Any, method: Any, epoch: int) -> None:
        train = trainer.train_dataloader.dataset
        folder = folder_of(trainer)
        if folder is None or not train.num_training_groups:
            return
        file = folder / WEIGHTS_FILE
        if self._begun != file or not begins_with(file, ",".join(COLUMNS)):
            if self._begun == file:
                rank_zero_warn(
                    f"{file} was removed or changed while the run trained; it is written anew from epoch {epoch} on, "
                    "with what could be read of it"
                )
            replace_file(file, lambda beside: _copy_before(epoch, file, beside))
            self._begun = file
        rows = history_rows(method, train.group_names, epoch)
        with file.open("ab") as out:
            pa_csv.write_csv(rows, out, pa_csv.WriteOptions(include_header=False))

    def _draw(self, trainer: Trainer) -> None:
        from drurank.report.pictures import draw_weights  # here, since matplotlib is slow to import

        folder = folder_of(trainer)
        if folder is None or not (folder / WEIGHTS_FILE).is_file() or trainer.current_epoch <= 1:
            return
        table = pa_csv.read_csv(folder / WEIGHTS_FILE)
        weights = table["mean_weight"].drop_null().to_numpy()
        if len(weights) == 0 or float(weights.max()) <= float(weights.min()):
            return
        # The rows of the epoch after the last hold weights that were never in force.
        known = table.filter(pc.and_(pc.is_valid(table["rank"]), pc.less(table["epoch"], trainer.current_epoch)))
        columns = (known[name].to_numpy() for name in ("epoch", "rank", "mean_weight"))
        keep_picture(draw_weights(*columns), folder / WEIGHTS_PICTURE, trainer.loggers)


def history_rows(method: GroupModule, group_names: list[str], epoch: int) -> pa.Table:
    """One row a training group: what it is ranked by and how much it weighs; see ``GroupHistory``."""
    record, weight = method.record, method.state["weight"]
    accuracy, count = record.group_accuracy(shrink=method.evaluation.shrink)
    columns = {"count": count, "accuracy": accuracy, "rank": method.group_rank(accuracy)}
    columns |= {"mean_weight": record.group_mean(weight), "max_weight": record.group_max(weight)}
    table = {name: pa.array(value.cpu().numpy(), from_pandas=True) for name, value in columns.items()}
    size = record.num_groups
    return pa.table({"epoch": [epoch] * size, "group": pa.array(group_names[:size], pa.string()), **table})


def _count_rows(file: Path, epoch: int) -> int:
    if not file.is_file():
        return 0
    with file.open(encoding="utf-8") as lines:
        return sum(line.startswith(f"{epoch},") for line in lines)


def _copy_before(epoch: int, old: Path, new: Path) -> None:
    # A resumed run goes on in its file: rows of epochs that are trained again go, and so does one torn by a kill.
    # Row by row, since a run of many groups and epochs has a file of gigabytes.
    with new.open("w", newline="", encoding="utf-8") as kept:
        out = csv.writer(kept)
        out.writerow(COLUMNS)
        try:
            out.writerows(_rows_before(epoch, old))
        except (ValueError, csv.Error) as error:
            raise InputError(
                f"{old} is damaged: {' '.join(str(error).split())[:200]}; move it away to go on without earlier epochs"
            ) from error


def _rows_before(epoch: int, file: Path) -> Iterator[list[str]]:
    if file.is_file():
        with file.open(newline="", encoding="utf-8") as lines:
            for row in csv.reader(lines):
                if len(row) == len(COLUMNS) and row[0].isdigit() and int(row[0]) < epoch:
                    yield row
