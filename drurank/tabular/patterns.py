"""Files that a pattern names, as ``part-*.csv``, looked for within limits: ``/**`` is all that a machine holds."""

from __future__ import annotations

import glob
import math
import os
from collections.abc import Iterator
from itertools import islice

from drurank import limits
from drurank.errors import InputError

RECURSIVE = "**"
MOST_RECURSIVE = 2
"""How often a pattern may have ``**``: with each more, all folders are looked through once more for each folder."""


def files_matching(pattern: str) -> list[str]:
    """The files that a pattern names; none where it is no pattern.

    Raises:
        InputError: if too much has to be looked through to tell.
    """
    if not glob.has_magic(pattern):
        return []
    if not limits.are_lifted():
        _refuse_endless(pattern)
    return glob.glob(pattern, recursive=True)


def _refuse_endless(pattern: str) -> None:
    parts = pattern.split(os.sep)
    first = next(place for place, part in enumerate(parts) if glob.has_magic(part))
    recursive = parts.count(RECURSIVE)
    if recursive > MOST_RECURSIVE:
        raise InputError(
            f"the pattern {pattern} has {RECURSIVE} {recursive} times; give it {MOST_RECURSIVE} times at most and "
            f"name the folders between, or {limits.LIFT}"
        )
    depth = math.inf if recursive else len(parts) - first
    if depth == 1:
        return  # one folder, whatever is in it
    hidden = any(part.startswith(".") for part in parts[first:])
    looked_at = _entries(os.sep.join([*parts[:first], ""]) or os.curdir, depth, hidden)
    if next(islice(looked_at, limits.MOST_ENTRIES, None), None) is not None:
        raise InputError(
            f"the pattern {pattern} has more than {limits.MOST_ENTRIES:,} files and folders to look through; begin it "
            f"with the folder that the files are in, or {limits.LIFT}"
        )


def _entries(folder: str, depth: float, hidden: bool) -> Iterator[str]:
    """Name of each file and folder that a pattern looks at; links are followed, as by the pattern."""
    waiting = [(folder, depth)]
    while waiting:
        here, left = waiting.pop()
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    if entry.name.startswith(".") and not hidden:
                        continue
                    yield entry.name
                    if left > 1 and entry.is_dir():
                        waiting.append((entry.path, left - 1))
        except OSError:  # which no pattern finds anything in
            continue
