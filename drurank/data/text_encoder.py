"""What is kept of the training rows of texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from drurank.data.encoding import Names
from drurank.text.pooling import Pooling


@dataclass
class TextEncoder(Names):
    """What is kept of the training rows of texts.

    Attributes:
        tokenizer: digest of what cuts the texts.
        name: folder or hub name that it was loaded from.
        vocabulary: number of its tokens.
        max_length: most tokens of a text.
        pooling: how the frozen encoder's output became features; ``None`` where tokens are given.
        weights: digest of the frozen encoder's; empty where tokens are given.
        mean: of each feature over the training rows; empty where tokens are given.
        scale: standard deviation of each, 1 where they are all the same.
    """

    tokenizer: str
    name: str
    vocabulary: int
    max_length: int
    pooling: Pooling | None
    weights: str
    mean: list[float]
    scale: list[float]

    def state_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {**vars(self), **super().state_dict()}

    def agrees(self, state: dict[str, Any]) -> bool:
        """Whether another one's ``state_dict`` is that of the same rows, whose features another machine may round."""
        mine, elsewhere = self.state_dict(), {"name": None, "mean": None, "scale": None}
        if {**mine, **elsewhere} != {**state, **elsewhere}:
            return False
        near = [np.allclose(mine[name], state[name], rtol=1e-3, atol=1e-3) for name in ("mean", "scale")]
        return all(near)
