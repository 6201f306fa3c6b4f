"""Rows of long tables as a page carries them: compressed, each name of a group once, until someone asks for them."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterable, Sequence

from drurank.terminal import visible

LINE, CELL = "\x1e", "\x1f"
"""Ends of lines and cells, which no text has that ``visible`` has seen."""
MOST_ROWS, FIRST_ROWS = 1000, 200
"""Rows of a table that stand as they are at the most, and those that do of a longer one."""


class Packed:
    """The rows of the tables of one page, and the names that stand in their first cells."""

    def __init__(self) -> None:
        self._place: dict[str, int] = {}

    def first(self, rows: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
        """Those that stand in the page as they are."""
        return rows if len(rows) <= MOST_ROWS else rows[:FIRST_ROWS]

    def rest(self, rows: Sequence[Sequence[str]]) -> str:
        """The others, a line each: the place of the first cell in ``names``, then the other cells."""
        lines = []
        for name, *cells in rows[len(self.first(rows)) :]:
            place = self._place.setdefault(visible(name), len(self._place))
            lines.append(CELL.join([str(place), *map(visible, cells)]))
        return _compressed(lines)

    def names(self) -> str:
        """Every name that ``rest`` has seen, a line each."""
        return _compressed(self._place)


def _compressed(lines: Iterable[str]) -> str:
    """Lines as base64 of what gzip makes of them; nothing of none."""
    text = LINE.join(lines)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode("ascii") if text else ""
