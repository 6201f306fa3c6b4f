"""Limits of what is read, so that a small file made to fill the memory or the day is refused in a sentence.

``DRURANK_LIMITS=off`` in the environment lifts them.
"""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path
from typing import Any, cast

from drurank.errors import InputError

NAME = "DRURANK_LIMITS"
LIFT = f"if it is right, set {NAME}=off in the environment"
FREE, TIMES = 1 << 28, 100
"""Bytes that any file may become, and how often its size a larger one may."""
LONGEST_CELL = 1 << 24
"""Characters of a cell of CSV: a quote that is left open makes one cell of the rest of a file."""
MOST_VALUES = 200_000
"""Values of a YAML file, each counted as often as an alias repeats it."""
MOST_TEXT = 1 << 25
"""Bytes of a YAML or JSON file of a run or a study."""
MOST_FIGURES = 3_000_000
"""Figures in the ``metrics.csv`` of a run that is gone on with."""
MOST_REPEATED = 20_000_000
"""Rows that counts stand for, of which a figure that is no share of them needs each, with some 40 bytes."""
MOST_ENTRIES = 300_000
"""Files and folders that are looked through for those of a pattern."""
EARLY, SUSPECT = 1 << 22, 20
"""Bytes of a compressed file, and times what they were read from, from which on all of it is unpacked at once to see
whether it is too much: rows are parsed a hundred times as slowly."""
CHUNK = 1 << 24


def are_lifted() -> bool:
    """Whether the person who runs this has said so."""
    return os.environ.get(NAME) == "off"


def limit_cells() -> None:
    """Have Python's reader of CSV refuse longer cells."""
    csv.field_size_limit(2**31 - 1 if are_lifted() else LONGEST_CELL)


def refuse_growth(path: str | Path, size: int, grown: int, what: str = "bytes") -> None:
    """Refuse a file that becomes much more than it is.

    Args:
        path: as it was given.
        size: of the file.
        grown: what it becomes.
        what: it becomes so many of.

    Raises:
        InputError: if that is above both limits.
    """
    if grown > max(FREE, TIMES * size) and not are_lifted():
        raise InputError(
            f"{path} has {size:,} bytes and becomes {grown:,} {what} or more, as files do that are made to fill the "
            f"memory; {LIFT}"
        )


def refuse_large(file: Path, most: int | None = None) -> None:
    """Refuse a file of more bytes, which become some fifty times as many once it is parsed.

    Args:
        file: that is read as a whole.
        most: bytes that are taken; ``MOST_TEXT``, if not given.

    Raises:
        InputError: naming it.
    """
    size, most = file.stat().st_size, MOST_TEXT if most is None else most
    if size > most and not are_lifted():
        raise InputError(f"{file} has {size:,} bytes, and none of its kind needs more than {most:,}; {LIFT}")


def refuse_repeated(figure: str, split: str, rows: int) -> None:
    """Refuse counts of more rows than a figure that needs each of them is computed from.

    Args:
        figure: its name.
        split: of the rows.
        rows: what the counts add up to.

    Raises:
        InputError: naming all three.
    """
    if rows > MOST_REPEATED and not are_lifted():
        raise InputError(
            f"figure {figure!r} needs each row that the counts stand for, which are {rows:,} in split {split!r}, more "
            f"than {MOST_REPEATED:,}; leave it out, as shares of rows (tpr, fpr, ...) take any counts, or give a "
            f"sample of the rows; {LIFT}"
        )


class LimitedGzip(gzip.GzipFile):
    """The content of a gzip file, refused as soon as it is too much."""

    def __init__(self, path: str, file: Path) -> None:
        super().__init__(file, "rb")
        self._path, self._file, self._size = path, file, file.stat().st_size
        self._is_scanned, self._packed = False, cast(Any, self.fileobj)

    def read(self, size: int | None = -1) -> bytes:
        """As that of any file; all of it in pieces."""
        if size is not None and size >= 0:
            return self._checked(super().read(size))
        pieces = []
        while piece := self._checked(super().read(CHUNK)):
            pieces.append(piece)
        return b"".join(pieces)

    def read1(self, size: int = -1) -> bytes:
        """What is there."""
        return self._checked(super().read1(size))

    def _checked(self, piece: bytes) -> bytes:
        grown = self.tell()
        refuse_growth(self._path, self._size, grown)
        if not self._is_scanned and grown > EARLY and grown > SUSPECT * self._packed.tell() and not are_lifted():
            self._is_scanned = True
            with gzip.open(self._file) as whole:
                while whole.read(CHUNK):
                    refuse_growth(self._path, self._size, whole.tell())
        return piece


def count_values(node: Any) -> int:
    """Number of values of a composed YAML document, each as often as it is repeated; ``MOST_VALUES`` + 1 for more."""
    known: dict[int, int] = {}

    def count(one: Any) -> int:
        if id(one) not in known:
            known[id(one)] = MOST_VALUES + 1  # until it is known: one that holds itself has no end
            value = getattr(one, "value", None)
            inner = (
                [part for pair in value for part in (pair if isinstance(pair, tuple) else (pair,))]
                if isinstance(value, list)
                else []
            )
            known[id(one)] = min(1 + sum(map(count, inner)), MOST_VALUES + 1)
        return known[id(one)]

    return count(node) if node is not None else 0
