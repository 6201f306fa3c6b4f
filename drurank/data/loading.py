"""Loaders over grouped rows, and the training set as one more of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.utils.data import DataLoader, Dataset

from drurank.data.dataset import Batch, GroupedDataset, not_grouped
from drurank.data.sampler import GlobalBatchSampler, Places


class TrainingPass(Dataset[Batch]):
    """Marks a dataset as the training set, read once more in evaluation mode to see which rows are right.

    Args:
        dataset: the training set.
        collate: makes a batch of its items; if not given the dataset itself does.
    """

    def __init__(self, dataset: GroupedDataset, collate: Callable[[list[Any]], Any] | None = None) -> None:
        self.dataset, self.collate = dataset, collate
        self.split = "train"
        self.num_groups = dataset.num_groups
        self.lengths = dataset.lengths

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.dataset)

    def __getitem__(self, index: list[int] | Places) -> Batch:
        """The batch of these rows."""
        if self.collate is None:
            return self.dataset[index]
        # A share without rows is the first one again, since only the collate knows what an empty batch is.
        batch: Batch = self.collate([self.dataset[int(i)] for i in index] or [self.dataset[0]])
        return batch


def make_loader(
    dataset: GroupedDataset | TrainingPass,
    batch_size: int,
    *,
    shuffle: bool = False,
    num_workers: int = 0,
    pin_memory: bool = False,
) -> DataLoader[Batch]:
    """A loader that asks the dataset for whole batches, every row once an epoch over all processes.

    Args:
        dataset: grouped rows.
        batch_size: rows of one process in one batch.
        shuffle: a new random order each epoch, else that of the rows.
        num_workers: worker processes; 0 reads in this one.
        pin_memory: put batches in page-locked memory, for a GPU.
    """
    sampler = GlobalBatchSampler(dataset, batch_size, shuffle=shuffle, lengths=dataset.lengths)
    return loader_of(dataset, sampler, num_workers=num_workers, pin_memory=pin_memory)


def loader_of(
    dataset: GroupedDataset | TrainingPass,
    sampler: GlobalBatchSampler,
    *,
    num_workers: int = 0,
    pin_memory: bool = False,
) -> DataLoader[Batch]:
    """A loader of the batches that a sampler draws; see ``make_loader``."""
    return DataLoader(
        dataset,
        sampler=sampler,
        batch_size=None,
        num_workers=num_workers,
        pin_memory=pin_memory,
        persistent_workers=num_workers > 0,
    )


def evaluation_loader(train: DataLoader[Any] | GroupedDataset, batch_size: int | None = None) -> DataLoader[Batch]:
    """The training set as one more validation loader, for methods that look at its errors.

    Append it to your own validation loaders: ``trainer.fit(model, train, [val, evaluation_loader(train)])``. Its
    figures are not logged.

    Args:
        train: the training loader, or its dataset; the dataset is a ``GroupedDataset``.
        batch_size: rows of one process in one batch; that of the loader, or 64, if not given.

    Raises:
        InputError: if the dataset is not a ``GroupedDataset``.
    """
    loader = train if isinstance(train, DataLoader) else None
    dataset = loader.dataset if loader is not None else train
    if not isinstance(dataset, GroupedDataset):
        raise not_grouped("the training set is", dataset)
    batches = loader.batch_sampler if loader is not None else None
    collate = loader.collate_fn if loader is not None and batches is not None else None
    size = batch_size or getattr(batches, "batch_size", None) or 64
    workers = loader.num_workers if loader is not None else 0
    return make_loader(TrainingPass(dataset, collate), size, num_workers=workers)
