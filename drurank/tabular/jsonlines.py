"""JSON lines: one object a line, whose keys are columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TextIO

import pyarrow as pa

from drurank.errors import InputError
from drurank.tabular.jsoncolumns import table_of_rows, without_twins
from drurank.tabular.text import TextFile

BRACKETS = "write one object a line, without brackets around, or let its name end in .json"


def read_json_lines(text: TextFile) -> pa.Table:
    """Read a file of JSON lines; a key that a row lacks is a missing cell there.

    Raises:
        InputError: if a line is no object, names a key twice, or a column holds values of several kinds.
    """
    with text.decoding(text.lines()), text.open() as lines:
        table = table_of_rows(text.path, _rows(text.path, lines))
    if table is None:
        raise InputError(f'{text.path} is empty; give at least one line with an object, as {{"x": 1}}')
    return table


def _rows(path: str, lines: TextIO) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _row(path, number, line)


def _row(path: str, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line, object_pairs_hook=without_twins)
    except ValueError as error:
        if number == 1 and line.lstrip().startswith("["):
            raise InputError(f"{path} is one JSON array; {BRACKETS}") from error
        said = error if isinstance(error, InputError) else f"is no JSON: {error}"
        raise InputError(f"{path}: line {number} (the first is 1) {said}; write one whole object a line") from error
    if isinstance(row, list):
        raise InputError(f"{path}: line {number} (the first is 1) is an array; write one object a line, with names")
    if not isinstance(row, dict):
        raise InputError(f"{path}: line {number} (the first is 1) is {line.strip()[:80]!r}; write one object a line")
    return row
