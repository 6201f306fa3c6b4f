"""A split that is evaluated, and what its figures are logged under."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from drurank.criterion_keys import key_of
from drurank.dcg import accuracy_from_counts
from drurank.errors import InputError
from drurank.metrics import GroupCriteria
from drurank.training.answers import RowAnswers
from drurank.training.record import EpochRecord
from drurank.training.split_loss import SplitLoss


@dataclass(frozen=True)
class EvaluatedSplit:
    """A split that was evaluated.

    Attributes:
        name: as ``ood_val``.
        prefix: what its keys begin with, ``val`` or ``id_val``, ``test`` or ``id_test``.
        dataset: its rows.
        record: which of its rows are correct.
        criteria: their counts by group.
        loss: their losses.
        answers: what was answered for each row; ``None`` where only accuracy is asked for.
        of_figures: names of the criteria of other figures.
    """

    name: str
    prefix: str
    dataset: Any
    record: EpochRecord
    criteria: GroupCriteria
    loss: SplitLoss
    answers: RowAnswers | None = None
    of_figures: tuple[str, ...] = ()

    def count(self) -> dict[str, Tensor]:
        """Count the rows of its record by group; criterion to value, a float32 scalar."""
        right = self.record.correct == 1
        if not self.record.overlap:
            self.criteria.update_correct(right, self.record.known_group())
            found: dict[str, Tensor] = self.criteria.compute()
            return found
        row, group = self.record.known_members()
        self.criteria.update_correct(right[row], group)
        well, every = self.whole()
        overall = accuracy_from_counts(well, every)
        return self.criteria.of(replace(self.criteria.groups(), overall=overall))

    def whole(self) -> tuple[Tensor, Tensor]:
        """Rows that are correct and all rows, each counted once however many groups it is in, int64 scalars."""
        counted = self.record.counted()
        return (counted & (self.record.correct == 1)).sum(), counted.sum()

    @property
    def loss_key(self) -> str:
        """What its mean loss is logged under, as ``val_loss``."""
        return f"{self.prefix}_loss"

    @property
    def criterion_keys(self) -> list[str]:
        """What its criteria are logged under, as ``val_qdcg10``."""
        return [key_of(name, self.prefix) for name in (*self.criteria.names, *self.of_figures)]


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
