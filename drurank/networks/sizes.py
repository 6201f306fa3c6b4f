"""What the data fixes about a network."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from drurank.errors import InputError

COUNTS = ("in_features", "num_classes", "vocabulary", "max_length", "image_size")


@dataclass(frozen=True)
class Sizes:
    """What the data fixes about a network.

    Attributes:
        in_features: width of the numeric input.
        num_classes: number of labels.
        cardinalities: number of codes of each categorical input that is to be embedded; empty where there is none.
        vocabulary: number of tokens where the input is text, else 0.
        max_length: most tokens of a text, else 0.
        tokenizer: folder or hub name of what cut the texts, else empty.
        image_size: side of the pictures where the input is pixels, uint8 ``[B, 3, image_size, image_size]``, else 0.
        largest_token: the largest number among the texts' tokens and that of padding; ``None`` where not known.
    """

    in_features: int
    num_classes: int
    cardinalities: tuple[int, ...] = ()
    vocabulary: int = 0
    max_length: int = 0
    image_size: int = 0
    tokenizer: str = field(default="", compare=False)
    largest_token: int | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cardinalities", tuple(self.cardinalities))

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Sizes:
        """Those of which ``as_plain`` gave this.

        Raises:
            InputError: if it gave something else.
        """
        numbers = [plain.get(name, 0) for name in COUNTS]
        cardinalities, largest = plain.get("cardinalities", []), plain.get("largest_token")
        counts = [*numbers, *(cardinalities if isinstance(cardinalities, list | tuple) else [None])]
        whole = all(type(count) is int and count >= 0 for count in [*counts, 0 if largest is None else largest])
        known = {one.name for one in fields(cls)}
        if not whole or not {"in_features", "num_classes"} <= plain.keys() <= known:
            raise InputError(f"the checkpoint is damaged: its sizes are {plain!r:.200}; give another one of the run")
        return cls(**plain)

    def as_plain(self) -> dict[str, Any]:
        """All of it as plain values; with a list, since a tuple makes YAML unreadable for a safe reader."""
        return {**asdict(self), "cardinalities": list(self.cardinalities)}
