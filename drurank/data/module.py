"""What all data modules of this package share: datasets by split, loaders, sizes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np
import torch
from lightning.pytorch import LightningDataModule
from lightning.pytorch.utilities.rank_zero import rank_zero_warn
from torch.utils.data import DataLoader

from drurank.data.dataset import Batch, GroupedDataset
from drurank.data.loading import TrainingPass, loader_of, make_loader
from drurank.data.orders import Draw
from drurank.data.sampler import POOL_BATCHES, GlobalBatchSampler
from drurank.errors import InputError, check_choice, check_count
from drurank.namespace import warn_of_other_namespace
from drurank.networks import Sizes
from drurank.run_folder.loading import MadeByItself
from drurank.splits import TEST, VALIDATION, lacking
from drurank.tabular.rows import GroupedRows

Sampler = Literal["auto", "shuffle", "balanced", "subsample", "groups_per_batch"]
MOST_WORKERS = 1024
"""Processes that load batches; more would take all of a machine, one after the other, before the first batch."""


class GroupDataModule(MadeByItself, LightningDataModule, ABC):
    """Grouped data with the splits ``train``, ``ood_val``, ``id_val``, ``val``, ``ood_test``, ``id_test``, ``test``.

    Args:
        batch_size: rows of one process in one batch; two processes with 32 see the batches of one with 64.
        eval_batch_size: the same in evaluation, which needs less memory; ``batch_size``, if not given.
        num_workers: worker processes that load batches; 0 loads them in the training process.
        sampler: which rows an epoch draws. ``auto`` asks the method; ``shuffle``: every row once; ``balanced``: as many
            rows, with replacement, each group being equally likely; ``subsample``: as many rows of each group as the
            smallest has; ``groups_per_batch``: in each batch some groups with equally many rows.
        groups_per_batch: distinct groups in a batch of one process, with that sampler; 2, if not given.
        drop_last: leave out the last batch of an epoch where it has fewer rows than the others, as a network with
            batch norm needs where that is one row. Other rows are left out in each epoch.

    Raises:
        InputError: if one of them is out of range.
    """

    def __init__(
        self,
        batch_size: int = 64,
        eval_batch_size: int | None = None,
        num_workers: int = 0,
        sampler: Sampler = "auto",
        groups_per_batch: int | None = None,
        drop_last: bool = False,
    ) -> None:
        super().__init__()
        warn_of_other_namespace()
        self.batch_size = batch_size
        self.eval_batch_size = batch_size if eval_batch_size is None else eval_batch_size
        for name, value in (("batch_size", batch_size), ("eval_batch_size", self.eval_batch_size)):
            check_count(name, value, ", e.g. 64")
        if not 0 <= num_workers <= MOST_WORKERS:
            raise InputError(f"num_workers is {num_workers}; give a whole number from 0 to {MOST_WORKERS:,}")
        check_choice("sampler", sampler, Sampler)
        self.num_workers, self.sampler, self.groups_per_batch = num_workers, sampler, groups_per_batch
        self.drop_last = drop_last
        self.pool_batches: int | None = None
        self._datasets: dict[str, GroupedDataset] = {}

    @property
    def grouped(self) -> bool:
        """Whether rows have groups; if not, ``overall`` is the only criterion."""
        return True

    @property
    def overlap(self) -> bool:
        """Whether rows may be in several groups."""
        return False

    @abstractmethod
    def splits(self) -> list[str]:
        """Names of the splits that have rows."""

    @abstractmethod
    def make_dataset(self, split: str) -> GroupedDataset:
        """Read or generate the rows of one split; called once, when they are first needed."""

    @property
    @abstractmethod
    def sizes(self) -> Sizes:
        """What the training data fixes about the network."""

    @property
    @abstractmethod
    def label_names(self) -> list[str]:
        """Label of each class number, as written in the data."""

    def dataset(self, split: str) -> GroupedDataset:
        """The rows of one split."""
        if split not in self._datasets:
            self._datasets[split] = self.make_dataset(split)
        return self._datasets[split]

    def forget_datasets(self) -> None:
        """Make the datasets again when they are next needed."""
        self._datasets = {}

    def setup(self, stage: str) -> None:
        """Check, before a run begins, that the splits it needs have rows; before a fit, read all of them."""
        if stage == "fit":
            self._need("train")
            self._need(*VALIDATION)
            for split in self.splits():
                self.dataset(split)

    def train_dataloader(self) -> DataLoader[Batch]:
        """Training rows in a new order each epoch."""
        loader = self.training_loader(None if self.trainer is None else self.trainer.lightning_module)
        if self.trainer is not None:
            # On resume Lightning tells the sampler its epoch only after workers have begun to read.
            loader.sampler.set_epoch(self.trainer.fit_loop.epoch_progress.current.processed)  # type: ignore[attr-defined]
        return loader

    def training_loader(self, method: Any) -> DataLoader[Batch]:
        """Training rows as the sampler, or else the method, wants them drawn.

        Raises:
            InputError: if they cannot be drawn so, or ``groups_per_batch``, ``pool_batches`` or ``drop_last`` would
                have no effect.
        """
        draw = self.draw_of(method)
        if self.groups_per_batch is not None and draw != "groups_per_batch":
            raise InputError(
                f"groups_per_batch is {self.groups_per_batch} and the sampler {draw!r}, which does not use it; leave "
                "it out, or give sampler='groups_per_batch'"
            )
        if self.pool_batches is not None and draw == "groups_per_batch":
            raise InputError(
                f"pool_batches is {self.pool_batches} and the sampler 'groups_per_batch', which does not use it; "
                "leave it out, or give another sampler"
            )
        if self.drop_last and draw == "groups_per_batch":
            raise InputError(
                "drop_last has no effect with the sampler 'groups_per_batch', whose batches are all of one size; leave "
                "it out"
            )
        train = self.dataset("train")
        if draw != "shuffle" and train.memberships is not None:
            raise InputError(
                f"sampler {draw!r} draws by the one group of a row, and groups overlap; give sampler='shuffle'"
            )
        sampler = GlobalBatchSampler(
            train,
            self.batch_size,
            shuffle=True,
            draw=draw,
            group=None if draw == "shuffle" else train.group,
            groups_per_batch=2 if self.groups_per_batch is None else self.groups_per_batch,
            order_of=None if method is None else method.stages.epoch_of,
            lengths=train.lengths,
            pool_batches=POOL_BATCHES if self.pool_batches is None else self.pool_batches,
            drop_last=self.drop_last,
        )
        return loader_of(train, sampler, **self._options())

    def draw_of(self, method: Any) -> Draw:
        """Which rows an epoch draws: what ``sampler`` says, or the method."""
        return getattr(method, "sampler", "shuffle") if self.sampler == "auto" else self.sampler

    def val_dataloader(self) -> list[DataLoader[Batch]]:
        """Validation splits, and in a fit the training set too where the method looks at its errors."""
        loaders = self._evaluation(self._need(*VALIDATION))
        trainer = self.trainer
        if trainer is not None and trainer.state.fn == "fit" and _looks_at_errors(trainer.lightning_module):
            training = TrainingPass(self.dataset("train"))
            loaders.append(make_loader(training, self.eval_batch_size, **self._options()))
        return loaders

    def test_dataloader(self) -> list[DataLoader[Batch]]:
        """Test splits that have labels.

        Raises:
            InputError: if none has.
        """
        self._need(*TEST)
        unlabelled, labelled = self.unlabelled(), self.testable()
        said = f"{self.describe()}: {' and '.join(unlabelled)} has no labels and cannot be tested"
        if not labelled:
            raise InputError(f"{said}; give its labels, or predict instead")
        if unlabelled:
            rank_zero_warn(f"{said}, so only {' and '.join(labelled)} is")
        return self._evaluation(labelled)

    def unlabelled(self) -> list[str]:
        """Splits for testing of which no row has a label, so that they can only be predicted."""
        return []

    def testable(self) -> list[str]:
        """Splits for testing that have rows with labels."""
        found, unlabelled = self.splits(), self.unlabelled()
        return [split for split in TEST if split in found and split not in unlabelled]

    def predict_dataloader(self) -> list[DataLoader[Batch]]:
        """All splits."""
        return self._evaluation(self.splits())

    def _need(self, *splits: str) -> list[str]:
        found = self.splits()
        said = lacking(splits, found)
        if said is not None:
            raise InputError(f"{self.describe()} {said}")
        return [split for split in splits if split in found]

    def raw_rows(self) -> GroupedRows:
        """Label, group and split of every row, to be looked at before a run; here of the datasets as they are made."""
        datasets = [self.dataset(split) for split in self.splits()]
        groups = list(dict.fromkeys(name for dataset in datasets for name in dataset.group_names))
        place = {name: code for code, name in enumerate(groups)}
        renumbered = [
            np.array([*(place[name] for name in dataset.group_names), -1])[dataset.group.numpy()]
            for dataset in datasets
        ]
        return GroupedRows(
            source=self.describe(),
            splits=self.splits(),
            split=np.repeat(np.arange(len(datasets)), [len(dataset) for dataset in datasets]),
            label_names=self.label_names,
            label=np.concatenate([dataset[list(range(len(dataset)))]["label"].numpy() for dataset in datasets]),
            group_names=groups,
            group=np.concatenate(renumbered),
            grouped=self.grouped,
        )

    def inspected_rows(self) -> GroupedRows:
        """The rows as ``inspect`` looks at them, which may take longer than ``raw_rows``."""
        return self.raw_rows()

    def describe(self) -> str:
        """How the data is called in messages."""
        return f"the {type(self).__name__} data"

    def _evaluation(self, splits: list[str]) -> list[DataLoader[Batch]]:
        return [make_loader(self.dataset(split), self.eval_batch_size, **self._options()) for split in splits]

    def _options(self) -> dict[str, Any]:
        return {"num_workers": self.num_workers, "pin_memory": torch.cuda.is_available()}


def _looks_at_errors(method: Any) -> bool:
    return getattr(method, "accuracy_from", None) == "evaluation"
