"""Text files of cells: the delimiter is found where that is safe, and asked for where it is not.

Python's csv module does the work. Others lose data silently: clevercsv cuts a single column of texts at their commas,
csv.Sniffer picks one of two delimiters that both fit, and pyarrow.csv takes all after an open quote for one cell.
"""

from __future__ import annotations

import csv
import logging
from collections.abc import Iterator, Sequence
from itertools import islice

import pyarrow as pa

from drurank.errors import InputError
from drurank.limits import LIFT, LONGEST_CELL, limit_cells
from drurank.tabular.text import TextFile

log = logging.getLogger(__name__)

BATCH = 1 << 15
"""Rows that are held as Python strings at once."""
CANDIDATES = (",", ";", "\t", "|")


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
