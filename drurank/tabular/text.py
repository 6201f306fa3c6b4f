"""Text files: how they are encoded and cut into cells is found where that is safe, and asked for where it is not."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TextIO, cast

import pyarrow as pa
import pyarrow.csv as pa_csv

from drurank.errors import InputError

csv.field_size_limit(2**31 - 1)  # A cell may hold a long text; 131,072 characters are the default.

log = logging.getLogger(__name__)

MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""What a file begins with, and the encoding that it says; that of UTF-32 begins with that of UTF-16."""
GZIP = b"\x1f\x8b"
HEAD = 1 << 12
MOST_ZEROS = 8
"""One in so many bytes may be 0 in a text."""
BLOCK = 1 << 24
CANDIDATES = (",", ";", "\t", "|")


class TextFile:
    """A text file, plain or compressed by gzip, and its encoding.

    Args:
        path: as it was given, for messages.
        file: where it is; one that ends in ``.gz`` is compressed.
        encoding: that was asked for; if none was, a file with a byte order mark is read by it and any other as UTF-8.

    Raises:
        InputError: if it is no text, or the encoding is none or not that of the file.
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
                f"{path} is no text, for it has bytes of 0; give a text file, or, if it is UTF-16, say "
                "--data.text_encoding utf-16-le"
            )
        self.encoding = marked or check_encoding(encoding or "utf-8")
        if encoding is not None:
            self._refuse_garbling(check_encoding(encoding), marked)

    def open_bytes(self) -> IO[bytes]:
        """Its bytes, uncompressed."""
        if self.file.suffix.lower() == ".gz":
            return cast(IO[bytes], gzip.open(self.file))
        return self.file.open("rb")

    def open(self, errors: str = "strict") -> TextIO:
        """Its text, line ends as they are."""
        return io.TextIOWrapper(self.open_bytes(), encoding=self.encoding, errors=errors, newline="")

    def lines(self) -> Iterator[tuple[str, str]]:
        """Each line's place and what stands there, also where that cannot be decoded."""
        with self.open(errors="surrogateescape") as lines:
            for number, line in enumerate(lines, start=1):
                yield f"line {number} (the first is 1)", line

    def _refuse_garbling(self, asked: str, marked: str | None) -> None:
        """Stop where the file is surely in another encoding, in which the asked one would read other letters."""
        found = marked
        if marked is None and not asked.startswith("utf") and asked != "ascii":
            found = "utf-8" if self._is_utf8_beyond_ascii() else None
        if found is not None and not _plain(asked).startswith(_plain(found)[:4]):
            raise InputError(
                f"{self.path} is {found.removesuffix('-sig').upper()}, and text_encoding says {self.asked}; leave "
                "--data.text_encoding out"
            )

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
    def decoding(self, where: Iterator[tuple[str, str]]) -> Iterator[None]:
        """Turn what cannot be decoded into a sentence.

        Args:
            where: places and texts of the file, read with ``errors="surrogateescape"``; gone through only on an error.
        """
        try:
            yield
        except UnicodeError as error:
            wanted = "UTF-8" if self.asked is None else self.asked
            remedy = "save the file as UTF-8, or say how it is written, as --data.text_encoding cp1252"
            single = not _plain(self.encoding).startswith(("utf16", "utf32", "utf7"))
            for place, text in where if single else ():
                if not text.isascii() and re.search("[\udc80-\udcff]", text):
                    said = text.encode(self.encoding, "surrogateescape")[:80]
                    raise InputError(f"{self.path}: {place}: {said!r} is not {wanted}; {remedy}") from error
            raise InputError(f"{self.path} is not {self.encoding.upper()} ({error.args[-1]}); {remedy}") from error


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
            f"text_encoding is {name!r}, which is none; give one of Python's, as utf-8, utf-16, cp1252 or latin-1"
        ) from error


def check_delimiter(delimiter: str) -> str:
    r"""The delimiter that was asked for; a tab may also be written ``\t``.

    Raises:
        InputError: if it is not one character that can cut cells.
    """
    meant = "\t" if delimiter == "\\t" else delimiter
    if len(meant) != 1 or not meant.isascii() or meant.isalnum() or meant in "\"'\r\n\0.-+":
        raise InputError(f"delimiter is {delimiter!r}; give one character that cuts cells, e.g. ',', ';', '|' or '\\t'")
    return meant


def read_delimited(text: TextFile, usual: str, asked: str | None) -> pa.Table:
    """Read cells as they stand in the file; every column is text.

    Args:
        text: the file.
        usual: the delimiter that the file's name says.
        asked: the delimiter that a person says.

    Raises:
        InputError: if a row has more or fewer cells than the header, a quote is open, or the delimiter is another.
    """
    places = _places(text, asked or usual)
    with text.decoding(places):
        delimiter = _find_delimiter(text, usual, asked)
        rows = iter_rows(text, delimiter)
        names, count = next(rows), sum(1 for _ in rows)
    if count == 0:
        return pa.table([pa.array([], pa.string())] * len(names), names=names)
    encoding = "utf8" if _plain(text.encoding).startswith("utf8") else text.encoding
    with text.open_bytes() as opened:
        return pa_csv.read_csv(
            opened,
            read_options=pa_csv.ReadOptions(block_size=BLOCK, encoding=encoding),
            parse_options=pa_csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=len(names) > 1
            ),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=False,
                quoted_strings_can_be_null=False,
            ),
        )


def _find_delimiter(text: TextFile, usual: str, asked: str | None) -> str:
    """That asked for or usual, or where it leaves the header whole, the only other that cuts each row alike."""
    delimiter = asked or usual
    if len(_header(text, delimiter)) != 1:
        return delimiter
    others = {other: len(_header(text, other)) for other in CANDIDATES if other != delimiter}
    others = {other: cells for other, cells in others.items() if cells > 1}
    even = [other for other, cells in others.items() if _cuts_into(text, other, cells)]
    if not even:
        # The only other that cuts the header shall say which row it does not cut alike.
        return next(iter(others)) if len(others) == 1 and asked is None else delimiter
    if len(even) > 1 or asked is not None:
        choice = ", or ".join(f"--data.delimiter {_shown(other)}" for other in even)
        raise InputError(
            f"{text.path}: cut at {delimiter!r} its header is one column, and cut at "
            f"{' or '.join(map(repr, even))} it is more; write {choice}"
        )
    log.warning(f"{text.path}: its cells are cut at {even[0]!r}, as each row has {others[even[0]]} of them so")
    return even[0]


def _shown(delimiter: str) -> str:
    return "'\\t'" if delimiter == "\t" else repr(delimiter)


def _header(text: TextFile, delimiter: str) -> list[str]:
    with text.open(errors="surrogateescape") as lines:
        try:
            return next((cells for cells in csv.reader(lines, delimiter=delimiter) if cells), [])
        except csv.Error:
            return []


def _cuts_into(text: TextFile, delimiter: str, cells: int) -> bool:
    with text.open() as lines:
        try:
            return all(len(row) in (0, cells) for row in csv.reader(lines, delimiter=delimiter, strict=True))
        except csv.Error:
            return False


def iter_rows(text: TextFile, delimiter: str) -> Iterator[list[str]]:
    """The header, and then each row. Arrow alone would take an open quote, and swallow the rows after it.

    Raises:
        InputError: if there is no header, a row has more or fewer cells than it, or a quote is open.
    """
    where, rows, path = "the header", 0, text.path
    with text.open() as lines:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            names = next((cells for cells in reader if cells), [])
            if not names:
                raise InputError(f"{path} is empty; give a table with a header and at least one row")
            yield names
            where = "row 0"
            for cells in reader:
                if len(cells) != len(names):
                    if not cells and len(names) > 1:
                        continue  # An empty line.
                    if cells:
                        raise InputError(
                            f"{path}: row {rows} (the first is 0) has {len(cells)} cells and the header {len(names)}: "
                            f"{delimiter.join(cells)[:80]!r}; put a cell that has a {delimiter!r} in it in quotes"
                        )
                yield cells
                rows += 1
                where = f"row {rows}"
        except csv.Error as error:
            raise InputError(
                f"{path}: {where} (the first is 0) cannot be read: {error}; close each quote, and double it in a cell"
            ) from error


def _places(text: TextFile, delimiter: str) -> Iterator[tuple[str, str]]:
    """Each cell's place and what stands there, of a file that cannot be decoded."""
    names: list[str] = []
    row = -2
    delimiter = next((other for other in (delimiter, *CANDIDATES) if len(_header(text, other)) > 1), delimiter)
    with text.open(errors="surrogateescape") as lines:
        for cells in csv.reader(lines, delimiter=delimiter):
            if cells or len(names) == 1:
                names, row = names or cells, row + 1
            for place, cell in enumerate(cells):
                column = repr(names[place]) if place < len(names) else str(place)
                yield ("the header" if row < 0 else f"column {column}, row {row} (the first is 0)"), cell


def _plain(encoding: str) -> str:
    return encoding.replace("-", "").replace("_", "")
