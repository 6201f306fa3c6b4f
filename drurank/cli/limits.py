"""What is more than the machine has, no text, or a link to itself: a sentence in place of the error of a library."""

from __future__ import annotations

import re
from typing import Any

from drurank.errors import InputError

OF_MEMORY = re.compile(
    r"can't allocate memory|out of memory|bad_alloc|bad array new length|[Uu]nable to allocate|"
    r"Storage size calculation overflowed|numel: integer multiplication overflow|Cannot allocate memory",
)
OF_SIZES = re.compile(
    r"too large to convert|Overflow when unpacking|array is too big|Maximum allowed (size|dimension) exceeded|"
    r"value cannot be converted to type|int too big to convert"
)


LOOP = "Symlink loop from "
"""Begins what Python says of a link that leads to itself, which is no ``OSError`` before Python 3.13."""


def too_much(error: BaseException | None) -> str | None:
    """A sentence about memory that ran out, a number that is too large, or a name that cannot be; else ``None``."""
    while error is not None:
        said = " ".join(str(error).split())[:200]
        if isinstance(error, MemoryError) or (isinstance(error, RuntimeError | OSError) and OF_MEMORY.search(said)):
            return (
                f"memory ran out ({said or type(error).__name__}); give smaller sizes: of batches (batch_size), of the "
                "network, or of the data"
            )
        if isinstance(error, OverflowError | RuntimeError | ValueError | TypeError) and OF_SIZES.search(said):
            return f"a number is too large ({said}); give smaller ones"
        if isinstance(error, RuntimeError) and said.startswith(LOOP):
            return f"{said.removeprefix(LOOP)} is a link that leads to itself; give another path"
        if isinstance(error, UnicodeEncodeError) and _bytes_in(str(error.object)):
            return _said(str(error.object))
        error = error.__cause__ or error.__context__
    return None


def refuse_bytes(words: Any) -> None:
    """Refuse names of files that are not text, which could be written into no file of a run.

    Args:
        words: of the command line, or settings.

    Raises:
        InputError: naming the first.
    """
    if isinstance(words, dict):
        refuse_bytes([*words, *words.values()])
    elif isinstance(words, list | tuple):
        for word in words:
            refuse_bytes(word)
    elif isinstance(words, str) and _bytes_in(words):
        raise InputError(_said(words))


def _bytes_in(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _said(text: str) -> str:
    return f"{text[:200]!r} holds bytes that are not UTF-8; rename the file or folder"
