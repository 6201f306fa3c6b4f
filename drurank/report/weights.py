"""Groups of rows that have weights, as those of a survey: sums of weights, and how many equal rows tell as much.

Of rows with weights ``w`` the *effective number* of Kish (Survey Sampling, 1965) is ``sum(w)^2 / sum(w^2)``: so many
rows of equal weight would give a share that is as certain, if weights and outcomes have nothing to do with each other.
With it in place of the number of rows intervals are made as those of counts are (Korn and Graubard, Survey Methodology,
1998).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Weights:
    """What the weights of the rows of groups come to.

    Attributes:
        total: sum of the weights of each group over ``unit``, float64 ``[m]``.
        share: that of its rows that went well over it, float64 ``[m]``.
        effective: effective number of its rows, float64 ``[m]``, 1 or more.
        right: effective number of those that went well, ``effective`` times ``share``, float64 ``[m]``.
        unit: the largest weight of all rows: over it equal ones are 1, whose sums are exact.
    """

    total: np.ndarray
    share: np.ndarray
    effective: np.ndarray
    right: np.ndarray
    unit: float = 1.0

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

        parts, well = added(part), added(part, good)
        scale = parts / added(part**2)
        return cls(added(weight / unit), well / parts, parts * scale, well * scale, unit)

    def some(self, kept: np.ndarray) -> Weights:
        """Those of some groups, bool ``[m]``."""
        return Weights(self.total[kept], self.share[kept], self.effective[kept], self.right[kept], self.unit)

    def columns(self) -> dict[str, np.ndarray]:
        """What tables of groups say of them."""
        return {"weight": self.total * self.unit, "effective": self.effective}

    def summed(self) -> dict[str, float]:
        """What reports say of those of all rows."""
        return {"weight": float(self.total.sum()) * self.unit, "effective": self.effective_rows}

    @property
    def effective_rows(self) -> float:
        """Effective number of all rows."""
        return float(self.total.sum() ** 2 / (self.total**2 / self.effective).sum())
