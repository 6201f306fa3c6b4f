"""What a method did: the weights in force in each epoch, and the ranks and accuracies they came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.utilities.rank_zero import rank_zero_warn

from drurank.callbacks.pictures import folder_of, keep_picture
from drurank.errors import InputError, check_choice, check_count
from drurank.run_folder.layout import WEIGHTS_PICTURE
from drurank.run_folder.place import run_folder
from drurank.run_folder.weights import Epoch, Form, WeightsTable, weights_of, weights_table
from drurank.training.hyperparameters import log_training_set
from drurank.training.resume import log_what_is_missing

if TYPE_CHECKING:
    from drurank.methods import GroupModule

LARGE = 1 << 28
"""Bytes of all epochs above which you are told how much it will be."""
FIGURES = {"csv": 45, "parquet": 12}
"""Bytes of accuracy, rank and weights in a row, about."""


class GroupHistory(Callback):
    """Writes ``weights.csv`` into the run's folder, one row an epoch and group, and ``weights.png`` at the fit's end.

    The row of epoch ``t`` has the weights in force in that epoch beside what they were made from: ``epoch, group,
    count, accuracy, rank, mean_weight, max_weight``. Count, accuracy and rank are those known at the end of epoch
    ``t - 1``, by the predictions that rank the groups (empty in epoch 0); the mean and the maximum are over the group's
    training samples. For ERM the predictions are those made while it trained. The last rows, of the epoch after the
    last, hold where the run ended. The picture, weight by rank over epochs, is drawn where the weights differ; a
    TensorBoard, W&B or MLflow logger gets it too.

    A row of CSV takes some 60 bytes: 100,000 groups and 50 epochs make 300 MB. You are told at the start where all will
    be more than 250 MB.

    Args:
        every_n_epochs: write each ``n``-th epoch only, from epoch 0, and where the run ended.
        form: ``csv``, or ``parquet`` for a folder ``weights`` with a file an epoch, of a third of the size.
    """

    def __init__(self, every_n_epochs: int = 1, form: Form = "csv") -> None:
        check_count("every_n_epochs", every_n_epochs)
        check_choice("form", form, Form)
        self.every_n_epochs, self.form = every_n_epochs, form
        self._table: WeightsTable | None = None

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
        self._write(trainer, pl_module, trainer.current_epoch, every=self.every_n_epochs)

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
        idle = self._table is None and not method.state and train is not None
        if idle:
            log_training_set(trainer)  # as at the start of a training
            log_what_is_missing(trainer, (method.progress.restored or {}).get("unlogged"))
        if idle and weights_of(folder).count(trainer.current_epoch) < train.num_training_groups:
            method.begin_tables(train)
            self._write(trainer, method, trainer.current_epoch)
        self._draw(trainer)

    def _write(self, trainer: Any, method: Any, epoch: int, every: int = 1) -> None:
        train = trainer.train_dataloader.dataset
        folder = folder_of(trainer)
        if folder is None or not train.num_training_groups:
            return
        table = weights_table(folder, self.form)
        begins = self._table is None or self._table.path != table.path
        if begins:
            table.begin(epoch)
            self._table = table
        if epoch % every == 0:
            size = table.write(epoch, history_rows(method, train.group_names, epoch))
            if begins:
                # In the first epoch nothing is known of the groups yet.
                unknown = 0 if epoch else train.num_training_groups * FIGURES[self.form]
                self._say_size(trainer, size + unknown)

    def _say_size(self, trainer: Any, of_one: int) -> None:
        left = trainer.max_epochs - trainer.current_epoch if trainer.max_epochs > 0 else 1
        whole = of_one * -(-left // self.every_n_epochs)
        if whole > LARGE:
            instead = "" if self.form == "parquet" else " and form='parquet'"
            rank_zero_warn(
                f"the weights by group take {of_one / 1e6:,.0f} MB an epoch, and about {whole / 1e9:.1f} GB in all; "
                f"for less give GroupHistory every_n_epochs={max(2, -(-left // 10))}{instead}"
            )

    def _draw(self, trainer: Trainer) -> None:
        from drurank.report.pictures import draw_weights  # here, since matplotlib is slow to import

        folder = folder_of(trainer)
        if folder is None or trainer.current_epoch <= 1:
            return
        table = weights_of(folder)
        if not _differ(table):
            return
        # The rows of the epoch after the last hold weights that were never in force.
        known = (_ranked(one) for one in table.epochs() if one[0] < trainer.current_epoch)
        keep_picture(draw_weights(known), folder / WEIGHTS_PICTURE, trainer.loggers)


def history_rows(method: GroupModule, group_names: list[str], epoch: int) -> pa.Table:
    """One row a training group: what it is ranked by and how much it weighs; see ``GroupHistory``."""
    record, weight = method.record, method.state["weight"]
    accuracy, count = record.group_accuracy(shrink=method.evaluation.shrink)
    columns = {"count": count, "accuracy": accuracy, "rank": method.group_rank(method.ranked_accuracy(record))}
    columns |= {"mean_weight": record.group_mean(weight), "max_weight": record.group_max(weight)}
    table = {name: pa.array(value.cpu().numpy(), from_pandas=True) for name, value in columns.items()}
    size = record.num_groups
    return pa.table({"epoch": [epoch] * size, "group": pa.array(group_names[:size], pa.string()), **table})


def _differ(table: WeightsTable) -> bool:
    """Whether any two weights differ; one epoch at a time is in memory."""
    low, high = np.inf, -np.inf
    for _, _, weight in table.epochs():
        known = weight[~np.isnan(weight)]
        low, high = min(low, known.min(initial=np.inf)), max(high, known.max(initial=-np.inf))
        if high > low:
            return True
    return False


def _ranked(epoch: Epoch) -> Epoch:
    """The groups of an epoch that have a rank."""
    number, rank, weight = epoch
    return number, rank[~np.isnan(rank)], weight[~np.isnan(rank)]
