"""One evaluation: which loader reads which split, what was right in it, and the criteria by split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from drurank.data.sampler import rank_and_world
from drurank.errors import InputError
from drurank.metrics import GroupCriteria, predicted_class
from drurank.training.loaders import as_list, split_of
from drurank.training.record import EpochRecord


class Evaluation:
    """Notes by row what is right in each evaluated split, so that a row that a sampler repeats counts once.

    Args:
        loaders: the trainer's loaders of the stage.
        stage: ``val`` or ``test``.
        training: where to note what is right in the training set, if its loader is to be read; ``None`` skips it.
        device: where the tables are to live.
    """

    def __init__(self, loaders: Any, stage: str, training: EpochRecord | None, device: torch.device) -> None:
        self._records: list[EpochRecord | None] = []
        self._splits: dict[str, EpochRecord] = {}
        self.reads_training_set = False
        for loader in as_list(loaders):
            split = split_of(loader) or stage
            if split == "train":
                self._records.append(training)
                self.reads_training_set = training is not None
            else:
                self._splits[split] = EpochRecord(loader.dataset.group.to(device), loader.dataset.num_groups)
                self._records.append(self._splits[split])
        self._prefixes = key_prefixes([split_of(loader) or stage for loader in as_list(loaders)], stage)

    def record_of(self, loader: int) -> EpochRecord | None:
        """Where to note what is right in the rows of a loader, given by its place; ``None`` if it is to be skipped."""
        return self._records[loader]

    def count(self, names: Sequence[str], *, min_count: int, shrink: bool) -> dict[str, GroupCriteria]:
        """Count the rows of each split by group; every process must call it.

        Returns:
            Key prefix (``val``, ``id_test``) to the criteria.
        """
        return {
            self._prefixes[split]: _counted(record, names, min_count=min_count, shrink=shrink)
            for split, record in self._splits.items()
        }


def _counted(record: EpochRecord, names: Sequence[str], **options: Any) -> GroupCriteria:
    # The record is the same on all processes once it is committed, so each counts its share of the rows.
    record.commit()
    rank, world = rank_and_world()
    correct, group = record.correct[rank::world], record.known_group()[rank::world]
    metric = GroupCriteria(record.num_groups, names, **options).to(correct.device)
    metric.update_correct(correct == 1, group)
    return metric


def key_prefixes(splits: list[str], stage: str) -> dict[str, str]:
    """How the criteria of each split are called: ``val`` for OOD validation, else ``val``, else ID, and ``id_val``.

    Args:
        splits: the evaluation splits there are.
        stage: ``val`` or ``test``.

    Raises:
        InputError: if two splits would be called the same.
    """
    order = [f"ood_{stage}", stage, f"id_{stage}"]
    splits = [split for split in splits if split != "train"]
    first = min(splits, key=lambda split: order.index(split) if split in order else len(order), default=stage)
    prefixes = {split: stage if split == first else f"id_{stage}" for split in splits}
    strange = [split for split in splits if split not in order or (split != first and split != order[2])]
    if strange or len(set(splits)) < len(splits):
        raise InputError(
            f"evaluation loaders of splits {splits}; give at most one of {order[0]} or {stage} and one of {order[2]}, "
            "by GroupedDataset(..., split=...)"
        )
    return prefixes


def class_probabilities(logits: Tensor) -> Tensor:
    """Probability of each class, float32 ``[..., C]``; a single score is that of class 1 of two."""
    if logits.shape[-1] == 1:
        positive = logits.float().sigmoid()
        return torch.cat([1 - positive, positive], dim=-1)
    return logits.float().softmax(dim=-1)


def is_right(logits: Tensor, label: Tensor) -> Tensor:
    """Whether each sample is classified rightly, by finite scores, bool ``[...]``."""
    chosen, finite = predicted_class(logits)
    return (chosen == label) & finite
