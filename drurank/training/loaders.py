"""What the trainer's loaders read, and how."""

from __future__ import annotations

from typing import Any

from torch.utils.data import default_collate, default_convert

from drurank.data.sampler import GlobalBatchSampler
from drurank.processes import rank_and_world


def as_list(given: Any) -> list[Any]:
    """What a trainer is given, such as its loaders or callbacks, as a list, whether it is nothing, one or several."""
    if isinstance(given, dict):
        return list(given.values())
    return list(given) if isinstance(given, list | tuple) else [] if given is None else [given]


def split_of(loader: Any) -> str | None:
    """The split that a loader reads: ``train`` for the marked training pass, ``None`` for one without a name."""
    split: str | None = loader.dataset.split
    return split


def batch_size_of(loader: Any) -> int | None:
    """Rows of one process in one batch of a loader; ``None`` where that is not known."""
    sampler = getattr(loader, "sampler", None)
    size = sampler.batch_size if isinstance(sampler, GlobalBatchSampler) else getattr(loader, "batch_size", None)
    return size if isinstance(size, int) else None


def keeps_labels(loader: Any) -> bool:
    """Whether a loader's batches have its dataset's labels: no ``collate_fn`` of your own may have changed them."""
    return getattr(loader, "collate_fn", None) in (default_collate, default_convert)


def batches_of(loader: Any) -> str | None:
    """The global batches of a loader of ours in words, as ``64 rows by shuffle``; ``None`` for other loaders."""
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


def is_last_validation(trainer: Any) -> bool:
    """Whether a validation that begins after this batch of training is the last of the epoch."""
    left = trainer.num_training_batches - trainer.fit_loop.epoch_loop.batch_idx - 1
    return bool(trainer.is_last_batch or left < trainer.val_check_batch)


def reads_all(trainer: Any) -> bool:
    """Whether a validation reads every row of the training set."""
    loaders = as_list(trainer.val_dataloaders)
    limits = trainer.num_val_batches
    return any(split_of(loader) == "train" and limits[place] >= len(loader) for place, loader in enumerate(loaders))
