"""Numbers and names as sentences, tables and pictures have them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

NO_LETTER, MOST_LETTERS = re.compile(r"\W+"), 40
"""What a part of a file's name that comes from a table has not, and how many letters it has."""
PLAIN = re.compile(rf"[\w .+-]{{1,{MOST_LETTERS}}}")
LONGEST = 18
SHOWN = 3
"""Names of many that a sentence gives."""


def as_names(names: str | Sequence[str] | None) -> list[str]:
    """Names from a list, or from one string with commas; none from ``None``."""
    if isinstance(names, str):
        return [name.strip() for name in names.split(",")]
    return [str(name) for name in names or ()]


def in_digits(value: float | None) -> str:
    """A number with three digits, as ``.640``, ``1.62`` or ``27.7``; empty for ``None`` and ``nan``."""
    if value is None or math.isnan(value):
        return ""
    size = abs(value)
    if size >= 999.5:
        return f"{value:,.0f}"
    text = f"{value:.{3 if size < 0.9995 else 2 if size < 9.995 else 1 if size < 99.95 else 0}f}"
    if size >= 0.9995:
        return text
    return ".000" if float(text) == 0 else text.replace("0.", ".", 1)


def in_percent(value: float) -> str:
    """A share as tables of studies have it, as ``64.9 %``."""
    return f"{100 * value:.1f} %"


def in_range(ends: Sequence[float] | None) -> str:
    """An interval, as ``.586-.709``; empty for ``None`` and ``nan``."""
    if ends is None or any(map(math.isnan, ends)):
        return ""
    return (" to " if min(ends) < 0 else "-").join(in_digits(end) for end in ends)


def counted(number: int, thing: str, plural: str | None = None) -> str:
    """A number of things, as ``1 group`` or ``1,334 groups``."""
    return f"{number:,} {thing if number == 1 else plural or f'{thing}s'}"


def some(items: Iterable[str], *, shown: int = SHOWN, between: str = ", ") -> str:
    """The first few of many, and how many more there are."""
    items = list(items)
    more = f" and {len(items) - shown:,} more" if len(items) > shown else ""
    return between.join(items[:shown]) + more


def quoted(text: str) -> str:
    """A name as it is told from the sentence around it; long ones are cut."""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def joined(names: Sequence[str], word: str = "and") -> str:
    """Names, as ``a``, ``a and b`` or ``a, b and c``."""
    return f" {word} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def short(name: str) -> str:
    """A name, with its middle left out where it is long."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST // 2]}…{name[1 - LONGEST // 2 :]}"


def shortened(names: Sequence[str]) -> list[str]:
    """Names as ``short`` has them; where that makes two alike, the part is kept that tells them apart."""
    brief = {name: short(name) for name in names}
    alike: dict[str, list[str]] = {}
    for name, found in brief.items():
        alike.setdefault(found, []).append(name)
    for some in alike.values():
        if len(some) > 1:
            brief |= _apart(some)
    return [brief[name] for name in names] if len(set(brief.values())) == len(brief) else list(names)


def _apart(names: Sequence[str]) -> dict[str, str]:
    """Names with what all of them begin and end with left out as far as they are too long."""
    begin = _alike_at_first(names)
    end = _alike_at_first([name[begin:][::-1] for name in names])
    found = {}
    for name in names:
        stop = len(name) - end
        start = max(0, min(begin, stop - LONGEST + 2))
        found[name] = f"{'…' if start else ''}{name[start:stop]}{'…' if end else ''}"
    return found


def _alike_at_first(names: Sequence[str]) -> int:
    """Number of letters that all of them begin with."""
    first, last = min(names), max(names)
    return next((place for place, letter in enumerate(first) if letter != last[place]), len(first))


def capital(sentence: str) -> str:
    """With a capital letter."""
    return sentence[0].upper() + sentence[1:]


def numbered_part(number: int, name: str) -> str:
    """A name from a table as a part of a file's name, which leads nowhere, under a number that tells it from others."""
    return f"{number}_{NO_LETTER.sub('_', name)[:MOST_LETTERS]}"


def parts_of_names(names: Sequence[str]) -> list[str]:
    """Names from a table as parts of files' names: as they are if all of them are plain, else as ``numbered_part``."""
    if all(map(PLAIN.fullmatch, names)):
        return list(names)
    return [numbered_part(number, name) for number, name in enumerate(names, start=1)]
