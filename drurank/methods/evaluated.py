"""What a method does in evaluation: it counts by group what is right, logs the criteria, and predicts."""

from __future__ import annotations

from typing import Any

import torch
from lightning.pytorch import LightningModule
from torch import Tensor, nn

from drurank.criteria import criterion, criterion_of_key, default_criteria
from drurank.errors import InputError, is_count
from drurank.metrics import GroupCriteria, predicted_class
from drurank.training.evaluation import Evaluation, class_probabilities, is_right
from drurank.training.loaders import as_list, dataset_of
from drurank.training.record import EpochRecord

ENTRIES = ("inputs", "label", "group", "index")
"""What a batch holds."""


class EvaluatedModule(LightningModule):
    """A network that is validated and tested by the accuracy of groups.

    Args:
        network: scores ``[B, C]`` from a tensor or keyword arguments; ``None`` where it is yet to be built.
        min_count: criteria leave out groups with fewer samples.
        shrink: criteria take as a group's accuracy its posterior mean.

    Raises:
        InputError: if ``min_count`` is less than 1.
    """

    def __init__(self, network: nn.Module | None, min_count: int, shrink: bool) -> None:
        super().__init__()
        if not is_count(min_count):
            raise InputError(f"min_count is {min_count!r}; give an int of 1 or more")
        self.network, self.min_count, self.shrink = network, min_count, shrink
        self.criteria_names: tuple[str, ...] = default_criteria()
        self.evaluated: dict[str, GroupCriteria] = {}
        """Counts of the last evaluation, key prefix (``val``, ``id_test``) to metric."""

    @property
    def forwards_itself(self) -> bool:
        """Whether the class has a ``forward`` of its own, as a rebased module has, and so needs no ``network``."""
        return type(self).forward is not EvaluatedModule.forward

    def forward(self, inputs: Tensor | dict[str, Tensor]) -> Tensor:
        """Logits, float ``[B, C]``, from a tensor or the network's keyword arguments."""
        if self.network is None:
            raise InputError("the network is not built yet; fit first, or load a checkpoint")
        logits: Tensor = self.network(**inputs) if isinstance(inputs, dict) else self.network(inputs)
        return logits

    def unpack(self, batch: Any) -> dict[str, Any]:
        """A batch as a dict; overridden where loaders of your own give another kind.

        Args:
            batch: what a loader gave, on the device: such a dict, or a tuple of its four entries in their order.

        Returns:
            ``inputs`` (a tensor ``[B, ...]``, or a dict of the network's keywords), ``label`` (``[B, ...]``), ``group``
            and ``index`` (int64 ``[B]``; the index is the row's place in the dataset).

        Raises:
            InputError: if it is neither.
        """
        if isinstance(batch, tuple | list) and len(batch) == len(ENTRIES):
            batch = dict(zip(ENTRIES, batch, strict=True))
        if not isinstance(batch, dict) or any(name not in batch for name in ENTRIES):
            has = f"dict with {', '.join(map(str, batch))}" if isinstance(batch, dict) else type(batch).__name__
            raise InputError(
                f"a batch is a {has} and not a dict with {', '.join(ENTRIES)}; override unpack(batch) to make one"
            )
        return batch

    def unpacked(self, batch: Any) -> dict[str, Any]:
        """What ``unpack`` gives, looked at.

        Raises:
            InputError: if an entry is missing, or index or group are none.
        """
        found: Any = self.unpack(batch)
        rows = len(found["label"]) if isinstance(found, dict) and found.keys() >= set(ENTRIES) else None
        for name in ("index", "group"):
            value = found[name] if rows is not None else None
            if not isinstance(value, Tensor) or value.dtype != torch.int64 or value.shape != (rows,):
                what = f"{value.dtype} {list(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
                raise InputError(
                    f"unpack gave {what} as {name}; it must give a dict with {', '.join(ENTRIES)}, index and group "
                    "int64 of one entry a sample"
                )
        return dict(found)

    def is_right(self, output: Tensor, label: Tensor) -> Tensor:
        """Whether each sample is classified rightly; overridden where right means something else.

        Args:
            output: what the network gave, float ``[B, C]``.
            label: int64 ``[B]``, or what the batches hold under ``label``.

        Returns:
            Bool ``[B]``; here whether the class of the highest score is the label, and the score finite.

        Raises:
            InputError: if labels are floats.
        """
        if label.is_floating_point():
            raise InputError("labels are floats, which no class can equal; override is_right to say what is right")
        return is_right(output, label)

    def right_of(self, output: Tensor, label: Tensor) -> Tensor:
        """What ``is_right`` says, bool ``[B]``; a sample with a score of nan is never right.

        Raises:
            InputError: if that is not one bool a sample.
        """
        right = self.is_right(output, label)
        if right.dtype != torch.bool or right.shape != output.shape[:1]:
            raise InputError(
                f"is_right gave {right.dtype} {list(right.shape)} for {len(output)} samples; it must give one bool each"
            )
        return right & ~output.isnan().flatten(1).any(dim=1)

    def on_validation_epoch_start(self) -> None:
        """Begin to count the validation parts."""
        self._evaluation = Evaluation(self.trainer.val_dataloaders, "val", self.training_record(), self.device)

    def training_record(self) -> EpochRecord | None:
        """Where this validation notes what is right in the training set; ``None`` if it is not to read that."""
        return None

    def on_predict_start(self) -> None:
        """Refuse loaders whose rows cannot be told."""
        for loader in as_list(self.trainer.predict_dataloaders):
            dataset_of(loader)

    def on_test_epoch_start(self) -> None:
        """Begin to count the test parts."""
        self._evaluation = Evaluation(self.trainer.test_dataloaders, "test", None, self.device)

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Count a batch by group, or, of the training set, note which rows are right."""
        record = self._evaluation.record_of(dataloader_idx)
        if record is not None:
            batch = self.unpacked(batch)
            record.write(batch["index"], self.right_of(self(batch["inputs"]), batch["label"]))

    def on_validation_epoch_end(self) -> None:
        """Log the criteria."""
        self._log_criteria()

    def test_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Count a batch by group."""
        self.validation_step(batch, batch_idx, dataloader_idx)

    def on_test_epoch_end(self) -> None:
        """Log the criteria."""
        self._log_criteria()

    def predict_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> dict[str, Tensor]:
        """Of a batch: ``index``, ``label``, ``group``, ``prediction`` int64 ``[B]``, ``probability`` ``[B, C]``."""
        batch = self.unpacked(batch)
        logits = self(batch["inputs"])
        rows = {key: batch[key] for key in ("index", "label", "group")}
        return {**rows, "prediction": predicted_class(logits)[0], "probability": class_probabilities(logits)}

    def _log_criteria(self) -> None:
        self.evaluated = self._evaluation.count(self.criteria_names, min_count=self.min_count, shrink=self.shrink)
        for prefix, metric in self.evaluated.items():
            values = metric.compute()
            broken = [name for name, value in values.items() if not bool(value.isfinite())]
            if broken and not self.trainer.sanity_checking:
                raise InputError(
                    f"{prefix}_{broken[0]} has no value: no group has min_count={self.min_count} samples; lower it"
                )
            # Equal on every process already; the maximum over them keeps that exact, as a mean would not.
            named = {f"{prefix}_{name}": value for name, value in values.items()}
            self.log_dict(named, on_epoch=True, on_step=False, sync_dist=True, reduce_fx="max", batch_size=1)

    def find_criteria(self, trainer: Any, *, grouped: bool) -> None:
        """Find out which criteria the run needs: the usual ones, and those that a callback monitors.

        Args:
            trainer: what will run it.
            grouped: whether the data names groups.

        Raises:
            InputError: if a test key, an unknown criterion, or one without groups is monitored.
        """
        self.criteria_names = default_criteria(grouped=grouped)
        for callback in trainer.callbacks:
            if isinstance(getattr(callback, "monitor", None), str):
                self.ask_for(callback.monitor, getattr(callback, "mode", None))

    def ask_for(self, key: str, mode: str | None) -> None:
        """Have a criterion computed that is monitored under this key; see ``find_criteria``."""
        asked = criterion_of_key(key)
        if asked is None:
            return
        if mode is not None and mode != asked.mode:
            raise InputError(f"{key} is monitored with mode={mode!r}, which keeps the worst; give mode={asked.mode!r}")
        if not asked.of_samples and all(criterion(name).of_samples for name in self.criteria_names):
            others = " or ".join(self.criteria_names)
            raise InputError(f"{key} needs groups and the data names none; name its column, or choose by {others}")
        self.criteria_names = tuple(dict.fromkeys([*self.criteria_names, asked.name]))
