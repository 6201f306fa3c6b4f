"""Groups of rows that have weights, as those of a survey: sums of weights, and how many equal rows tell as much.

Of rows with weights ``w`` the *effective number* of Kish (Survey Sampling, 1965) is ``sum(w)^2 / sum(w^2)``: so many
rows of equal weight would give a share that is as certain, if weights and outcomes have nothing to do with each other.
Where heavy rows go wrong more often than others, fewer would. The linearised variance of a weighted share ``p``
(Taylor's), ``sum(w^2 (y - p)^2) / sum(w)^2``, is right there too, but of few rows hardly known. So those of all groups
are added, and divided by what is to be expected of the sum if the two have nothing to do with each other; where that
ratio, the *lift*, is above 1, effective numbers are Kish's over it. With them in place of numbers of rows intervals are
made as those of counts are (Korn and Graubard, Survey Methodology, 1998).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from drurank.criteria import criterion
from drurank.noise import Noise
from drurank.words import counted, in_digits

MOST_LIFT = 1.5
"""Above it few heavy rows hold so much of what is rare that intervals of the worst groups, and of how groups differ,
hold too seldom: see benchmarks/RESULTS.md."""
EQUAL = 1 + 1e-9
"""A lift up to which it is 1 but for rounding, as of equal weights."""


@dataclass(frozen=True)
class Weights:
    """What the weights of the rows of groups come to.

    Attributes:
        total: sum of the weights of each group over ``unit``, float64 ``[m]``.
        share: that of its rows that went well over it, float64 ``[m]``.
        effective: effective number of its rows, float64 ``[m]``, 1 or more: Kish's over ``lift``.
        right: effective number of those that went well, ``effective`` times ``share``, float64 ``[m]``.
        unit: the largest weight of all rows: over it equal ones are 1, whose sums are exact.
        lift: by how much the variance of the groups' shares is larger than Kish's; 1 where it is not.
    """

    total: np.ndarray
    share: np.ndarray
    effective: np.ndarray
    right: np.ndarray
    unit: float = 1.0
    lift: float = 1.0

    @classmethod
    def of_rows(cls, code: np.ndarray, weight: np.ndarray, good: np.ndarray, groups: int, unit: float = 1.0) -> Weights:
        """Add the weights of rows by group.

        Args:
            code: group of each row, int64 ``[n]``.
            weight: of each row, float64 ``[n]``, above 0.
            good: whether each row went well, bool ``[n]``.
            groups: how many groups there are; those without rows are left out.
            unit: the largest weight of all rows, these and others.
        """
        largest = np.zeros(groups)
        np.maximum.at(largest, code, weight)
        part = weight / largest[code]  # so that no square is too small or too large

        def added(values: np.ndarray, some: np.ndarray | slice = slice(None)) -> np.ndarray:
            found: np.ndarray = np.bincount(code[some], values[some], minlength=groups)[largest > 0]
            return found

        parts, well, squares = added(part), added(part, good), added(part**2)
        share, kish = well / parts, parts**2 / squares
        place = np.cumsum(largest > 0) - 1
        off = part**2 * (good - share[place[code]]) ** 2
        lift = _lift(share, kish, added(off) / parts**2, added(part**3) / (parts * squares))
        effective = np.maximum(kish / lift, 1)
        return cls(added(weight / unit), share, effective, np.minimum(effective * share, effective), unit, lift)

    def some(self, kept: np.ndarray) -> Weights:
        """Those of some groups, bool ``[m]``."""
        return Weights(self.total[kept], self.share[kept], self.effective[kept], self.right[kept], self.unit, self.lift)

    def columns(self) -> dict[str, np.ndarray]:
        """What tables of groups say of them."""
        return {"weight": self.total * self.unit, "effective": self.effective}

    def summed(self) -> dict[str, Any]:
        """What reports say of those of all rows."""
        return {
            "weight": float(self.total.sum()) * self.unit,
            "effective": self.effective_rows,
            "lift": self.lift,
            "withheld": self.is_doubtful,
        }

    @property
    def is_doubtful(self) -> bool:
        """Whether little is known of the worst groups and of how groups differ."""
        return self.lift > MOST_LIFT

    def trusted(self, noise: Mapping[str, Noise]) -> dict[str, Noise]:
        """Noise by criterion, without intervals that hold too seldom."""
        none = {"estimate": math.nan, "low": math.nan, "high": math.nan}
        return {
            name: replace(one, **none) if self.is_doubtful and criterion(name).of_badly_served else one
            for name, one in noise.items()
        }

    @property
    def effective_rows(self) -> float:
        """Effective number of all rows."""
        return float(self.total.sum() ** 2 / (self.total**2 / self.effective).sum())


def _lift(share: np.ndarray, kish: np.ndarray, variance: np.ndarray, heaviest: np.ndarray) -> float:
    """By how much shares vary more than those of so many rows of equal weight, 1 or more.

    Args:
        share: of the rows of each group that went well, by weight, ``[m]``.
        kish: effective number of its rows, ``[m]``.
        variance: linearised, of each share, ``[m]``.
        heaviest: sum of the cubes of its weights over that of their squares and that of themselves, ``[m]``.
    """
    several = kish > EQUAL
    n, p = kish[several], share[several]
    # Of rows that have nothing to do with their weights: residuals are from the share of the same rows.
    expected = p * (1 - p) / (n - 1) * (1 + 1 / n - 2 * heaviest[several])
    total = float(expected.sum())
    lift = float(variance[several].sum()) / total if total > 0 else 1.0
    return lift if lift > EQUAL else 1.0


def said_weights(content: Mapping[str, Any]) -> str:
    """What weights do to a split, of its ``summary``, in a sentence or a few."""
    said = (
        f"rows are weighted: {counted(content['rows'], 'row')} tell as much as {content['effective']:,.1f} of equal "
        "weight; intervals and chance are by such numbers"
    )
    if content["lift"] == 1:
        return f"{said}."
    said += (
        f", which are divided by {in_digits(content['lift'])} here, since heavy rows have more than their part of what "
        "is rare (wrong answers, say)"
    )
    if not content["withheld"]:
        return f"{said}."
    return (
        f"{said}. That is so much that intervals of the worst groups, and of how groups differ, would hold too seldom: "
        "they are withheld. A group's own interval can be relied on."
    )
