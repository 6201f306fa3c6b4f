"""Squares of pixels: decoded when a batch needs them, or once into files that are mapped into memory."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from drurank.cache import FORMAT, bar, cache_folder, check_sums, made_once
from drurank.errors import InputError
from drurank.images.pictures import Pictures

AT_ONCE = 256
"""Pictures that are decoded before they are written; building a cache holds twice as many in memory."""


class Pixels(Protocol):
    """Squares by row."""

    side: int

    def squares(self, rows: np.ndarray) -> np.ndarray:
        """Those of some rows, uint8 ``[k, 3, side, side]``."""
        ...


@dataclass
class Decoded:
    """Squares that are decoded when they are asked for.

    Args:
        pictures: by row.
        side: of a square, in pixels.
        where: names a row, for messages.
    """

    pictures: Pictures
    side: int
    where: Callable[[int], str] = field(repr=False)

    def squares(self, rows: np.ndarray) -> np.ndarray:
        """Those of some rows, uint8 ``[k, 3, side, side]``.

        Raises:
            InputError: naming the picture that cannot be read.
        """
        made = np.empty((len(rows), 3, self.side, self.side), np.uint8)
        for place, row in enumerate(rows.tolist()):
            made[place] = self.square(row)
        return made

    def square(self, row: int) -> np.ndarray:
        """That of one row, uint8 ``[3, side, side]``.

        Raises:
            InputError: naming it, if it cannot be read.
        """
        try:
            return self.pictures.square(row, self.side)
        except InputError as error:
            raise InputError(
                f"{self.where(row)} {error}; fix or remove it, or leave such rows out (broken='drop', check='whole')"
            ) from error


class Mapped:
    """Squares in a file that is mapped into memory; other processes map the same pages.

    Args:
        folder: that ``decode_once`` made.
        places: in it, of each row, int64 ``[n]``, -1 where it has none.
        side: of a square, in pixels.
        checked: whether its files were checked already.
    """

    def __init__(self, folder: Path, places: np.ndarray, side: int, *, checked: bool = False) -> None:
        self.folder, self.places, self.side = folder, places, side
        if not checked:
            check_sums(folder)
        shape = (int(places.max(initial=-1)) + 1, 3, side, side)
        self.pixels = mapped_array(folder / "pixels.npy", np.dtype(np.uint8), shape)

    def __reduce__(self) -> Any:
        """Map the file again in another process instead of copying its contents."""
        return partial(Mapped, checked=True), (self.folder, self.places, self.side)

    def squares(self, rows: np.ndarray) -> np.ndarray:
        """Those of some rows, uint8 ``[k, 3, side, side]``."""
        squares: np.ndarray = self.pixels[self.places[rows]]
        return squares


def mapped_array(file: Path, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray:
    """An array of a folder of the cache, mapped into memory.

    Raises:
        InputError: if it is not one of this type and shape.
    """
    remedy = f"delete the folder {file.parent}, and it is made anew"
    try:
        found: np.ndarray = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError, MemoryError) as error:
        raise InputError(f"{file} is damaged: it holds no array; {remedy}") from error
    if found.dtype != dtype or found.shape != shape:
        raise InputError(
            f"{file} is damaged: it holds {found.dtype} {list(found.shape)}, not {dtype} {list(shape)}; {remedy}"
        )
    return found


def decode_once(decoded: Decoded, rows: np.ndarray, cache_dir: str, source: str) -> Mapped:
    """Decode these rows' pictures into the cache, unless they are there.

    Other files, sizes and times of change, or another side, are another folder of the cache.

    Args:
        decoded: what decodes them.
        rows: int64 ``[k]``, ascending.
        cache_dir: folder of the cache.
        source: of the rows, for the progress bar.

    Raises:
        InputError: if one cannot be read, or the cache is damaged.
    """
    key = hashlib.sha256(f"{FORMAT} {decoded.side} {len(rows)} ".encode() + decoded.pictures.stamps(rows).digest())
    folder = cache_folder(cache_dir) / "pixels" / key.hexdigest()[:32]
    made_once(folder, lambda beside: _write(beside, decoded, rows, source))
    places = np.full(len(decoded.pictures), -1, dtype=np.int64)
    places[rows] = np.arange(len(rows))
    return Mapped(folder, places, decoded.side)


def _write(folder: Path, decoded: Decoded, rows: np.ndarray, source: str) -> None:
    shape = (len(rows), 3, decoded.side, decoded.side)
    head = {"descr": "|u1", "fortran_order": False, "shape": shape}
    title = f"Decoding {source} ({math.prod(shape) / 1e9:.1f} GB)"
    with (folder / "pixels.npy").open("wb") as file, bar(title, len(rows), "pictures") as advance:
        np.lib.format.write_array_header_1_0(file, head)
        for squares in decoded_in_parallel(decoded, rows, AT_ONCE):
            for square in squares:
                file.write(square.data)
            advance(len(squares))


def decoded_in_parallel(decoded: Decoded, rows: np.ndarray, at_once: int) -> Iterator[list[np.ndarray]]:
    """The squares of these rows in their order, so many at a time; the next ones are decoded while these are used.

    Raises:
        InputError: naming the first picture that cannot be read.
    """
    pieces = [rows[begin : begin + at_once].tolist() for begin in range(0, len(rows), at_once)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        coming = [pool.map(decoded.square, piece) for piece in pieces[:1]]
        for place in range(len(pieces)):
            squares = list(coming.pop())
            coming += [pool.map(decoded.square, piece) for piece in pieces[place + 1 : place + 2]]
            yield squares
