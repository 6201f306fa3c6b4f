"""What every data module of this package does alike: parts by split, loaders, sizes."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import torch
from lightning.pytorch import LightningDataModule
from torch.utils.data import DataLoader

from drurank.data.dataset import SPLITS, Batch, GroupedDataset, TrainingPass, make_loader
from drurank.errors import InputError
from drurank.networks import Sizes


class GroupDataModule(LightningDataModule):
    """Grouped data in parts ``train``, ``ood_val``, ``id_val``, ``val``, ``ood_test``, ``id_test``, ``test``.

    Args:
        batch_size: rows of one process in one batch; two processes with 32 see the batches of one with 64.
        num_workers: worker processes that cut batches; 0 cuts them in the training process.
    """

    def __init__(self, batch_size: int = 64, num_workers: int = 0) -> None:
        super().__init__()
        if batch_size < 1 or num_workers < 0:
            raise InputError(f"batch_size is {batch_size} and num_workers {num_workers}; give 1 or more and 0 or more")
        self.batch_size = batch_size
        self.num_workers = num_workers
        self._parts: dict[str, GroupedDataset] | None = None

    @abstractmethod
    def make_parts(self) -> dict[str, GroupedDataset]:
        """Read or generate the parts, split to dataset; called once, when a part is first needed."""

    @property
    @abstractmethod
    def sizes(self) -> Sizes:
        """What the training data fixes about the network."""

    @property
    @abstractmethod
    def label_names(self) -> list[str]:
        """Label by class number, as written in the data."""

    @property
    def parts(self) -> dict[str, GroupedDataset]:
        """The parts that have rows, split to dataset."""
        if self._parts is None:
            made = self.make_parts()
            self._parts = {split: made[split] for split in SPLITS if split in made}
        return self._parts

    def setup(self, stage: str) -> None:
        """Check, before a run begins, that the parts it needs are there."""
        if stage == "fit":
            self._need("train")
            self._need("ood_val", "val", "id_val")

    def train_dataloader(self) -> DataLoader[Batch]:
        """Training rows in a new order each epoch."""
        loader = make_loader(self.parts["train"], self.batch_size, shuffle=True, **self._options())
        if self.trainer is not None:
            # On resume Lightning tells the sampler its epoch only after workers have begun to read.
            loader.sampler.set_epoch(self.trainer.fit_loop.epoch_progress.current.processed)  # type: ignore[attr-defined]
        return loader

    def val_dataloader(self) -> list[DataLoader[Batch]]:
        """Validation parts, and in a fit the training set too where the method looks at its errors."""
        loaders = self._evaluation(self._need("ood_val", "val", "id_val"))
        trainer = self.trainer
        if trainer is not None and trainer.state.fn == "fit" and _looks_at_errors(trainer.lightning_module):
            loaders.append(make_loader(TrainingPass(self.parts["train"]), self.batch_size, **self._options()))
        return loaders

    def test_dataloader(self) -> list[DataLoader[Batch]]:
        """Test parts."""
        return self._evaluation(self._need("ood_test", "test", "id_test"))

    def predict_dataloader(self) -> list[DataLoader[Batch]]:
        """All parts."""
        return self._evaluation(list(self.parts))

    def _need(self, *splits: str) -> list[str]:
        found = [split for split in splits if split in self.parts]
        if not found:
            wanted = " or ".join(splits)
            have = ", ".join(f"{split} ({len(part):,})" for split, part in self.parts.items())
            raise InputError(f"{self.describe()} has no rows in split {wanted}; found {have or 'no rows'}")
        return found

    def describe(self) -> str:
        """How the data is called in messages."""
        return f"the {type(self).__name__} data"

    def _evaluation(self, splits: list[str]) -> list[DataLoader[Batch]]:
        return [make_loader(self.parts[split], self.batch_size, **self._options()) for split in splits]

    def _options(self) -> dict[str, Any]:
        return {"num_workers": self.num_workers, "pin_memory": torch.cuda.is_available()}


def _looks_at_errors(method: Any) -> bool:
    return getattr(method, "accuracy_from", None) == "evaluation"
