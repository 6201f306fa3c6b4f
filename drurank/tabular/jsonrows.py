"""JSON files: one object a line, or one array of objects; a key that a row lacks is a missing cell there.

Python parses and Arrow types the columns. Faster readers lose data silently: pyarrow.json turns text into dates without
their time zone, rounds whole numbers beyond 2**53 and crashes on deep nesting; orjson, msgspec and ijson keep the last
of two values of one name, and ijson writes "?" for half a letter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, TextIO

import pyarrow as pa

from drurank.errors import InputError
from drurank.tabular.text import TextFile

BLOCK = 1 << 16
"""Rows that are held as Python objects at once."""
WANTED = 'write one object a line, as {"x": 1}, or one array of objects, as [{"x": 1}, {"x": 2}]'
OPEN = re.compile(r"\s*\[\s*")
COMMA = re.compile(r"\s*([,\]]?)\s*")
HALF = re.compile("[\ud800-\udfff]")
KINDS = {bool: "a boolean", int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}


def read_json(text: TextFile) -> pa.Table:
    """Read a file of JSON lines, or of one array.

    Raises:
        InputError: if a row is not an object or names a value twice, or a column holds values of several kinds.
    """
    with text.decoding(), text.open() as file:
        first = next((mark for mark in iter(lambda: file.read(1), "") if not mark.isspace()), "")
    with text.decoding(), text.open() as file:
        return table_of(text.path, _array(text.path, file.read()) if first == "[" else _lines(text.path, file))


def _lines(path: str, file: TextIO) -> Iterator[dict[str, Any]]:
    """The object of each line that is not blank."""
    for number, line in enumerate(file, start=1):
        written = line.strip()
        if written:
            where = f"{path}: line {number} (the first is 1)"
            row, end = _object(where, written, 0)
            if end < len(written):
                raise InputError(f"{where} goes on after its object with {_near(written, end)}; {WANTED}")
            yield row


def _array(path: str, written: str) -> Iterator[dict[str, Any]]:
    """The objects of an array that the whole text is."""
    at, row, mark = OPEN.match(written).end(), 0, ","  # type: ignore[union-attr]
    if written.startswith("]", at):
        at, mark = COMMA.match(written, at).end(), "]"  # type: ignore[union-attr]
    while mark == ",":
        where = f"{path}: row {row} (the first is 0)"
        cells, at = _object(where, written, at)
        yield cells
        found = COMMA.match(written, at)
        assert found is not None
        mark, row = found[1], row + 1
        if not mark:
            raise InputError(f"{where} is followed by {_near(written, found.end())}, not a comma or ']'; {WANTED}")
        at = found.end()
    if at < len(written):
        raise InputError(f"{path}: after its array comes {_near(written, at)}; {WANTED}")


def _object(where: str, written: str, at: int) -> tuple[dict[str, Any], int]:
    """The object that begins at a place in a text, and where it ends."""
    try:
        value, end = DECODER.raw_decode(written, at)
    except json.JSONDecodeError as error:
        raise InputError(f"{where} is not JSON: {error.msg} at {_near(written, error.pos)}; {WANTED}") from error
    except InputError as error:
        raise InputError(f"{where} {error}; name each value once") from error
    except ValueError as error:
        raise InputError(
            f"{where} has a number of more digits than Python reads; write such numbers as text"
        ) from error
    if not isinstance(value, dict):
        raise InputError(f"{where} is {written[at:end][:80]!r}, not an object; {WANTED}")
    return value, end


def _near(written: str, at: int) -> str:
    return repr(written[at : at + 40]) if at < len(written) else "the end"


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise InputError(f"has {next(name for name in made if names.count(name) > 1)!r} twice")
    return made


DECODER = json.JSONDecoder(object_pairs_hook=_without_twins)


def table_of(path: str, rows: Iterator[dict[str, Any]]) -> pa.Table:
    """The rows as a table, typed block by block.

    Args:
        path: what they are called in messages.
        rows: each by the names of its cells.

    Raises:
        InputError: if there is none, or a column holds values of several kinds.
    """
    columns: dict[str, list[pa.Array]] = {}
    done = 0
    while block := list(islice(rows, BLOCK)):
        for name in dict.fromkeys(chain(columns, *block)):
            arrays = columns.setdefault(name, [pa.nulls(done)])
            cells = [row.get(name) for row in block]
            try:
                if {bool, float} <= set(map(type, cells)):
                    raise pa.ArrowInvalid("Arrow takes true for 1.0 after a decimal")
                arrays.append(pa.array(cells))
            except (pa.ArrowException, OverflowError, UnicodeError) as error:
                raise _fault(path, name, arrays, cells, error) from error
        done += len(block)
    if done == 0:
        raise InputError(f"{path} is empty; {WANTED}")
    return pa.table({name: _joined(path, name, arrays) for name, arrays in columns.items()})


def _joined(path: str, name: str, arrays: list[pa.Array]) -> pa.ChunkedArray:
    try:
        return pa.concat_tables([pa.table({name: array}) for array in arrays], promote_options="permissive")[name]
    except pa.ArrowException as error:
        raise _fault(path, name, arrays, [], error) from error


def _fault(path: str, name: str, arrays: list[pa.Array], cells: list[Any], error: Exception) -> InputError:
    """What keeps the cells of these arrays and then others from being one column."""
    where, first, largest = f"{path}: column {name!r}", None, (0, 0, 0)
    for row, cell in enumerate(chain(*(array.to_pylist() for array in arrays), cells)):
        if cell is None:
            continue
        at = f"{where}, row {row} (the first is 0): {json.dumps(cell, default=str)[:80]}"
        kind = KINDS.get(type(cell), f"a {type(cell).__name__}")
        first = first or kind
        if kind != first:
            return InputError(f"{at} is {kind}, and the cells before are each {first}; write one kind in a column")
        if isinstance(cell, str) and HALF.search(cell):
            return InputError(f"{at} has half a letter (\\ud800 to \\udfff); write both halves, or leave it out")
        if isinstance(cell, int):
            largest = max(largest, (abs(cell), cell, row))
    if largest[0] > 2**53:
        return InputError(
            f"{where}, row {largest[2]} (the first is 0): {largest[1]} is too large a number to be kept exactly; write "
            "such numbers as text"
        )
    said = " ".join(str(error).split())[:80]
    return InputError(f"{where} cannot be kept ({said}); write its values as text")
