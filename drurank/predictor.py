"""Predictions of new rows in Python, by a run or a checkpoint, without a trainer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
import torch
from lightning.pytorch.utilities.model_helpers import is_overridden

from drurank.callbacks.predictions import named
from drurank.cli.restored import Restored, restore
from drurank.data import Images, Text
from drurank.data.file import FileData
from drurank.data.new_rows import with_rows
from drurank.errors import InputError
from drurank.methods.group_module import TRANSFER_HOOKS
from drurank.tabular.given import as_table, name_of


@dataclass(frozen=True)
class Predictions:
    """What is predicted of some rows, in their order.

    Attributes:
        row: place of each among the rows that were given, int64 ``[n]``; those that ``missing="drop"`` leaves out are
            not there.
        label: the predicted one, as training wrote it, ``[n]``.
        probability: of each class, float32 ``[n, C]``.
        labels: those of the ``C`` classes, in that order.
    """

    row: np.ndarray
    label: np.ndarray
    probability: np.ndarray
    labels: list[str]


class Predictor:
    """Predicts rows as the command ``predict`` does: read, encoded and warned of as there, in float32.

    ``Predictor.load(run)`` makes one. It takes rows as a DataFrame (pandas, polars), an Arrow table, a list of dicts, a
    dict of lists or the path of a file; they need neither labels nor groups nor splits.

    Args:
        restored: the method and the data of a checkpoint.
        device: what it computes on.

    Raises:
        InputError: if the checkpoint is of data that no rows can be given for, or there is no such device.
    """

    def __init__(self, restored: Restored, device: str | torch.device = "cpu") -> None:
        data = restored.data
        if not isinstance(data, FileData):
            kind = "data of your own" if data is None else type(data).__name__
            raise InputError(f"{restored.file} learnt from {kind}; Predictor reads what Table, Text and Images do")
        data.check_encoded()
        self.data, self.method = data, restored.method
        try:
            self.device = torch.device(device)
            self.method.to(self.device)
        except (RuntimeError, AssertionError) as error:
            said = " ".join(str(error).split())[:200]
            raise InputError(f"device is {device!r}, which cannot be used ({said}); give 'cpu'") from error

    @classmethod
    def load(
        cls,
        run: str | Path,
        *,
        criterion: str | None = None,
        device: str | torch.device = "cpu",
        **options: Any,
    ) -> Self:
        """The predictor of a run, or of one checkpoint.

        Args:
            run: folder of a run that `fit` made, or a checkpoint; of one outside of a run's folder the data's options
                are not known, and are given where they are not the usual ones.
            criterion: by which criterion of the run's selection its checkpoint is chosen; the first, if not given.
            device: what it computes on, as ``cuda``.
            **options: of ``Table``, ``Text`` or ``Images``, in place of the run's, as ``missing="indicator"`` or
                ``eval_batch_size=4096``.

        Raises:
            InputError: if there is none, or it cannot be used.
        """
        return cls(restore(run, criterion, **options), device)

    def __call__(self, rows: Any) -> Predictions:
        """As ``predict``."""
        return self.predict(rows)

    def predict(self, rows: Any) -> Predictions:
        """Predict rows.

        Args:
            rows: a DataFrame, an Arrow table, a list of dicts, a dict of lists, or the path of a file.

        Raises:
            InputError: if they are none of these, or cannot be read as training read its own.
        """
        table = as_table(rows)
        with TemporaryDirectory(prefix="drurank_", ignore_cleanup_errors=True) as scratch:
            data = with_rows(self.data, table, self.method, name_of(rows))
            if isinstance(data, Text) or (isinstance(data, Images) and data.backbone):
                data.cache_dir = scratch  # These rows are hardly seen again.
            elif isinstance(data, Images):
                data.cache_dir = None
            data.setup("predict")
            loaders = data.predict_dataloader()
            found = [self._batch(data, batch, loader.dataset) for loader in loaders for batch in loader]
        row, prediction, probability = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.argsort(row, kind="stable")
        label = named(torch.from_numpy(prediction[order]), data.label_names).to_numpy(zero_copy_only=False)
        return Predictions(row[order], label, probability[order], data.label_names[: probability.shape[1]])

    def _batch(self, data: FileData, batch: Any, dataset: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        with torch.inference_mode():
            for name in TRANSFER_HOOKS:
                owner: Any = data if is_overridden(name, data) else self.method
                moved = (self.device,) if name == "transfer_batch_to_device" else ()
                batch = getattr(owner, name)(batch, *moved, 0)
            found = {key: value.cpu() for key, value in self.method.predict_step(batch, 0).items()}
        row = dataset.rows[found["index"]]
        return row.numpy(), found["prediction"].numpy(), found["probability"].numpy()
