"""Painted pictures with a shortcut that holds in most groups and is reversed in some."""

from __future__ import annotations

from typing import Any

import numpy as np

from drurank.data.synthetic import Shortcut
from drurank.errors import InputError, check_number
from drurank.networks import Sizes

TINTS = np.array([[90.0, -10.0, -80.0], [-80.0, -10.0, 90.0]])
"""What the shortcut adds to red, green and blue of the background: reddish or bluish."""
GREY = 120.0


class PaintedShortcut(Shortcut):
    """Small coloured pictures with the group effect of ``Shortcut``: a shape says the label, and so mostly a colour.

    Labels are balanced. A picture shows a ring (label 0) or a cross (label 1), somewhere on a noisy background, which
    is reddish or bluish. Some shapes are so faint that only the colour can be seen. The colour goes with the label with
    chance ``agreement``, and with one minus that chance in the *flipped* groups. A classifier that trusts the colour
    fails them.

    Args:
        groups: number of groups for training, OOD validation and OOD test.
        group_size: pictures of a group.
        flipped: share of flipped groups for training, OOD validation and OOD test.
        agreement: chance that the colour goes with the label in a group that is not flipped.
        seed: of the generator; the same seed gives the same pictures.
        size: side of a picture, in pixels, 16 or more.
        contrast: highest of the shape against its background, in 0 to 255; each picture's is drawn from 0 to it.
        noise: standard deviation of each pixel, in 0 to 255.
        **kwargs: ``noisy`` of ``Shortcut``, and those of ``GroupDataModule``.

    Raises:
        InputError: if an argument is out of range.
    """

    def __init__(
        self,
        groups: list[int] = [100, 50, 50],  # noqa: B006 - shown in the help; never changed
        group_size: int = 30,
        flipped: list[float] = [0.1, 0.3, 0.3],  # noqa: B006 - shown in the help; never changed
        agreement: float = 0.9,
        seed: int = 0,
        size: int = 24,
        contrast: float = 60.0,
        noise: float = 45.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(groups, group_size, flipped, agreement, seed, **kwargs)
        if not 16 <= size <= 256:
            raise InputError(f"size is {size}; give a whole number from 16 to 256")
        check_number("contrast", contrast, high=255)
        check_number("noise", noise, high=255)
        self.size, self.contrast, self.noise = size, contrast, noise

    @property
    def sizes(self) -> Sizes:
        """Pixels, two classes."""
        return Sizes(0, 2, image_size=self.size)

    @property
    def label_names(self) -> list[str]:
        """What the pictures show."""
        return ["ring", "cross"]

    def draw_inputs(self, y: np.ndarray, s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See the class: pictures, uint8 ``[m, group_size, 3, size, size]``."""
        side = self.size
        radius = side * rng.uniform(0.2, 0.32, y.shape)
        centre = radius[..., None] + (side - 1 - 2 * radius[..., None]) * rng.random((*y.shape, 2))
        made = np.empty((*y.shape, 3, side, side), np.uint8)
        for group in range(len(y)):  # a group at a time, which bounds the memory
            shape = _shapes(side, centre[group], radius[group], y[group])
            tint = TINTS[s[group]] * rng.uniform(0.3, 1.0, (len(shape), 1))
            ground = GREY + tint[:, :, None, None] + self.noise * rng.standard_normal((len(shape), 3, side, side))
            seen = self.contrast * rng.random((len(shape), 1, 1, 1)) * shape[:, None]
            made[group] = np.clip(ground + seen, 0, 255).astype(np.uint8)
        return made


def _shapes(side: int, centre: np.ndarray, radius: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Where rings and crosses are, 0/1 ``[n, side, side]``."""
    across = np.arange(side) - centre[:, :1]
    down = np.arange(side) - centre[:, 1:]
    dx, dy, r = across[:, None, :], down[:, :, None], radius[:, None, None]
    width = 0.12 * side / 2
    ring = np.abs(np.hypot(dx, dy) - (r - width)) <= width
    cross = (np.minimum(np.abs(dx), np.abs(dy)) <= width) & (np.maximum(np.abs(dx), np.abs(dy)) <= r)
    shapes: np.ndarray = np.where(y[:, None, None] == 1, cross, ring).astype(float)
    return shapes
