"""Figures that are not shares of rows: of the confusion of classes, and of scores.

They come from the rows of all groups at once, so that groups can be drawn again and again: what chance does to them has
no formula.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from drurank.errors import InputError
from drurank.figures import computing
from drurank.figures.base import Figure, Outcomes

Arrays = tuple[np.ndarray, ...]
"""What a figure needs of each row, ``[n]`` each."""
LEAST = float(np.finfo(np.float64).eps)
"""Probabilities below it count as this in the log loss, which would else be infinite."""


@dataclass(frozen=True, kw_only=True)
class Measure(Figure):
    """A figure that is computed from the rows of groups.

    Attributes:
        prepare: what it needs of each row, of what was predicted.
        of: the figure by group, float64 ``[m]``, of that, the group of each row and the number of groups; ``nan`` for a
            group that has none.
        classes: where rows are drawn within classes, since it is about each of them: the class of each row, of what it
            needs of it.
        size: rows of each group that make it certain, float ``[m]``; all, if not given.
        perfect: the same rows if their probabilities were right, where that is what it is compared with.
        needs: ``score``, ``probability`` or nothing.
        needs_positive_of_two: whether one class has to be the positive one where there are no more than two.
        may_read_positive: whether it reads the positive class of these rows, where it does not need one of all.
    """

    prepare: Callable[[Outcomes], Arrays] = field(repr=False)
    of: Callable[[Arrays, np.ndarray, int], np.ndarray] = field(repr=False)
    classes: Callable[[Arrays], np.ndarray] | None = field(repr=False, default=None)
    size: Callable[[Arrays, np.ndarray, int], np.ndarray] | None = field(repr=False, default=None)
    perfect: Callable[[Arrays, np.random.Generator], Arrays] | None = field(repr=False, default=None)
    needs: Literal["", "score", "probability"] = ""
    needs_positive_of_two: bool = False
    may_read_positive: Callable[[Outcomes], bool] = field(repr=False, default=lambda rows: False)

    def is_about_positive(self, rows: Outcomes) -> bool:
        """Whether it would be another one if another class were the positive one."""
        return rows.positive is not None and (self.needs_positive or self.may_read_positive(rows))

    @property
    def by_chance(self) -> str:
        """What reports compare it with."""
        if self.perfect is not None:
            return "if every probability were right (labels drawn from them)"
        within = ", those of each class by themselves" if self.classes is not None else ""
        return f"if all rows were dealt to the groups at random{within}"

    def check(self, rows: Outcomes, names: Sequence[str]) -> None:
        """Refuse rows that it cannot be had of.

        Raises:
            InputError: if it needs a positive class, numbers, scores or probabilities, and there are none.
        """
        if self.needs_positive or (self.needs_positive_of_two and rows.classes <= 2):
            self.check_positive(rows, names)
        super().check(rows, names)
        if not self.needs:
            return
        if rows.score is None and rows.probability is None:
            raise InputError(
                f"figure {self.name!r} needs probabilities; name the column of the positive class's as score=..., or "
                "give columns probability_<label>, one for each class, as predict writes them"
            )
        if self.needs == "probability" and rows.score is not None and not _are_probabilities(rows.score):
            wrong = rows.score[(rows.score < 0) | (rows.score > 1)][0]
            raise InputError(
                f"figure {self.name!r} needs probabilities, from 0 to 1, and a score is {wrong:g}; give probabilities, "
                "or leave it out (auroc takes any scores)"
            )


def _are_probabilities(score: np.ndarray) -> bool:
    return bool(((score >= 0) & (score <= 1)).all())


def _ranks(score: np.ndarray) -> np.ndarray:
    ranks: np.ndarray = np.unique(score, return_inverse=True)[1]
    return ranks.reshape(-1).astype(np.int64)


def _score(rows: Outcomes) -> np.ndarray:
    assert rows.score is not None, "checked by Measure.check"
    return rows.score


def _of_confusion(rows: Outcomes) -> Arrays:
    if rows.positive is not None:
        return rows.label == rows.positive, rows.prediction == rows.positive
    return rows.label, rows.prediction


def _f1(arrays: Arrays, code: np.ndarray, m: int) -> np.ndarray:
    true, said = arrays
    function = computing.f1_positive if true.dtype == bool else computing.f1_macro
    return function(true, said, code, m)


def _f1_size(arrays: Arrays, code: np.ndarray, m: int) -> np.ndarray:
    true, said = arrays
    return computing.f1_size(true, said, code, m) if true.dtype == bool else np.bincount(code, minlength=m)


def _off(rows: Outcomes) -> Arrays:
    assert rows.values is not None, "checked by Figure.check"
    return (np.abs(rows.values[rows.label] - rows.values[rows.prediction]),)


def _mean(arrays: Arrays, code: np.ndarray, m: int) -> np.ndarray:
    return computing.means(arrays[0], code, m)


def _log_loss(rows: Outcomes) -> Arrays:
    if rows.probability is not None:
        right = rows.probability[np.arange(len(rows.label)), rows.label]
    else:
        right = np.where(rows.label == rows.positive, _score(rows), 1 - _score(rows))
    return (-np.log(np.clip(right, LEAST, 1)),)


def _brier(rows: Outcomes) -> Arrays:
    if rows.probability is None:
        return ((_score(rows) - (rows.label == rows.positive)) ** 2,)
    right = rows.probability[np.arange(len(rows.label)), rows.label]
    return (((rows.probability**2).sum(axis=1) - 2 * right + 1) / 2,)


def _calibration(rows: Outcomes) -> Arrays:
    if rows.score is not None:
        score, event = rows.score, rows.label == rows.positive
    else:
        assert rows.probability is not None, "checked by Measure.check"
        score, event = rows.probability.max(axis=1), rows.probability.argmax(axis=1) == rows.label
    return _ranks(score), score, event


def _perfect(arrays: Arrays, rng: np.random.Generator) -> Arrays:
    rank, score, _ = arrays
    return rank, score, rng.random(len(score)) < score


MEASURES: Mapping[str, Measure] = {
    figure.name: figure
    for figure in (
        Measure(
            name="f1",
            words="F1",
            lacks="no rows of the positive class, and none predicted so",
            prepare=_of_confusion,
            of=_f1,
            size=_f1_size,
            may_read_positive=lambda rows: True,
            needs_positive=False,
            needs_positive_of_two=True,
        ),
        Measure(
            name="balanced_accuracy",
            words="balanced accuracy",
            plural="balanced accuracies",
            prepare=lambda rows: (rows.label, rows.label == rows.prediction),
            of=lambda arrays, code, m: computing.balanced_accuracy(arrays[0], arrays[1], code, m),
            classes=lambda arrays: arrays[0],
            size=lambda arrays, code, m: computing.balanced_size(arrays[0], code, m),
            needs_positive=False,
        ),
        Measure(
            name="mae",
            words="mean absolute error",
            higher_is_better=False,
            is_bounded=False,
            prepare=_off,
            of=_mean,
            needs_positive=False,
            needs_values=True,
        ),
        Measure(
            name="auroc",
            words="AUROC",
            lacks="rows of one class only",
            prepare=lambda rows: (_ranks(_score(rows)), rows.label == rows.positive),
            of=lambda arrays, code, m: computing.auroc(arrays[0], arrays[1], code, m),
            classes=lambda arrays: arrays[1],
            size=lambda arrays, code, m: computing.pairs_size(arrays[1], code, m),
            needs="score",
        ),
        Measure(
            name="log_loss",
            words="log loss",
            plural="log losses",
            higher_is_better=False,
            is_bounded=False,
            prepare=_log_loss,
            of=_mean,
            may_read_positive=lambda rows: rows.probability is None,
            needs_positive=False,
            needs="probability",
        ),
        Measure(
            name="brier",
            words="Brier score",
            higher_is_better=False,
            prepare=_brier,
            of=_mean,
            may_read_positive=lambda rows: rows.probability is None,
            needs_positive=False,
            needs="probability",
        ),
        Measure(
            name="calibration_error",
            words="calibration error",
            higher_is_better=False,
            prepare=_calibration,
            of=lambda arrays, code, m: computing.calibration_error(arrays[0], arrays[1], arrays[2], code, m),
            perfect=_perfect,
            may_read_positive=lambda rows: rows.score is not None,
            needs_positive=False,
            needs="probability",
        ),
    )
}
"""Every figure by name that is not a share."""
