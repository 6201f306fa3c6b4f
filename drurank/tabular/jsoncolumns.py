"""Columns from rows that are objects, whatever file they stood in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pyarrow as pa

from drurank.errors import InputError

BLOCK = 1 << 16
"""Rows that are held as Python's values at once."""
HALF = re.compile("[\ud800-\udfff]")
KINDS = {
    bool: "a truth value",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
}


def table_of_rows(path: str, rows: Iterator[dict[str, Any]]) -> pa.Table | None:
    """The rows as a table; a key that a row lacks is a missing cell there.

    Args:
        path: file, for messages.
        rows: by name their cells.

    Returns:
        The table; ``None`` if there are no rows.

    Raises:
        InputError: if a column holds values of several kinds.
    """
    blocks: list[pa.Table] = []
    kinds: dict[str, str] = {}
    names: dict[str, None] = {}
    done, block = 0, list[dict[str, Any]]()
    while more := list(islice(rows, BLOCK)):
        block += more
        names |= dict.fromkeys(name for row in more for name in row)
        if names:  # Without one Arrow would lose count of the rows.
            blocks.append(pa.table({name: _array(path, name, block, done, kinds) for name in names}))
            done, block = done + len(block), []
    if not blocks:
        return pa.table({}) if block else None
    return pa.table({name: _joined(path, name, blocks) for name in names})


def without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, of its names and values.

    Raises:
        InputError: if a name is there twice.
    """
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise InputError(f"has {next(name for name in made if names.count(name) > 1)!r} twice")
    return made


def _array(path: str, name: str, rows: list[dict[str, Any]], before: int, kinds: dict[str, str]) -> pa.Array:
    """A column of these rows, of which ``before`` others come first; ``kinds`` keeps of what kind each column is."""
    cells = [row.get(name) for row in rows]
    head = next((cell for cell in cells if cell is not None), None)
    if head is not None:
        first = kinds.setdefault(name, KINDS[type(head)])
    try:
        array = pa.array(cells)
    except (pa.ArrowException, OverflowError, UnicodeError) as error:
        _refuse_kinds(path, name, cells, before, first)
        _refuse_halves(path, name, cells, before)
        raise _cannot_be_kept(path, name, error) from error
    if head is not None and KINDS[type(head)] != first:
        _refuse_kinds(path, name, cells, before, first)
    return array


def _refuse_kinds(path: str, name: str, cells: list[Any], before: int, first: str) -> None:
    for row, cell in enumerate(cells, start=before):
        if cell is not None and KINDS[type(cell)] != first:
            raise InputError(
                f"{path}: column {name!r}, row {row} (the first is 0): {json.dumps(cell)[:80]} is {KINDS[type(cell)]}, "
                f"and the cells before are each {first}; write one kind in a column"
            )


def _refuse_halves(path: str, name: str, cells: list[Any], before: int) -> None:
    for row, cell in enumerate(cells, start=before):
        if isinstance(cell, str) and HALF.search(cell):
            raise InputError(
                f"{path}: column {name!r}, row {row} (the first is 0): {json.dumps(cell)[:80]} has half of a letter of "
                "two (\\ud800 to \\udfff), which is no text; write both halves, or leave it out"
            )


def _joined(path: str, name: str, blocks: list[pa.Table]) -> pa.ChunkedArray:
    columns = [
        block.select([name]) if name in block.column_names else pa.table({name: pa.nulls(block.num_rows)})
        for block in blocks
    ]
    try:
        return pa.concat_tables(columns, promote_options="permissive")[name]
    except pa.ArrowException as error:
        raise _cannot_be_kept(path, name, error) from error


def _cannot_be_kept(path: str, name: str, error: Exception) -> InputError:
    return InputError(
        f"{path}: column {name!r} cannot be kept ({' '.join(str(error).split())[:80]}); write large numbers and "
        "whatever else is special as plain text"
    )
