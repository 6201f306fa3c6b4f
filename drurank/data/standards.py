"""Features of a frozen network, standardised by the training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from drurank.data.encoding import Names

PIECE = 1 << 16
"""Rows whose features are held in float64 at a time."""


@dataclass
class Standards:
    """By what features are standardised.

    Attributes:
        mean: of each feature over the training rows; empty where there are no features.
        scale: standard deviation of each, 1 where they are all the same.
    """

    mean: list[float]
    scale: list[float]

    @classmethod
    def of(cls, features: np.ndarray, rows: np.ndarray) -> Self:
        """Those of some rows.

        Args:
            features: float32 ``[n, d]``.
            rows: places in it, int64 ``[k]``; one may be there many times.
        """
        pieces = np.array_split(rows, -(-len(rows) // PIECE))
        mean = sum(features[some].sum(axis=0, dtype=np.float64) for some in pieces) / len(rows)
        square = sum(((features[some] - mean) ** 2).sum(axis=0) for some in pieces)
        scale = np.sqrt(square / len(rows))
        return cls(mean.tolist(), np.where(scale > 1e-14 * np.abs(mean), scale, 1.0).tolist())


@dataclass
class StandardisedNames(Names, Standards):
    """Labels and groups of the training rows, and the standards of their features.

    Attributes:
        elsewhere: entries that are others where the same data is read on another machine.
    """

    elsewhere: ClassVar[tuple[str, ...]] = ("mean", "scale")

    def standardised(self, features: np.ndarray) -> np.ndarray:
        """Features less their mean, by their standard deviation, in place; float32 ``[k, d]``."""
        features -= np.array(self.mean, np.float32)
        features /= np.array(self.scale, np.float32)
        return features

    def state_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {**vars(self), **super().state_dict()}

    def agrees(self, state: dict[str, Any]) -> bool:
        """Whether another one's ``state_dict`` is that of the same rows, whose features another machine may round."""
        mine, apart = self.state_dict(), dict.fromkeys(self.elsewhere)
        if {**mine, **apart} != {**state, **apart}:
            return False
        return all(np.allclose(mine[name], state[name], rtol=1e-3, atol=1e-3) for name in ("mean", "scale"))
