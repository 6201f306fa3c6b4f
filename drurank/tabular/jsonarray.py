"""A file that is one JSON array of objects, read a piece at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TextIO

import pyarrow as pa

from drurank.errors import InputError
from drurank.tabular.jsoncolumns import table_of_rows, without_twins
from drurank.tabular.text import TextFile

PIECE = 1 << 20
"""Characters that are read at once; more only where an object is longer."""
NEAR = 16
"""No literal or escape is longer; a fault nearer to the end of what was read may be one that is cut short."""
BLANKS = re.compile(r"[ \t\r\n]*")
WANTED = 'write one array of objects, as [{"x": 1}, {"x": 2}]'


def is_array(text: TextFile) -> bool:
    """Whether a file begins as a JSON array does."""
    with text.open(errors="surrogateescape") as file:
        while piece := file.read(PIECE):
            if piece.strip():
                return piece.lstrip().startswith("[")
    return False


def read_json_array(text: TextFile) -> pa.Table:
    """Read such a file; a key that an object lacks is a missing cell there.

    Raises:
        InputError: if it is no array of objects, an object names a key twice, or a column holds several kinds.
    """
    with text.decoding(text.lines()), text.open() as file:
        table = table_of_rows(text.path, _objects(text.path, _Window(file)))
    if table is None:
        raise InputError(f"{text.path} is an empty array; {WANTED}")
    return table


class _Window:
    """What is read of a file and not yet used."""

    def __init__(self, file: TextIO) -> None:
        self.file, self.text, self.at = file, "", 0
        self.decoder = json.JSONDecoder(object_pairs_hook=without_twins)

    def next_mark(self) -> str:
        """The next character that is not blank, which stays; nothing at the end of the file."""
        while True:
            self.at = BLANKS.match(self.text, self.at).end()  # type: ignore[union-attr]
            if self.at < len(self.text) or not self._more():
                return self.text[self.at : self.at + 1]

    def value(self) -> Any:
        """The value that begins here."""
        while True:
            try:
                value, self.at = self.decoder.raw_decode(self.text, self.at)
                return value
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated string") or error.pos > len(self.text) - NEAR
                if not cut or not self._more():
                    raise

    def _more(self) -> bool:
        rest = self.text[self.at :]
        # As much again as there is, so that a long object is not gone over once a piece.
        piece = self.file.read(max(PIECE, len(rest)))
        if piece:
            self.text, self.at = rest + piece, 0
        return bool(piece)


def _objects(path: str, window: _Window) -> Iterator[dict[str, Any]]:
    window.next_mark()
    window.at += 1
    row = 0
    if window.next_mark() == "]":
        window.at += 1
    else:
        more = True
        while more:
            yield _object(path, row, window)
            mark = window.next_mark()
            if mark not in (",", "]"):
                said = f"{window.text[window.at :][:40]!r}" if mark else "the end of the file"
                raise InputError(f"{path}: after row {row} (the first is 0) comes {said}, no comma or ']'; {WANTED}")
            window.at += 1
            row, more = row + 1, mark == ","
    if window.next_mark():
        raise InputError(f"{path}: after its array comes {window.text[window.at :][:40]!r}; {WANTED}")


def _object(path: str, row: int, window: _Window) -> dict[str, Any]:
    where = f"{path}: row {row} (the first is 0)"
    mark = window.next_mark()
    try:
        value = window.value()
    except json.JSONDecodeError as error:
        near = window.text[error.pos :][:40]
        said = f"at {near!r}" if near else "where the file ends"
        raise InputError(f"{where} is no JSON: {error.msg} {said}; {WANTED}") from error
    except InputError as error:
        raise InputError(f"{where} {error}; name each value once") from error
    except ValueError as error:
        # A number of more digits than Python reads.
        raise InputError(f"{where} is no JSON: {error}; {WANTED}") from error
    if not isinstance(value, dict):
        said = "an array" if mark == "[" else json.dumps(value)[:80]
        raise InputError(f"{where} is {said}, no object; {WANTED}")
    return value
