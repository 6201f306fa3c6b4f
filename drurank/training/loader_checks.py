"""What loaders and the data that they read are refused for; see ``preflight``."""

from __future__ import annotations

from typing import Any

from lightning.pytorch.utilities.rank_zero import rank_zero_info
from torch.utils.data import SequentialSampler, default_collate

from drurank.data.dataset import GroupedDataset, check_map_style, not_grouped
from drurank.data.loading import TrainingPass
from drurank.errors import InputError
from drurank.training.loaders import as_list, keeps_labels, split_of
from drurank.training.losses import BinaryCrossEntropy, CrossEntropy
from drurank.training.progress import FitProgress


def training_set_is_grouped(method: Any, trainer: Any, datamodule: Any) -> None:
    """The training loader reads rows that know their groups, and groups to rank where the method ranks them."""
    train = _dataset_of(trainer.train_dataloader, "the training loader")
    if not isinstance(train, GroupedDataset):
        raise not_grouped("the training set is", train)
    check_loader(trainer.train_dataloader)
    if train.memberships is not None:
        check_overlap(method)
    if method.needs_groups:
        check_groups(train, type(method).__name__, method.without_groups)


def labels_are_classes(method: Any, trainer: Any, datamodule: Any) -> None:
    """No label is below 0, of which torch's cross-entropy silently makes a loss of 0, or an error without a row."""
    label = trainer.train_dataloader.dataset.held_labels()
    if label is None or method.relabels or not isinstance(method.loss, CrossEntropy):
        return
    if keeps_labels(trainer.train_dataloader) and int(label.min()) < 0:
        row = int((label < 0).nonzero()[0])
        raise InputError(
            f"training row {row} has the label {int(label[row])}; classes count from 0: leave such rows out, or give "
            "another loss"
        )


def labels_are_binary(method: Any, trainer: Any, datamodule: Any) -> None:
    """A binary loss of ours has labels 0 and 1."""
    label = trainer.train_dataloader.dataset.held_labels()
    if label is None or method.relabels or not isinstance(method.loss, BinaryCrossEntropy):
        return
    if keeps_labels(trainer.train_dataloader) and not bool(((label == 0) | (label == 1)).all()):
        row = int(((label != 0) & (label != 1)).nonzero()[0])
        raise InputError(f"training row {row} has the label {int(label[row])}; BinaryCrossEntropy takes 0 and 1")


def training_set_is_evaluated(method: Any, trainer: Any, datamodule: Any) -> None:
    """Where an evaluation pass ranks the groups and there is validation, each epoch's last reads the training set."""
    if method.accuracy_from != "evaluation" or trainer.limit_val_batches == 0:
        return
    _validation_in_every_epoch(trainer)
    if trainer.val_dataloaders is not None:  # else they are made before the first epoch that is validated
        check_training_pass(trainer)


def _validation_in_every_epoch(trainer: Any) -> None:
    every, batches = trainer.val_check_batch, trainer.num_training_batches
    if trainer.check_val_every_n_epoch is None or not every or every > batches:
        raise InputError(
            f"val_check_interval={getattr(trainer, 'val_check_interval', 'of time')} with check_val_every_n_epoch="
            f"{trainer.check_val_every_n_epoch} may validate no more in an epoch of {batches} batches, in whose last "
            "validation the errors of the training set are looked at; give a share or number of its batches, or set "
            "accuracy_from='training'"
        )
    if batches % every:
        rank_zero_info(
            f"the last validation of an epoch is after batch {batches - batches % every} of {batches}: the weights of "
            "the next one come from the predictions made then"
        )


def check_training_pass(trainer: Any) -> None:
    """Refuse a fit without the training set among its validation loaders; see ``training_set_is_evaluated``."""
    train = trainer.train_dataloader.dataset
    marked = [loader.dataset for loader in as_list(trainer.val_dataloaders) if split_of(loader) == "train"]
    for found in marked:
        if found.dataset is not train and found.dataset.fingerprint() != train.fingerprint():
            raise InputError(
                f"evaluation_loader reads another dataset ({len(found):,} rows) than the training loader "
                f"({len(train):,} rows); make it of the training loader"
            )
    if not marked:
        raise InputError(
            "the training set is not among the validation loaders, so its errors are not known; append "
            "evaluation_loader(train), or set accuracy_from='training'"
        )


def check_same_rows(progress: FitProgress, trainer: Any) -> None:
    """Refuse a training loader that was made anew within a fit, of other rows: weights are kept by row.

    Args:
        progress: of the fit; its dataset becomes that of the loader.
        trainer: what fits.

    Raises:
        InputError: naming the epoch.
    """
    train = trainer.train_dataloader.dataset
    if train is progress.dataset:
        return
    if not isinstance(train, GroupedDataset) or train.fingerprint() != progress.fingerprint:
        raise InputError(
            f"the training loader of epoch {trainer.current_epoch} reads other rows than the one before, and weights "
            "are kept by row; give the same dataset in each epoch, or leave out reload_dataloaders_every_n_epochs"
        )
    progress.dataset = train


def check_overlap(method: Any) -> None:
    """Refuse groups that overlap for a method that looks at the one group of a row.

    Raises:
        InputError: naming it.
    """
    if method.one_group_a_row:
        raise InputError(
            f"{type(method).__name__} looks at the one group of each row, and groups overlap; use DRU or Worst, or "
            "groups by='crossed'"
        )


def check_groups(train: GroupedDataset, method: str, remedy: str) -> None:
    """Refuse to rank the groups of rows that have none or one.

    Args:
        train: the rows.
        method: name of the method's class.
        remedy: what to do where a row has no group.

    Raises:
        InputError: if a row has no group, or all have the same.
    """
    if train.memberships is None and bool((train.group < 0).any()):
        raise InputError(f"{method} needs the group of every row it trains on, and some have none; {remedy}")
    if train.num_training_groups == 1:
        raise InputError(f"{method} ranks groups and there is only one; name the group column, or use ERM or Const")


def check_grouped(loaders: Any) -> None:
    """Refuse loaders whose rows cannot be told.

    Raises:
        InputError: naming what to wrap their dataset in.
    """
    for loader in as_list(loaders):
        dataset = _dataset_of(loader, "an evaluation loader")
        if not isinstance(dataset, GroupedDataset | TrainingPass):
            raise not_grouped("an evaluation loader reads", dataset)
        check_loader(loader)


def _dataset_of(loader: Any, what: str) -> Any:
    """The dataset that a loader reads, which is neither of several loaders nor a stream."""
    if not hasattr(loader, "dataset"):
        raise InputError(f"{what} is a {type(loader).__name__}; give one DataLoader, of a GroupedDataset")
    check_map_style(loader.dataset)
    return loader.dataset


def check_loader(loader: Any) -> None:
    """Refuse a loader that leaves out the dataset's own ``collate``, or whose sampler of ours Lightning replaced.

    Raises:
        InputError: naming what to write.
    """
    batched = getattr(loader, "batch_size", None) is not None or getattr(loader, "batch_sampler", None) is not None
    own = getattr(loader.dataset, "collate", None) not in (None, default_collate)
    if batched and own and isinstance(loader.dataset, GroupedDataset) and loader.collate_fn is default_collate:
        raise InputError(
            "the dataset has a collate of its own, which a plain DataLoader does not call; give the loader too "
            "collate_fn=..., or use drurank.data.make_loader(dataset, batch_size, shuffle=True)"
        )
    if not batched and isinstance(getattr(loader, "sampler", None), SequentialSampler):
        raise InputError(
            "the loader's sampler gives single rows and not batches, as where overfit_batches replaced it; use "
            "limit_train_batches"
        )


def check_evaluation(loaders: Any) -> None:
    """Refuse evaluation loaders whose rows cannot be told, or the training set among them unless it is marked.

    Raises:
        InputError: naming what to do.
    """
    check_grouped(loaders)
    if any(
        isinstance(loader.dataset, GroupedDataset) and loader.dataset.split == "train" for loader in as_list(loaders)
    ):
        raise InputError("a validation loader reads split 'train'; use evaluation_loader(train) for the training set")
