"""What every figure of a group has: its name, which way is up, and what it needs of the rows.

Criteria of groups are those of accuracy. So they are given how *good* a figure is: the figure itself, or 1 minus it
where less is better, as for a false positive rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from drurank.criteria import SUM_UNIT, Criterion, criterion
from drurank.errors import InputError
from drurank.words import quoted, short, some

SAME, COMPLEMENT = "same", "complement"
ACCURACY_NAME = "accuracy"


@dataclass(frozen=True)
class Outcomes:
    """What was predicted of rows whose classes are known.

    Attributes:
        label: class number of each row, int64 ``[n]``.
        prediction: number of the class that was predicted, int64 ``[n]``.
        positive: number of the class that is the positive one; ``None`` where none is.
        values: what each class is as a number, float64 ``[c]``; ``None`` where classes are not numbers.
        classes: how many classes there are.
        score: how much each row is taken for the positive class, float64 ``[n]``; ``None`` where that is not known.
        probability: of each class, by its number, float64 ``[n, c]``; ``None`` where at most ``score`` is known.
    """

    label: np.ndarray
    prediction: np.ndarray
    positive: int | None = None
    values: np.ndarray | None = None
    classes: int = 2
    score: np.ndarray | None = None
    probability: np.ndarray | None = None

    def at(self, places: np.ndarray) -> Outcomes:
        """The rows at these places, int64 ``[k]``, each as often as it is named."""
        return replace(
            self,
            label=self.label[places],
            prediction=self.prediction[places],
            score=None if self.score is None else self.score[places],
            probability=None if self.probability is None else self.probability[places],
        )


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of the rows of a group.

    Attributes:
        name: as in ``--figure fpr``.
        words: what it is called in full.
        plural: what several are called; ``words`` and an s, if not given.
        lacks: why a group has none.
        higher_is_better: which way is up.
        is_bounded: whether it is from 0 to 1, so that sums of how bad it is have a scale.
        needs_positive: whether one class has to be the positive one.
        needs_values: whether the classes have to be numbers.
        positive: label of the positive class, of a figure of rows that is about it.
    """

    name: str
    words: str
    plural: str = ""
    lacks: str = "no rows"
    higher_is_better: bool = True
    is_bounded: bool = True
    needs_positive: bool = True
    needs_values: bool = False
    positive: str | None = None

    @property
    def heading(self) -> str:
        """What it is called in full, with the class that it is about."""
        return self.words if self.positive is None else f"{self.words} (positive: {short(self.positive)})"

    def named(self) -> dict[str, str]:
        """What a report says of which figure it is."""
        return {"figure": self.name, **({} if self.positive is None else {"positive": self.positive})}

    def is_about_positive(self, rows: Outcomes) -> bool:
        """Whether it would be another one if another class were the positive one."""
        return self.needs_positive and rows.positive is not None

    def of_rows(self, rows: Outcomes, names: Sequence[str]) -> Self:
        """This figure, with the label of the positive class if it is about one.

        Args:
            rows: what was predicted.
            names: label of each class by number.
        """
        if rows.positive is None or not self.is_about_positive(rows):
            return self
        return replace(self, positive=names[rows.positive])

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
        return "true" if self.name == ACCURACY_NAME else "actual"  # "true true positive rate"

    @property
    def summed(self) -> str:
        """What criteria that are sums add up."""
        if self.name == ACCURACY_NAME:
            return "errors"
        return f"1 - {self.name}" if self.higher_is_better else self.several

    @property
    def by_chance(self) -> str:
        """What reports compare it with."""
        return f"if every group had the {self.words} of all rows"

    def shown(self, good: Any) -> Any:
        """The figure, of how good it is; or the other way round."""
        return good if self.higher_is_better else 1 - good

    def shown_range(self, low: Any, high: Any) -> tuple[Any, Any]:
        """The two ends of an interval of the figure, the lower one first, of those of how good it is."""
        return (low, high) if self.higher_is_better else (1 - high, 1 - low)

    def computed(self, names: Sequence[str]) -> dict[str, str]:
        """Criteria of it to the criteria of how good it is that they are made from.

        Args:
            names: criteria by name; those that have no meaning for it are left out.
        """
        if not self.is_bounded:
            names = [name for name in names if criterion(name).unit != SUM_UNIT]
        if self.higher_is_better:
            return {name: name for name in names}
        made = {name: criterion(name).of_errors for name in names}
        return {name: name if by in (SAME, COMPLEMENT) else by for name, by in made.items() if by}

    def entry(self, by: Criterion, entry: Mapping[str, Any]) -> dict[str, Any]:
        """What a report says of a criterion of it.

        Args:
            by: what it is made from.
            entry: what the report says of that, for how good it is.
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
        if self.needs_positive:
            self.check_positive(rows, names)
        if self.needs_values and rows.values is None:
            raise InputError(f"figure {self.name!r} needs labels that are numbers; leave it out, or recode the labels")

    def check_positive(self, rows: Outcomes, names: Sequence[str]) -> None:
        """Refuse rows of which no class is the positive one.

        Raises:
            InputError: naming the labels.
        """
        if rows.positive is None:
            raise InputError(f"figure {self.name!r} needs a positive class; {which_positive(names)}")


def which_positive(names: Sequence[str]) -> str:
    """What to give where no class is known to be the positive one, of the label of each class by number."""
    return (
        f"say which of the labels it is with positive=... (labels: {some(map(quoted, dict.fromkeys(names)), shown=10)})"
    )
