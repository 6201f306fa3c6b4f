"""What is kept of the training rows of pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from drurank.data.encoding import Names


@dataclass
class ImageEncoder(Names):
    """What is kept of the training rows of pictures.

    Attributes:
        size: side of what the network sees, in pixels.
        resize: length that a picture's shorter side gets before its middle is cut out, in pixels.
        backbone: name of the network whose features are learnt from; empty where pixels are.
        weights: digest of its weights; empty where pixels are learnt from.
        mean: of each feature over the training rows; empty where pixels are learnt from.
        scale: standard deviation of each, 1 where they are all the same.
    """

    size: int
    resize: int
    backbone: str
    weights: str
    mean: list[float]
    scale: list[float]

    def state_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {**vars(self), **super().state_dict()}

    def agrees(self, state: dict[str, Any]) -> bool:
        """Whether another one's ``state_dict`` is that of the same rows, whose features another machine may round."""
        mine, elsewhere = self.state_dict(), {"mean": None, "scale": None}
        if {**mine, **elsewhere} != {**state, **elsewhere}:
            return False
        near = [np.allclose(mine[name], state[name], rtol=1e-3, atol=1e-3) for name in ("mean", "scale")]
        return all(near)
