"""Text files: how they are encoded and cut into cells is found where that is safe, and asked for where it is not.

Python's codecs and its csv module do the work. Others lose data silently: charset-normalizer reads "Gdańsk" in cp1250
as "Gdañsk", clevercsv cuts a single column of texts at their commas, csv.Sniffer picks one of two delimiters that both
fit, and pyarrow.csv takes all that follows an open quote for one cell.
"""

from __future__ import annotations

import codecs
import csv
import io
import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO, TextIO, cast

import pyarrow as pa

from drurank.errors import InputError
from drurank.limits import LIFT, LONGEST_CELL, LimitedGzip, limit_cells

log = logging.getLogger(__name__)

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
BATCH = 1 << 15
"""Rows that are held as Python strings at once."""
CANDIDATES = (",", ";", "\t", "|")
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
        usual: the delimiter that the file's name says, unless its first line says another.
        asked: the delimiter that a person says.

    Raises:
        InputError: if a row has more or fewer cells than the header, a quote is open, or the delimiter is another.
    """
    rows = iter_rows(text, _find_delimiter(text, text.separator or usual, asked))
    names = next(rows)
    schema = pa.schema([(name, pa.string()) for name in names])
    return pa.concat_tables([schema.empty_table(), *as_tables(rows, schema)])


def read_header(text: TextFile, usual: str, asked: str | None) -> list[str]:
    """The names of the columns, where the first line surely says them; else none. See ``read_delimited``."""
    delimiter = asked or text.separator or usual
    names = _header(text, delimiter)
    others = [other for other in CANDIDATES if other != delimiter and len(_header(text, other)) > 1]
    odd = any(letter in name for name in names for letter in (*CANDIDATES, "\n", "\r"))
    return [] if len(names) < 2 or odd or (others and asked is None) else names


def as_tables(rows: Iterator[Sequence[str]], schema: pa.Schema) -> Iterator[pa.Table]:
    """Rows of text as tables of some thousands each."""
    while batch := list(islice(rows, BATCH)):
        yield pa.table([pa.array(cells, pa.string()) for cells in zip(*batch, strict=True)], schema=schema)


def _find_delimiter(text: TextFile, usual: str, asked: str | None) -> str:
    """That asked for or usual, or where it does not cut each row alike, the only other that does.

    Rows are looked at only where another cuts the header too, as with ``id;income, yearly;age``.
    """
    delimiter = asked or usual
    cells = len(_header(text, delimiter))
    others = [other for other in CANDIDATES if other != delimiter and len(_header(text, other)) > 1]
    if cells != 1 and (asked is not None or not others or _cuts_alike(text, delimiter)):
        return delimiter
    even = [other for other in others if _cuts_alike(text, other)]
    if cells != 1 and len(even) != 1:
        return delimiter
    if not even:
        # The only other that cuts the header is used, so that the error names the row that has other cells.
        return others[0] if len(others) == 1 and asked is None else delimiter
    if len(even) > 1 or asked is not None:
        raise InputError(
            f"{text.path}: cut at {delimiter!r} its header is one column, and cut at "
            f"{' or '.join(map(repr, even))} it is more; give {' or '.join(f'delimiter={other!r}' for other in even)}"
        )
    log.warning(
        f"{text.path}: its cells are cut at {even[0]!r}, which gives each row {len(_header(text, even[0]))} of them"
    )
    return even[0]


def _header(text: TextFile, delimiter: str) -> list[str]:
    limit_cells()
    with text.decoding(), text.open_cells(errors="surrogateescape") as lines:
        try:
            return next(filter(None, csv.reader(lines, delimiter=delimiter)), [])
        except csv.Error:
            return []


def _cuts_alike(text: TextFile, delimiter: str) -> bool:
    try:
        return all(iter_rows(text, delimiter))
    except InputError:
        return False


def iter_rows(text: TextFile, delimiter: str) -> Iterator[list[str]]:
    """The header, and then each row, an empty line of a single column as a blank cell.

    Raises:
        InputError: if there is no header, a row has more or fewer cells than it, a quote is open, or bytes cannot be
            decoded.
    """
    limit_cells()
    where, row, path = "the header", 0, text.path
    with text.decoding(), text.open_cells() as lines:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            names = next(filter(None, reader), None)
            if names is None:
                raise InputError(f"{path} is empty; give a table with a header and at least one row")
            yield names
            where = "row 0"
            for cells in reader:
                if not cells and len(names) > 1:
                    continue
                if cells and len(cells) != len(names):
                    raise InputError(
                        f"{path}: row {row} (the first is 0) has {len(cells)} cell{'s' * (len(cells) > 1)} and the "
                        f"header {len(names)}: {delimiter.join(cells)[:80]!r}; put a cell that has a {delimiter!r} in "
                        f"it in quotes{_other_delimiter(names, delimiter)}"
                    )
                yield cells or [""]
                row += 1
                where = f"row {row}"
        except csv.Error as error:
            if "field larger" in str(error):
                raise InputError(
                    f"{path}: {where} (the first is 0) has a cell of more than {LONGEST_CELL:,} characters, as an open "
                    f"quote makes of the rest of a file; close each quote, or, {LIFT}"
                ) from error
            raise InputError(
                f"{path}: {where} (the first is 0) cannot be read: {error}; close each quote, and double it in a cell"
            ) from error


def _other_delimiter(names: Sequence[str], delimiter: str) -> str:
    """What to give instead where another character cuts the header too."""
    others = [other for other in CANDIDATES if other != delimiter and other in "".join(names)]
    return f", or, if {others[0]!r} is between the cells, give delimiter={others[0]!r}" if others else ""


def _shown(encoding: str) -> str:
    return encoding.removesuffix("-sig").upper()


def _plain(encoding: str) -> str:
    return encoding.replace("-", "").replace("_", "")
