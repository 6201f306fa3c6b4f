"""How the classes of one split were served, and what always naming the commonest class would give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from drurank.binomial import at_least


def rows_by(code: np.ndarray, times: np.ndarray | None, least: int = 0) -> np.ndarray:
    """Rows by code, int64 ``[max(code) + 1]`` or longer.

    Args:
        code: of each row, int64 ``[n]``.
        times: how many rows each stands for, int64 ``[n]``; one, if not given.
        least: how many codes there are at least.
    """
    return np.bincount(code, times, minlength=least).astype(np.int64)


@dataclass(frozen=True)
class ClassCounts:
    """How the classes of one split were served, whatever the groups of their rows.

    Attributes:
        names: label of each class, ``[c]``.
        correct: rows classified correctly by class, int64 ``[c]``.
        count: rows by class, int64 ``[c]``.
        commonest: place of the class that is commonest in the training rows; ``None`` where those are not known.
    """

    names: Sequence[str]
    correct: np.ndarray
    count: np.ndarray
    commonest: int | None = None

    @classmethod
    def of_rows(
        cls,
        label: np.ndarray,
        right: np.ndarray,
        names: Sequence[str] | None = None,
        commonest: int | None = None,
        times: np.ndarray | None = None,
    ) -> ClassCounts:
        """Count rows by class.

        Args:
            label: class number of each row, int64 ``[n]``, 0 or more.
            right: whether each row is classified correctly, bool ``[n]``.
            names: label of each class by number; the numbers themselves, if not given.
            commonest: number of the class that is commonest in the training rows, where that is known.
            times: how many rows each row stands for, int64 ``[n]``; one, if not given.
        """
        found = np.unique(label if commonest is None else np.append(label, commonest))
        place = np.searchsorted(found, label)
        return cls(
            [str(number) if names is None else names[int(number)] for number in found],
            rows_by(place[right], None if times is None else times[right], len(found)),
            rows_by(place, times, len(found)),
            None if commonest is None else int(np.searchsorted(found, commonest)),
        )

    @property
    def balanced_accuracy(self) -> float:
        """Mean over the classes that have rows of the share of their rows that are classified correctly."""
        has_rows = self.count > 0
        return float(np.mean(self.correct[has_rows] / self.count[has_rows]))

    def constant_answer(self) -> dict[str, Any]:
        """What always naming one class would give, as plain values.

        Returns:
            ``label``: the class that is commonest in the training rows, or else in this split; ``commonest_in``:
            ``training`` or ``split``; ``value``: the share of this split's rows that have it; ``difference``: how much
            larger the share that the model has right is, negative where the answer is better; ``p_value``: how likely
            the model would be right where this answer is wrong at least as often as it is, if it and the answer were
            equally good. (Of the rows where one of them is right and the other wrong, half would go to each: the exact
            one-sided test of McNemar.) ``here``: the same of the class that is commonest in this split, where that is
            another one, else ``None``.
        """
        here = int(np.argmax(self.count))
        if self.commonest is None or self.count[here] == self.count[self.commonest]:
            return {**self._against(here if self.commonest is None else self.commonest), "here": None}
        return {**self._against(self.commonest), "here": self._against(here)}

    def _against(self, answer: int) -> dict[str, Any]:
        gained = int(self.correct.sum() - self.correct[answer])
        lost = int(self.count[answer] - self.correct[answer])
        return {
            "label": self.names[answer],
            "commonest_in": "training" if answer == self.commonest else "split",
            "value": float(self.count[answer] / self.count.sum()),
            "difference": float((gained - lost) / self.count.sum()),
            "p_value": float(at_least(gained, gained + lost, 0.5)),
        }
