"""The trainer's loaders, and what they must read."""

from __future__ import annotations

from typing import Any

from drurank.data.dataset import GroupedDataset, TrainingPass
from drurank.data.sampler import GlobalBatchSampler, rank_and_world
from drurank.errors import InputError


def as_list(loaders: Any) -> list[Any]:
    """The trainer's loaders as a list, whether it has none, one or several."""
    if isinstance(loaders, dict):
        return list(loaders.values())
    return list(loaders) if isinstance(loaders, list | tuple) else [] if loaders is None else [loaders]


def dataset_of(loader: Any) -> GroupedDataset | TrainingPass:
    """What an evaluation loader reads.

    Raises:
        InputError: if that knows no groups.
    """
    dataset = getattr(loader, "dataset", None)
    if not isinstance(dataset, GroupedDataset | TrainingPass):
        raise InputError(
            f"an evaluation loader reads a {type(dataset).__name__}; wrap it as GroupedDataset(dataset, groups)"
        )
    return dataset


def batch_size_of(loader: Any) -> int | None:
    """Rows of one process in one batch of a loader; ``None`` where that is not known."""
    sampler = getattr(loader, "sampler", None)
    size = sampler.batch_size if isinstance(sampler, GlobalBatchSampler) else getattr(loader, "batch_size", None)
    return size if isinstance(size, int) else None


def batches_of(loader: Any) -> str | None:
    """The global batches of a loader of ours in words, as ``64 rows by shuffle``; ``None`` for another's."""
    sampler = getattr(loader, "sampler", None)
    if not isinstance(sampler, GlobalBatchSampler):
        return None
    groups = f" of {sampler.groups_per_batch} groups" if sampler.draw == "groups_per_batch" else ""
    pools = "" if sampler.lengths is None else f", by length in pools of {sampler.pool_batches}"
    return f"{sampler.batch_size * rank_and_world()[1]} rows by {sampler.draw}{groups}{pools}"


def draws_again(loader: Any) -> bool:
    """Whether one of our samplers may draw a row more than once an epoch."""
    sampler = getattr(loader, "sampler", None)
    return isinstance(sampler, GlobalBatchSampler) and sampler.draw in ("balanced", "groups_per_batch")


def split_of(loader: Any) -> str | None:
    """The split a loader reads: ``train`` for the marked training pass, ``None`` for one that is not named.

    Raises:
        InputError: if its dataset knows no groups, or it is the training set unmarked.
    """
    dataset = dataset_of(loader)
    if isinstance(dataset, GroupedDataset) and dataset.split == "train":
        raise InputError("a validation loader reads split 'train'; use evaluation_loader(train) for the training set")
    return dataset.split


def training_set(trainer: Any, method: str, *, needs_groups: bool) -> GroupedDataset:
    """The dataset of the training loader.

    Raises:
        InputError: if it knows no groups, or the method needs them and there are none to tell apart.
    """
    train = getattr(trainer.train_dataloader, "dataset", None)
    if not isinstance(train, GroupedDataset):
        raise InputError(
            f"the training set is a {type(train).__name__}; wrap it as GroupedDataset(dataset, groups) and give one "
            "loader of it"
        )
    if needs_groups:
        check_groups(train, method)
    return train


def check_groups(train: GroupedDataset, method: str) -> None:
    """Refuse to rank the groups of a training set that has none or one.

    Raises:
        InputError: if a row has no group, or all have the same.
    """
    if bool((train.group < 0).any()):
        remedy = (
            "give split='id_val', if that has groups" if method == "DFR" else "use ERM, Const, JTT, CVaR or ChiSquare"
        )
        raise InputError(f"{method} needs the group of every row it trains on, and some have none; {remedy}")
    if train.num_training_groups == 1:
        raise InputError(f"{method} ranks groups and there is but one; name the group column, or use ERM or Const")


def reads_all(trainer: Any) -> bool:
    """Whether a validation reads every row of the training set."""
    loaders = as_list(trainer.val_dataloaders)
    limits = trainer.num_val_batches
    return any(split_of(loader) == "train" and limits[place] >= len(loader) for place, loader in enumerate(loaders))


def _check_validation_ends_epochs(trainer: Any) -> None:
    every = trainer.val_check_batch
    if (
        trainer.check_val_every_n_epoch is None
        or not every
        or trainer.num_training_batches % min(every, trainer.num_training_batches)
    ):
        raise InputError(
            f"val_check_interval={getattr(trainer, 'val_check_interval', 'of time')} leaves out the end of an epoch of "
            f"{trainer.num_training_batches} batches, where errors of the training set are looked at; give one that "
            "divides it, or set accuracy_from='training'"
        )


def check_training_pass(trainer: Any, train: GroupedDataset) -> None:
    """Refuse a fit whose epochs would not end in reading the training set, unless it is told to validate nothing.

    Raises:
        InputError: naming both remedies, or if another dataset is marked as the training set.
    """
    if trainer.limit_val_batches != 0:
        _check_validation_ends_epochs(trainer)
    marked = [loader.dataset for loader in as_list(trainer.val_dataloaders) if split_of(loader) == "train"]
    for found in marked:
        if found.dataset is not train and found.dataset.fingerprint() != train.fingerprint():
            raise InputError(
                f"evaluation_loader reads another dataset ({len(found):,} rows) than the training loader "
                f"({len(train):,} rows); make it of the training loader"
            )
    if not marked and trainer.limit_val_batches != 0:
        raise InputError(
            "the training set is not among the validation loaders, so its errors are not known; append "
            "evaluation_loader(train), or set accuracy_from='training'"
        )
