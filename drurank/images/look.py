"""What a look at a picture shows."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from drurank.errors import InputError
from drurank.images.decoding import opened, read_picture


@dataclass(frozen=True)
class Look:
    """What a look at a picture shows.

    Attributes:
        fault: why it cannot be used; empty where it can.
        digest: SHA-256 of the file; empty where it cannot be read.
        width: in pixels, as stored.
        height: likewise.
        mode: how Pillow calls its kind of pixels, as ``RGB``.
        kind: its format, as ``JPEG``.
        is_plain: whether all of its pixels are alike.
    """

    fault: str = ""
    digest: str = ""
    width: int = 0
    height: int = 0
    mode: str = ""
    kind: str = ""
    is_plain: bool = False

    @classmethod
    def at(cls, content: str | bytes) -> Look:
        """The look at a picture, given by its path or its content."""
        digest = ""
        try:
            with opened(content) as picture:
                (width, height), mode, kind = picture.size, picture.mode, picture.format or ""
            held = content if isinstance(content, bytes) else Path(content).read_bytes()
            digest = hashlib.sha256(held).hexdigest()
            ends = read_picture(content).getextrema()
        except (InputError, OSError) as error:
            return cls(str(error), digest)
        return cls("", digest, width, height, mode, kind, all(low == high for low, high in ends))  # type: ignore[misc]


def sum_up(looks: Iterable[Look]) -> str:
    """What pictures have in common, in a few words: formats, sizes, kinds of pixels."""
    seen = [look for look in looks if not look.fault]
    if not seen:
        return "no picture that can be used"
    return "; ".join((_counts(look.kind for look in seen), _sizes(seen), _counts(look.mode for look in seen)))


def _counts(names: Iterable[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in Counter(names).most_common(4))


def _sizes(seen: Sequence[Look]) -> str:
    sizes = np.array([(look.width, look.height) for look in seen])
    (low_width, low_height), (high_width, high_height) = sizes.min(axis=0), sizes.max(axis=0)
    if (low_width, low_height) == (high_width, high_height):
        return f"{low_width} x {low_height} pixels"
    shorter = int(np.median(sizes.min(axis=1)))
    return (
        f"{low_width} to {high_width} x {low_height} to {high_height} pixels, the shorter side {shorter} in the median"
    )
