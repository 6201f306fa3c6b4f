"""Squares of pixels as a network wants them."""

from __future__ import annotations

import numpy as np
from torch import Tensor


def normalised(pixels: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    """Pixels as a network wants them.

    Args:
        pixels: uint8 ``[B, 3, s, s]``; floats are taken to be normalised already.
        mean: of values from 0 to 1, float ``[3, 1, 1]``.
        std: standard deviation, likewise.

    Returns:
        Float ``[B, 3, s, s]``.
    """
    return pixels if pixels.is_floating_point() else (pixels.to(mean.dtype) / 255 - mean) / std


def middle(squares: np.ndarray, size: int) -> np.ndarray:
    """The middle of squares, ``[..., size, size]``."""
    begin = round((squares.shape[-1] - size) / 2)
    cut: np.ndarray = squares[..., begin : begin + size, begin : begin + size]
    return cut
