"""What is kept of the training rows of pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from drurank.data.standards import StandardisedNames
from drurank.images.augmenting import Augment


@dataclass
class ImageEncoder(StandardisedNames):
    """What is kept of the training rows of pictures.

    Attributes:
        size: side of what the network sees, in pixels.
        resize: length that a picture's shorter side gets before its middle is cut out, in pixels.
        augment: how training pictures change from epoch to epoch.
        backbone: name of the network whose features are learnt from; empty where pixels are.
        weights: digest of its weights; empty where pixels are learnt from.
    """

    fixed: ClassVar[tuple[str, ...]] = ("size", "resize", "augment", "backbone")

    size: int
    resize: int
    augment: Augment
    backbone: str
    weights: str
