"""JSON lines: one object a line, whose keys are columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from drurank.errors import InputError
from drurank.tabular.text import TextFile

KINDS = {
    bool: "a truth value",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
}


def read_json_lines(text: TextFile) -> pa.Table:
    """Read a file of JSON lines; a key that a row lacks is a missing cell there.

    Raises:
        InputError: if a line is no object, names a key twice, or a column holds values of several kinds.
    """
    columns: dict[str, list[Any]] = {}
    rows = 0
    with text.decoding(_places(text)), text.open() as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            for name, value in _row(text.path, number, line).items():
                cells = columns.setdefault(name, [])
                cells.extend([None] * (rows - len(cells)))
                cells.append(value)
            rows += 1
    if rows == 0:
        raise InputError(f'{text.path} is empty; give at least one line with an object, as {{"x": 1}}')
    for cells in columns.values():
        cells.extend([None] * (rows - len(cells)))
    return pa.table({name: _array(text.path, name, cells) for name, cells in columns.items()})


def _row(path: str, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line, object_pairs_hook=_without_twins)
    except ValueError as error:
        if number == 1 and line.lstrip().startswith("["):
            raise InputError(f"{path} is one JSON array; write one object a line, without brackets around") from error
        said = error if isinstance(error, InputError) else f"is no JSON: {error}"
        raise InputError(f"{path}: line {number} (the first is 1) {said}; write one whole object a line") from error
    if isinstance(row, list):
        raise InputError(f"{path}: line {number} (the first is 1) is an array; write one object a line, with names")
    if not isinstance(row, dict):
        raise InputError(f"{path}: line {number} (the first is 1) is {line.strip()[:80]!r}; write one object a line")
    return row


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise InputError(f"has {next(name for name in made if names.count(name) > 1)!r} twice")
    return made


def _array(path: str, name: str, cells: list[Any]) -> pa.Array:
    try:
        return pa.array(cells)
    except (pa.ArrowException, OverflowError, UnicodeError) as error:
        kinds = [None if cell is None else KINDS[type(cell)] for cell in cells]
        first = next(kind for kind in kinds if kind is not None)
        for row, kind in enumerate(kinds):
            if kind not in (None, first):
                raise InputError(
                    f"{path}: column {name!r}, row {row} (the first is 0): {json.dumps(cells[row])[:80]} is {kind}, "
                    f"and the cells before are each {first}; write one kind in a column"
                ) from error
        raise InputError(
            f"{path}: column {name!r} cannot be kept ({' '.join(str(error).split())[:80]}); write large numbers and "
            "whatever else is special as plain text"
        ) from error


def _places(text: TextFile) -> Iterator[tuple[str, str]]:
    with text.open(errors="surrogateescape") as lines:
        for number, line in enumerate(lines, start=1):
            yield f"line {number} (the first is 1)", line
