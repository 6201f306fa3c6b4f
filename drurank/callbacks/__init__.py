"""Callbacks: choosing checkpoints, noting weights, reporting groups, writing predictions."""

from drurank.callbacks.history import GroupHistory
from drurank.callbacks.predictions import PredictionWriter
from drurank.callbacks.progress import GroupProgressBar
from drurank.callbacks.report import GroupReport
from drurank.callbacks.selection import BestByCriterion, LastCheckpoint, best_by
from drurank.callbacks.validation import ValidationCounts

__all__ = [
    "BestByCriterion",
    "GroupHistory",
    "GroupProgressBar",
    "GroupReport",
    "LastCheckpoint",
    "PredictionWriter",
    "ValidationCounts",
    "best_by",
]
