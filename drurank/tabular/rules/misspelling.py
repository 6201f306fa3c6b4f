"""Rare names that are one letter from a far commoner one."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from drurank.tabular.columns import Column
from drurank.tabular.feature import MOST_CATEGORIES
from drurank.tabular.odd import oddity
from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules.finding import Finding
from drurank.tabular.rules.spelling import MOST_RENAMED
from drurank.tabular.spellings import plain_spelling
from drurank.words import counted, quoted, some

RARE = 0.05
"""Share of the rows of a name below which another is rare beside it."""
SHORTEST = 5
"""Letters from which on a word one letter off is rather a slip than another word or code."""
WORDS = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|_")


def misspelt(data: GroupedRows) -> Iterator[Finding]:
    """Rare labels, groups and categories that are one letter from a far commoner one, in one finding a column."""
    for role, column in _columns(data):
        pairs, meant = _slips(column, data.once(data.used))
        if pairs:
            said = some(
                f"{quoted(rare)} ({counted(few, 'row')}) = {quoted(common)} ({many:,})"
                for rare, few, common, many in pairs
            )
            yield Finding(
                "misspelling",
                "note",
                f"the {role} column {column.name!r} has rare values that may be misspellings: {said}? If they are, "
                f"{_remedy(role, meant)}",
                [column.name, *(rare for rare, *_ in pairs)],
            )


def _columns(data: GroupedRows) -> list[tuple[str, Column]]:
    """Columns of names: label, group, and features that are categories."""
    found = [("label", data.label_column)] if data.label_column is not None else []
    found += [("group", column) for column in data.group_columns]
    for feature in data.features:
        if feature.is_number or feature.size > MOST_CATEGORIES:
            continue
        odd = oddity(data, feature)
        if odd is None or odd.writing is None:  # else numbers or dates
            found.append(("feature", feature.column))
    return [(role, column) for role, column in found if column is not None and column.is_text]


def _slips(column: Column, rows: np.ndarray) -> tuple[list[tuple[str, int, str, int]], dict[str, str]]:
    """Rare names and the far commoner ones that they may be, with their rows, the commonest first.

    Ways of writing that differ by case and the like count as one name, called as most of its rows call it.

    Returns:
        The names, and what each way of writing a rare one would be read as.
    """
    code = column.codes[rows]
    times = np.bincount(code[code >= 0], minlength=len(column.texts))
    written: dict[str, list[int]] = {}
    for place in sorted(range(len(times)), key=lambda place: (-times[place], column.texts[place])):
        if times[place]:
            written.setdefault(plain_spelling(column.texts[place]), []).append(place)
    total = {name: int(times[places].sum()) for name, places in written.items()}
    near: dict[tuple[str, ...], list[str]] = {}
    for name in total:
        for cut in _shortened(name):
            near.setdefault(cut, []).append(name)
    pairs: list[tuple[str, int, str, int]] = []
    meant: dict[str, str] = {}
    for rare, few in total.items():
        others = {name for cut in _shortened(rare) for name in near[cut] if few < RARE * total[name]}
        others = {name for name in others if is_one_slip(rare, name)}
        if others:
            common = max(others, key=lambda name: (total[name], name))
            called = column.texts[written[common][0]]
            pairs.append((column.texts[written[rare][0]], few, called, total[common]))
            meant |= {column.texts[place]: called for place in written[rare]}
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0])), meant


def _shortened(name: str) -> set[tuple[str, ...]]:
    """The name with a letter of a long word left out, each way; names one letter apart have one of these in common."""
    words = WORDS.findall(name)
    found = {tuple(words)}
    for place, word in enumerate(words):
        if word.isalpha() and len(word) >= SHORTEST:
            cuts = (word[:at] + word[at + 1 :] for at in range(len(word)))
            found |= {(*words[:place], cut, *words[place + 1 :]) for cut in cuts}
    return found


def is_one_slip(one: str, other: str) -> bool:
    """Whether names are the same but for one letter more, less or other, or two exchanged, in a word of five or more.

    >>> is_one_slip("clerk", "clerkk"), is_one_slip("old town 3", "odl town 3"), is_one_slip("bridge 1", "brigde 1")
    (True, False, True)
    >>> is_one_slip("A1", "A2"), is_one_slip("mill lane 10", "mill lane 11"), is_one_slip("north hill", "south hill")
    (False, False, False)
    """
    mine: list[str] = WORDS.findall(one)
    theirs: list[str] = WORDS.findall(other)
    differ = [(a, b) for a, b in zip(mine, theirs, strict=False) if a != b]
    if len(mine) != len(theirs) or len(differ) != 1:
        return False
    short, long = sorted(differ[0], key=len)
    if not (short.isalpha() and long.isalpha() and len(short) >= SHORTEST and len(long) - len(short) <= 1):
        return False
    at = next((place for place, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) < len(long):
        return short[at:] == long[at + 1 :]
    return short[at + 1 :] == long[at + 1 :] or (
        short[at : at + 2] == long[at : at + 2][::-1] and short[at + 2 :] == long[at + 2 :]
    )


def _remedy(role: str, meant: dict[str, str]) -> str:
    option = {"label": "relabel", "group": "regroup"}.get(role)
    if option is None or len(meant) > MOST_RENAMED:
        return "mend them in the file"
    return f"give {option}={meant!r}"
