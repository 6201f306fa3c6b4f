"""What is kept of the training rows of texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from drurank.data.standards import StandardisedNames
from drurank.text.pooling import Pooling


@dataclass
class TextEncoder(StandardisedNames):
    """What is kept of the training rows of texts.

    Attributes:
        tokenizer: digest of what cuts the texts.
        name: folder or hub name that it was loaded from.
        vocabulary: number of its tokens.
        max_length: most tokens of a text.
        pooling: how the frozen encoder's output became features; ``None`` where tokens are given.
        weights: digest of the frozen encoder's; empty where tokens are given.
    """

    fixed: ClassVar[tuple[str, ...]] = ("max_length", "pooling")
    elsewhere: ClassVar[tuple[str, ...]] = ("name", *StandardisedNames.elsewhere)

    tokenizer: str
    name: str
    vocabulary: int
    max_length: int
    pooling: Pooling | None
    weights: str
