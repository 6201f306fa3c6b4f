"""Figures of a group: shares of its rows, as how many are right, or how many of the negative ones are called positive.

Each is kept as the share of rows that *went well*, so that all criteria of groups, their intervals and what chance
alone would give are those of accuracy; a figure of which less is better, such as a false positive rate, is 1 minus it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from drurank.criteria import criterion
from drurank.criterion import Criterion
from drurank.errors import InputError, nearest
from drurank.words import some

SAME, COMPLEMENT = "same", "complement"
Mask = np.ndarray


@dataclass(frozen=True)
class Outcomes:
    """What was predicted of rows whose classes are known.

    Attributes:
        label: class number of each row, int64 ``[n]``.
        prediction: number of the class that was predicted, int64 ``[n]``.
        positive: number of the class that is the positive one; ``None`` where none is.
        values: what each class is as a number, float64 ``[c]``; ``None`` where classes are not numbers.
    """

    label: np.ndarray
    prediction: np.ndarray
    positive: int | None = None
    values: np.ndarray | None = None


@dataclass(frozen=True)
class Figure:
    """A share of the rows of a group.

    Attributes:
        name: as in ``--figure fpr``.
        words: what it is called in full.
        about: the rows that it is a share of, bool ``[n]``.
        went_well: which of these went well, bool ``[n]``.
        of_rows: what these rows are called.
        plural: what several are called; ``words`` and an s, if not given.
        higher_is_better: whether the figure is the share that went well, or 1 minus it.
        needs_positive: whether one class has to be the positive one.
        needs_values: whether the classes have to be numbers.
    """

    name: str
    words: str
    about: Callable[[Outcomes], Mask] = field(repr=False)
    went_well: Callable[[Outcomes], Mask] = field(repr=False)
    of_rows: str = "rows"
    plural: str = ""
    higher_is_better: bool = True
    needs_positive: bool = True
    needs_values: bool = False

    @property
    def several(self) -> str:
        """What the figures of several groups are called."""
        return self.plural or f"{self.words}s"

    @property
    def true(self) -> str:
        """What they are called without what chance does to them."""
        return f"{self._true} {self.several}"

    @property
    def true_one(self) -> str:
        """What that of one group is called."""
        return f"{self._true} {self.words}"

    @property
    def _true(self) -> str:
        return "true" if self is ACCURACY else "actual"  # "true true positive rate"

    @property
    def summed(self) -> str:
        """What criteria that are sums add up."""
        if self is ACCURACY:
            return "errors"
        return f"1 - {self.name}" if self.higher_is_better else self.several

    @property
    def lacks(self) -> str:
        """Why a group has none."""
        return f"no {self.of_rows}"

    def shown(self, share: Any) -> Any:
        """The figure, of the share of rows that went well; or the other way round."""
        return share if self.higher_is_better else 1 - share

    def shown_range(self, low: Any, high: Any) -> tuple[Any, Any]:
        """The two ends of an interval of the figure, the lower one first, of those of that share."""
        return (low, high) if self.higher_is_better else (1 - high, 1 - low)

    def computed(self, names: Sequence[str]) -> dict[str, str]:
        """Criteria of it to the criteria of the share that went well that they are made from.

        Args:
            names: criteria by name; those that have no meaning for it are left out.
        """
        if self.higher_is_better:
            return {name: name for name in names}
        made = {name: criterion(name).of_errors for name in names}
        return {name: name if by in (SAME, COMPLEMENT) else by for name, by in made.items() if by}

    def entry(self, by: Criterion, entry: Mapping[str, Any]) -> dict[str, Any]:
        """What a report says of a criterion of it.

        Args:
            by: what it is made from.
            entry: what the report says of that, for the share of rows that went well.
        """
        if self.higher_is_better or by.of_errors != COMPLEMENT:
            return dict(entry)

        def turned(value: float | None) -> float | None:
            return None if value is None else 1 - value

        def ends(interval: Sequence[float] | None) -> list[float] | None:
            return None if interval is None else [1 - interval[1], 1 - interval[0]]

        floor = entry["floor"]
        return {
            "value": turned(entry["value"]),
            "better": "min",
            "estimate": turned(entry["estimate"]),
            "interval": ends(entry["interval"]),
            "floor": floor and {"median": turned(floor["median"]), "interval": ends(floor["interval"])},
        }

    def check(self, rows: Outcomes, names: Sequence[str]) -> None:
        """Refuse rows that it cannot be had of.

        Args:
            rows: what was predicted.
            names: label of each class by number.

        Raises:
            InputError: if no class is the positive one, or classes are not numbers, and it needs that.
        """
        if self.needs_positive and rows.positive is None:
            known = list(dict.fromkeys(names))
            raise InputError(
                f"figure {self.name!r} needs a positive class; give one of the labels, as positive={known[-1]} "
                f"(labels: {some(known)})"
            )
        if self.needs_values and rows.values is None:
            raise InputError(f"figure {self.name!r} needs labels that are numbers; leave it out, or recode the labels")


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


POSITIVE, NEGATIVE = "rows of the positive class", "rows of the negative class"
ACCURACY = Figure("accuracy", "accuracy", _every, _right, plural="accuracies", needs_positive=False)
FIGURES: Mapping[str, Figure] = {
    figure.name: figure
    for figure in (
        ACCURACY,
        Figure("error", "error rate", _every, _right, higher_is_better=False, needs_positive=False),
        Figure("selection_rate", "selection rate", _every, _said_positive),
        Figure("tpr", "true positive rate", _positive, _said_positive, POSITIVE),
        Figure("fnr", "false negative rate", _positive, _said_positive, POSITIVE, higher_is_better=False),
        Figure("tnr", "true negative rate", _negative, _said_negative, NEGATIVE),
        Figure("fpr", "false positive rate", _negative, _said_negative, NEGATIVE, higher_is_better=False),
        Figure("precision", "precision", _said_positive, _positive, "rows predicted positive"),
        Figure("npv", "negative predictive value", _said_negative, _negative, "rows predicted negative"),
        Figure(
            "off_by_more_than_one",
            "share off by more than one",
            _every,
            _near,
            plural="shares off by more than one",
            higher_is_better=False,
            needs_positive=False,
            needs_values=True,
        ),
    )
}
"""Every figure by name; accuracy is part of each report."""


def figure_named(name: str) -> Figure:
    """The figure of that name.

    Raises:
        InputError: if there is none; it names the nearest.
    """
    if name not in FIGURES:
        raise InputError(f"there is no figure {name!r}: {nearest(name, [*FIGURES])}")
    return FIGURES[name]


def figure_of(summary: Mapping[str, Any]) -> Figure:
    """The figure that a split's ``summary`` is about."""
    return FIGURES[summary.get("figure", ACCURACY.name)]
