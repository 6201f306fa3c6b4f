"""How far the training of a method has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class FitProgress:
    """How far a training has come, and on what data.

    Attributes:
        ended_epoch: the last epoch whose end was dealt with, -1 in the first one; ``None`` before training.
        validated_batch: the batch, counted over all epochs, after which a validation was last complete.
        fingerprint: what tells the training set from others.
        dataset: the training set that was last looked at.
        class_count: training rows of each class, where they are known; reports compare with always naming the
            commonest.
        restored: tables of a checkpoint, from when it is read until training begins.
        begun: whether the training of a fit has begun; a tuner of Lightning may search before that, or within it.
    """

    ended_epoch: int | None = None
    validated_batch: int | None = None
    fingerprint: str = ""
    dataset: Any = None
    class_count: list[int] | None = None
    restored: dict[str, Any] | None = None
    begun: bool = False
