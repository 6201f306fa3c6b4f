"""Predictions by a threshold of one's own on the score of the positive class, given or chosen on validation rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from drurank.errors import InputError, nearest
from drurank.figures import SHARES
from drurank.report.answers import Answers
from drurank.splits import TEST
from drurank.words import quoted

RATES: Mapping[str, bool] = {"fpr": False, "selection_rate": False, "tpr": True}
"""Rates that a threshold may be chosen for, and whether they are to be at least so high, or at most."""


@dataclass(frozen=True)
class Threshold:
    """A threshold, or how it is chosen.

    Attributes:
        value: rows with a score above it are predicted to be of the positive class; ``None`` where it is chosen.
        rate: name of the rate that it is chosen for.
        limit: what this rate is to be at most, or at least.
        on: split whose rows choose.
    """

    value: float | None
    rate: str = ""
    limit: float = 0.0
    on: str = ""

    @classmethod
    def of(cls, given: str, on: str | None) -> Threshold:
        """What was asked for.

        Args:
            given: a number, or a rate and what it is to be, as ``fpr=0.1``.
            on: split whose rows choose.

        Raises:
            InputError: if it is neither, or the split is missing, needless, or one of test rows.
        """
        rate, is_rate, value = given.partition("=")
        number = _number(value if is_rate else given)
        if number is None or (is_rate and not 0 <= number <= 1):
            raise InputError(f"threshold is {given!r}; give a number, as 0.3, or a rate from 0 to 1, as fpr=0.1")
        if not is_rate:
            if on is not None:
                raise InputError(f"threshold_on is {on!r}, and threshold is a number, so none is chosen; leave one out")
            return cls(number)
        if rate not in RATES:
            raise InputError(f"threshold is {given!r}: no threshold is chosen for {rate!r}: {nearest(rate, [*RATES])}")
        if on is None:
            raise InputError(f"threshold is {given!r}; give the split whose rows choose it, as threshold_on=ood_val")
        if on in TEST:
            raise InputError(
                f"threshold_on is {on!r}: thresholds are chosen on validation, never on test; give ood_val"
            )
        return cls(None, rate, number, on)

    def apply(self, answers: Answers) -> tuple[Answers, dict[str, Any]]:
        """Answers whose predictions are by the threshold, and what the report says of it.

        Raises:
            InputError: if there are not two classes with a positive one and its scores, or no row to choose by.
        """
        rows = answers.outcomes
        SHARES["tpr"].check_positive(rows, answers.names)
        if rows.classes != 2 or rows.score is None:
            why = "there are no scores" if rows.classes == 2 else f"there are {rows.classes} classes"
            raise InputError(f"a threshold cuts the score of the positive class of two, and {why}; leave it out")
        value = self.value if self.value is not None else self._chosen(answers)
        other = next(number for name in answers.names if (number := answers.number_of(name)) != rows.positive)
        prediction = np.where(rows.score > value, np.int64(rows.positive or 0), np.int64(other or 0))
        how = {"chosen_by": f"{self.rate}={self.limit:g}", "chosen_on": self.on} if self.rate else {}
        return replace(answers, outcomes=replace(rows, prediction=prediction)), {"threshold": value, **how}

    def _chosen(self, answers: Answers) -> float:
        """The lowest threshold at which the rate is at most the limit, or the highest at which it is at least that."""
        if self.on not in answers.rows:
            raise InputError(f"threshold_on is {self.on!r}, which is no split: {nearest(self.on, [*answers.rows])}")
        here, rows = answers.rows[self.on], answers.outcomes
        about = SHARES[self.rate].about(rows) & here
        if answers.times is not None:
            about &= answers.times > 0
        if not about.any():
            raise InputError(f"threshold_on is {self.on!r}, which has {SHARES[self.rate].lacks}; give another split")
        assert rows.score is not None, "checked before"
        times = np.ones(len(about), np.int64) if answers.times is None else answers.times
        score, first = np.unique(rows.score[about], return_inverse=True)
        number = np.bincount(first.reshape(-1), times[about])
        above = number.sum() - np.cumsum(number)  # rows with a score above each, which a threshold there calls positive
        if RATES[self.rate]:
            enough = above >= self.limit * number.sum()
            return float(score[np.flatnonzero(enough)[-1]] if enough.any() else np.nextafter(score[0], -np.inf))
        few = above <= self.limit * number.sum()
        return float(score[np.flatnonzero(few)[0]])


def said_threshold(about: Mapping[str, Any], positive: str) -> str:
    """Which threshold it is, of what ``Threshold.apply`` says of it."""
    how = f" ({about['chosen_by']} on {about['chosen_on']})" if "chosen_by" in about else ""
    return f"Threshold {about['threshold']:g}{how}: rows with a score above it are predicted {quoted(positive)}."


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None
