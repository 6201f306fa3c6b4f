"""Counts by class of the splits of a test."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from drurank.data import GroupedDataset
from drurank.methods import GroupModule
from drurank.processes import max_over_processes_
from drurank.report.classes import ClassCounts
from drurank.training.loaders import as_list
from drurank.training.record import UNKNOWN


class TestedClasses:
    """Notes the class of each tested row by its place, so that a row that a sampler repeats counts once.

    Nothing waits for the device before the end, and 4 bytes a row are kept there. Where a module has its own
    ``is_correct``, it may mean something else than naming the class, and nothing is counted.
    """

    def __init__(self) -> None:
        self._labels: dict[int, tuple[GroupedDataset, Tensor]] = {}

    def begin(self, trainer: Any, method: GroupModule) -> None:
        """Make a table for the rows of each test loader."""
        self._labels = {}
        if not method.names_classes:
            return
        for place, loader in enumerate(as_list(trainer.test_dataloaders)):
            rows = loader.dataset
            if isinstance(rows, GroupedDataset):
                self._labels[place] = rows, torch.full((len(rows),), UNKNOWN, dtype=torch.int32, device=method.device)

    def note(self, loader: int, batch: dict[str, Any]) -> None:
        """Note the classes of a batch.

        Args:
            loader: the place of its loader.
            batch: what ``unpack`` gave.
        """
        label = batch["label"]
        is_class = isinstance(label, Tensor) and label.ndim == 1 and not label.is_floating_point()
        if loader in self._labels and is_class:
            self._labels[loader][1].index_copy_(0, batch["index"], label.to(torch.int32))

    def counts(self, method: GroupModule, names: list[str] | None) -> dict[str, ClassCounts]:
        """Counts of the splits of which the class of every row is known; every process must call it.

        Args:
            method: what was tested.
            names: label of each class by number, where that is known.

        Returns:
            Split to its counts.
        """
        found = {}
        tables = list(self._labels.values())
        self._labels = {}
        for _, table in tables:
            max_over_processes_(table)
        for split in method.evaluation.splits:
            noted = next((table for dataset, table in tables if dataset is split.dataset), None)
            if noted is None:
                continue
            label, correct, counts = (of.cpu().numpy() for of in (noted, split.record.correct, split.record.counted()))
            if (label >= 0).all() and (correct >= 0).all():
                found[split.name] = _counted(label[counts], correct[counts] == 1, names, method.progress.class_count)
        return found


def _counted(label: np.ndarray, right: np.ndarray, names: list[str] | None, training: list[int] | None) -> ClassCounts:
    commonest = None if training is None else int(np.argmax(training))
    highest = max(int(label.max(initial=0)), commonest or 0)
    return ClassCounts.of_rows(label, right, names if names and highest < len(names) else None, commonest)
