"""The pictures of a table's rows, in files or in its cells."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from PIL import Image

from drurank.cache import bar
from drurank.errors import InputError
from drurank.images.decoding import opened, read_picture, squared
from drurank.images.look import Look

Check = Literal["heads", "whole"]
THREADS = 16
"""Files that are opened at a time: more than there are processors, since most of it is waiting for the disk."""
PIECE = 1024
MARK, ENDS = 16, 4096
"""Bytes of a mark, and those at each end of a file that it is of."""


@dataclass(frozen=True)
class Pictures:
    """Pictures by row.

    Attributes:
        files: path of each row's file, where it has one.
        contents: the pictures themselves, binary ``[n]``; where one is null, and if not given, ``files`` are read.
        unnamed: what is wrong with the names of files, by row.
    """

    files: Sequence[str]
    contents: pa.ChunkedArray | None = None
    unnamed: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.files)

    def content(self, row: int) -> str | bytes:
        """Path or content of a row's picture."""
        held = None if self.contents is None else self.contents[row].as_py()
        return self.files[row] if held is None else held

    def picture(self, row: int) -> Image.Image:
        """A row's picture in RGB.

        Raises:
            InputError: saying what is wrong with it.
        """
        return read_picture(self.content(row))

    def square(self, row: int, side: int) -> np.ndarray:
        """Its middle, uint8 ``[3, side, side]``; see ``squared``."""
        return squared(self.picture(row), side)

    def marks(self, rows: np.ndarray) -> np.ndarray:
        """What tells these rows' pictures from others, uint8 ``[k, 16]``: of their sizes, first and last bytes."""
        with ThreadPoolExecutor(THREADS) as pool:
            marks = b"".join(pool.map(lambda row: _mark_of(self.content(row)), rows.tolist()))
        return np.frombuffer(marks, np.uint8).reshape(-1, MARK).copy()

    def stamps(self, rows: np.ndarray) -> hashlib._Hash:
        """A digest of these rows' pictures: of content, or of path, size and time of the last change of files."""
        digest = hashlib.sha256()
        for row in rows.tolist():
            content = self.content(row)
            if isinstance(content, bytes):
                digest.update(hashlib.sha256(content).digest())
            else:
                stat = os.stat(content)
                digest.update(f"{content}\n{stat.st_size}\n{stat.st_mtime_ns}\n".encode())
        return digest

    def faults(self, rows: np.ndarray, check: Check, source: str) -> dict[int, str]:
        """What is wrong with the pictures of these rows, by row; nothing where all can be used.

        Args:
            rows: int64 ``[k]``.
            check: whether only their heads are read, or ``whole`` pictures.
            source: of the rows, for the progress bar.
        """
        said = self._each(rows, self._head if check == "heads" else self._whole, f"Checking the pictures of {source}")
        return {row: fault for row, fault in zip(rows.tolist(), said, strict=True) if fault}

    def looks(self, rows: np.ndarray, source: str) -> list[Look]:
        """What a look at each of these rows' pictures shows."""
        return self._each(rows, self._look, f"Looking at the pictures of {source}")

    def _each(self, rows: np.ndarray, look: Callable[[int], Any], title: str) -> list[Any]:
        found: list[Any] = []
        if not len(rows):
            return found
        with ThreadPoolExecutor(THREADS) as pool, bar(title, len(rows), "pictures") as advance:
            for begin in range(0, len(rows), PIECE):
                found += pool.map(look, some := rows[begin : begin + PIECE].tolist())
                advance(len(some))
        return found

    def _head(self, row: int) -> str:
        if row in self.unnamed:
            return self.unnamed[row]
        try:
            with opened(self.content(row)):
                return ""
        except InputError as error:
            return str(error)

    def _whole(self, row: int) -> str:
        if row in self.unnamed:
            return self.unnamed[row]
        try:
            self.picture(row)
        except InputError as error:
            return str(error)
        return ""

    def _look(self, row: int) -> Look:
        return Look(self.unnamed[row]) if row in self.unnamed else Look.at(self.content(row))


def _mark_of(content: str | bytes) -> bytes:
    if isinstance(content, bytes):
        size, ends = len(content), content[:ENDS] + content[-ENDS:]
    else:
        try:
            with open(content, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                ends = file.read(ENDS)
                file.seek(max(size - ENDS, 0))
                ends += file.read(ENDS)
        except OSError:
            return bytes(MARK)
    return hashlib.blake2b(ends + size.to_bytes(8, "little"), digest_size=MARK).digest()
