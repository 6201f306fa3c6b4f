"""Figures that are shares of rows, as how many are right, or how many of the negative ones are called positive.

Each is kept as the share of rows that *went well*, so that all criteria of groups, their intervals and what chance
alone would give are those of accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from drurank.figures.base import ACCURACY_NAME, Figure, Outcomes

Mask = np.ndarray


@dataclass(frozen=True, kw_only=True)
class Share(Figure):
    """A share of the rows of a group: of those that went well, or 1 minus it.

    Attributes:
        about: the rows that it is a share of, bool ``[n]``.
        went_well: which of these went well, bool ``[n]``.
        events: what is told of the rows that it is the share of.
    """

    about: Callable[[Outcomes], Mask] = field(repr=False)
    went_well: Callable[[Outcomes], Mask] = field(repr=False)
    events: str = "right"

    @property
    def is_about_answers(self) -> bool:
        """Whether it depends on what was predicted which rows it is about, so that two models' are of other rows."""
        return self.about in (_said_positive, _said_negative)

    @property
    def counted(self) -> str:
        """What the two counts of each group are that it is the ratio of."""
        every = self.lacks == "no rows"
        rows = "" if every else f"Rows: {self.lacks.removeprefix('no ')}, which alone it is about; e"
        return f"{rows or 'E'}vents: those of {'all rows' if every else 'them'} that are {self.events}."


def _every(rows: Outcomes) -> Mask:
    return np.ones(len(rows.label), dtype=bool)


def _right(rows: Outcomes) -> Mask:
    found: Mask = rows.label == rows.prediction
    return found


def _positive(rows: Outcomes) -> Mask:
    found: Mask = rows.label == rows.positive
    return found


def _negative(rows: Outcomes) -> Mask:
    return ~_positive(rows)


def _said_positive(rows: Outcomes) -> Mask:
    found: Mask = rows.prediction == rows.positive
    return found


def _said_negative(rows: Outcomes) -> Mask:
    return ~_said_positive(rows)


def _near(rows: Outcomes) -> Mask:
    assert rows.values is not None, "checked by Figure.check"
    found: Mask = np.abs(rows.values[rows.label] - rows.values[rows.prediction]) <= 1
    return found


def _share(
    name: str,
    words: str,
    about: Callable[[Outcomes], Mask],
    went_well: Callable[[Outcomes], Mask],
    events: str,
    rows: str = "rows",
    **options: Any,
) -> Share:
    return Share(name=name, words=words, about=about, went_well=went_well, events=events, lacks=f"no {rows}", **options)


_rate = partial(_share, higher_is_better=False)
POSITIVE, NEGATIVE = "rows of the positive class", "rows of the negative class"
SAID_POSITIVE, SAID_NEGATIVE = "predicted positive", "predicted negative"
ACCURACY = _share(ACCURACY_NAME, "accuracy", _every, _right, "right", plural="accuracies", needs_positive=False)
SHARES: Mapping[str, Share] = {
    figure.name: figure
    for figure in (
        ACCURACY,
        _rate("error", "error rate", _every, _right, "wrong", needs_positive=False),
        _share("selection_rate", "selection rate", _every, _said_positive, SAID_POSITIVE),
        _share("tpr", "true positive rate", _positive, _said_positive, SAID_POSITIVE, POSITIVE),
        _rate("fnr", "false negative rate", _positive, _said_positive, SAID_NEGATIVE, POSITIVE),
        _share("tnr", "true negative rate", _negative, _said_negative, SAID_NEGATIVE, NEGATIVE),
        _rate("fpr", "false positive rate", _negative, _said_negative, SAID_POSITIVE, NEGATIVE),
        _share("precision", "precision", _said_positive, _positive, "positive", f"rows {SAID_POSITIVE}"),
        _share("npv", "negative predictive value", _said_negative, _negative, "negative", f"rows {SAID_NEGATIVE}"),
        _rate(
            "off_by_more_than_one",
            "share off by more than one",
            _every,
            _near,
            "off by more than one",
            plural="shares off by more than one",
            needs_positive=False,
            needs_values=True,
        ),
    )
}
"""Every share by name; accuracy is part of each report."""
