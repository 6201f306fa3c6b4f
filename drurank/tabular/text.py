"""Text files: how they are encoded is found where that is safe, and asked for where it is not.

Python's codecs do the work. charset-normalizer loses data silently: it reads "Gdańsk" in cp1250 as "Gdañsk".
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO, TextIO, cast

from drurank.errors import InputError
from drurank.limits import LimitedGzip

MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Byte order marks and the encodings that they stand for; that of UTF-32 begins with that of UTF-16."""
GZIP = b"\x1f\x8b"
HEAD = 1 << 12
AROUND = 30
"""Characters before and after bytes that cannot be decoded, for messages."""
MOST_ZEROS = 8
"""One in so many bytes may be 0 in a text."""
BLOCK = 1 << 24
"""Bytes that are looked at together."""
SEPARATOR = re.compile(r"sep=(.)\s*", re.IGNORECASE)
"""A first line by which Excel is told the delimiter."""


class TextFile:
    """A text file, plain or compressed by gzip, and its encoding.

    Args:
        path: as it was given, for messages.
        file: where it is; one that ends in ``.gz`` is compressed.
        encoding: that was asked for; if none was, a file with a byte order mark is read by it and any other as UTF-8.

    Raises:
        InputError: if it is not text, or surely in another encoding than the one asked for.
    """

    def __init__(self, path: str, file: Path, encoding: str | None) -> None:
        self.path, self.file, self.asked = path, file, encoding
        with self.open_bytes() as opened:
            head = opened.read(HEAD)
        marked = next((name for mark, name in MARKS.items() if head.startswith(mark)), None)
        if head.startswith(GZIP):
            raise InputError(f"{path} is compressed by gzip; let its name end in .gz")
        # Of UTF-16 about every second byte is 0; a single one may stand in a text.
        if encoding is None and marked is None and head.count(0) * MOST_ZEROS > len(head):
            raise InputError(
                f"{path} is not text: it contains zero bytes; give a text file, or, if it is UTF-16, "
                "text_encoding=utf-16-le"
            )
        self.encoding = marked or check_encoding(encoding or "utf-8")
        if encoding is not None:
            self._refuse_garbling(check_encoding(encoding), marked)

    def open_bytes(self) -> IO[bytes]:
        """Its bytes, uncompressed."""
        if self.file.suffix.lower() == ".gz":
            return cast(IO[bytes], LimitedGzip(self.path, self.file))
        return self.file.open("rb")

    def open(self, errors: str = "strict") -> TextIO:
        """Its text, line ends as they are."""
        return io.TextIOWrapper(self.open_bytes(), encoding=self.encoding, errors=errors, newline="")

    @cached_property
    def separator(self) -> str | None:
        """The delimiter that a first line for Excel, as ``sep=;``, says; that line is not one of the table."""
        with self.decoding(), self.open(errors="surrogateescape") as lines:
            found = SEPARATOR.fullmatch(lines.readline(HEAD))
        return None if found is None else found[1]

    def open_cells(self, errors: str = "strict") -> TextIO:
        """Its text from the header on, line ends as they are."""
        opened = self.open(errors)
        if self.separator is not None:
            opened.readline()
        return opened

    def _refuse_garbling(self, asked: str, marked: str | None) -> None:
        """Stop where the file is surely in another encoding, in which the asked one would read other letters."""
        found = marked
        if marked is None and not asked.startswith("utf") and asked != "ascii":
            found = "utf-8" if self._is_utf8_beyond_ascii() else None
        if found is not None and not _plain(asked).startswith(_plain(found)[:4]):
            raise InputError(f"{self.path} is {_shown(found)}, and you gave text_encoding={self.asked}; leave it out")

    def _is_utf8_beyond_ascii(self) -> bool:
        decode, beyond = codecs.getincrementaldecoder("utf-8")().decode, False
        with self.open_bytes() as opened:
            try:
                while block := opened.read(BLOCK):
                    beyond |= not block.isascii()
                    decode(block)
                decode(b"", True)
            except UnicodeDecodeError:
                return False
        return beyond

    @contextmanager
    def decoding(self) -> Iterator[None]:
        """Turn what cannot be decoded into a sentence that names its line.

        Raises:
            InputError: instead of a ``UnicodeError`` of decoding.
        """
        try:
            yield
        except UnicodeEncodeError:
            raise
        except UnicodeError as error:
            near, wanted = self._bad_bytes(), _shown(self.encoding)
            said = f"{near} is not {wanted}" if near else f" is not {wanted} ({error.args[-1]})"
            raise InputError(
                f"{self.path}{said}; save the file as UTF-8, or give its encoding, as text_encoding=cp1252"
            ) from error

    def _bad_bytes(self) -> str:
        """The first line that cannot be decoded, and what stands around the bytes; nothing where lines are unclear."""
        if _plain(self.encoding).startswith(("utf16", "utf32", "utf7")):
            return ""
        with self.open(errors="surrogateescape") as lines:
            for number, line in enumerate(lines, start=1):
                if found := re.search("[\udc80-\udcff]", line):
                    near = line[max(0, found.start() - AROUND) : found.start() + AROUND].strip()
                    return f": line {number} (the first is 1): {near.encode(self.encoding, 'surrogateescape')!r}"
        return ""


def check_encoding(name: str) -> str:
    """The codec's own name of a text encoding.

    Raises:
        InputError: if there is no such encoding of text.
    """
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=name)
        return codecs.lookup(name).name
    except LookupError as error:
        raise InputError(
            f"text_encoding is {name!r}, not an encoding; give one of Python's, as utf-8, utf-16, cp1252 or latin-1"
        ) from error


def _shown(encoding: str) -> str:
    return encoding.removesuffix("-sig").upper()


def _plain(encoding: str) -> str:
    return encoding.replace("-", "").replace("_", "")
