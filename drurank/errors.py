"""Errors for input that cannot be used, each in one sentence."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral, Real

SHOWN = 20
CLOSE = 0.6
"""Likeness of two names from which on one may be meant for the other."""
SHORTEST = 3
"""Letters that tell which name a person began to write."""


class InputError(ValueError):
    """An input that cannot be used; the command line prints its message without a traceback."""


class FindingError(InputError):
    """The first of the errors that a look at the data finds, which may not be the last.

    Args:
        message: the sentence of the first.
        others: looks for the rest, and gives their sentences.
    """

    def __init__(self, message: str, others: Callable[[], Sequence[str]] = tuple) -> None:
        super().__init__(message)
        self.others = others


class NonFiniteError(InputError):
    """A training whose losses or weights became nan or inf."""


def nearest(name: str, known: Iterable[str], part: Callable[[str], str] = lambda name: name.lstrip("-")) -> str:
    """The end of a sentence about an unknown name: the only one that begins so, or the closest, or two, and all known.

    Args:
        name: what was written.
        known: the valid names.
        part: what of a name is compared; all but its dashes, if not given.

    Returns:
        ``did you mean 'x'? known: x, y, z``; only the first half where there are many names, only the second where
        none is close.
    """
    options = [str(option) for option in known]
    parts, wanted = [part(option).lower() for option in options], part(name).lower()
    begun = [place for place, one in enumerate(parts) if one.startswith(wanted)]
    right = begun if len(begun) == 1 and len(wanted) >= SHORTEST else _closest(wanted, parts)
    hint = f"did you mean {' or '.join(repr(options[place]) for place in right[:2])}? " if right else ""
    if hint and len(options) > SHOWN:
        return hint.strip()
    more = f", and {len(options) - SHOWN} more" if len(options) > SHOWN else ""
    shown = ", ".join(map(in_list, options[:SHOWN])) + more
    return f"{hint}known: {shown or 'none'}"


def _closest(wanted: str, parts: Sequence[str]) -> list[int]:
    """Places of the like names with the fewest letters to change; of those, with all that was written."""
    likeness = [difflib.SequenceMatcher(None, one, wanted).ratio() for one in parts]
    far = {
        place: (letters_apart(wanted, one), sorted(one) != sorted(wanted), wanted not in one, -likeness[place])
        for place, one in enumerate(parts)
        if likeness[place] >= CLOSE
    }
    return [place for place, one in far.items() if one == min(far.values())]


def letters_apart(one: str, other: str) -> int:
    """Letters to put in, leave out, change or swap with the next until one text is the other."""
    before: list[int] = [0]
    row: list[int] = [*range(len(other) + 1)]
    for i, letter in enumerate(one, start=1):
        above, before, row = before, row, [i]
        for j, wanted in enumerate(other, start=1):
            least = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                least = min(least, above[j - 2] + 1)
            row.append(least)
    return int(row[-1])


def in_list(name: str) -> str:
    """A name among others with commas between them: in quotes if it could be taken for several, or hardly be seen."""
    return repr(name) if re.search(r"[,;]|^\s|\s$|^$", name) else name


def is_count(value: object) -> bool:
    """Whether a value is an integer, Python's or numpy's, of 1 or more."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


def check_count(name: str, value: object, more: str = "", *, least: int = 1) -> None:
    """Refuse anything but an integer, Python's or numpy's, of 1 or more.

    Args:
        name: of the option.
        value: what was given.
        more: end of the sentence, as ``, or leave it out``.
        least: the smallest that is taken.

    Raises:
        InputError: naming the value.
    """
    if not is_count(value) or value < least:  # type: ignore[operator]
        raise InputError(f"{name} is {value!r}; give a whole number of {least} or more{more}")


def check_seed(name: str, value: int, most: int = 2**64) -> None:
    """Refuse a seed that no generator takes.

    Raises:
        InputError: naming the range.
    """
    if not 0 <= value < most:
        raise InputError(f"{name} is {value}; give a whole number of 0 or more and below 2**{most.bit_length() - 1}")


def check_number(
    name: str,
    value: object,
    low: float = 0,
    high: float = math.inf,
    *,
    above: bool = False,
    below: bool = False,
    condition: str = "",
) -> None:
    """Refuse anything but a finite number in a range.

    Args:
        name: of the option.
        value: what was given.
        low: smallest value; with ``above``, excluded.
        high: largest value; with ``below``, excluded.
        above: whether ``low`` is excluded.
        below: whether ``high`` is excluded.
        condition: under which this is the range, as ``with rank_by='quantile'``.

    Raises:
        InputError: naming the range.
    """
    fits = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not fits or value < low or value > high or (above and value == low) or (below and value == high):  # type: ignore[operator]
        if high == math.inf:
            wanted = f"above {low:g}" if above else f"of {low:g} or more"
        else:
            least = f"above {low:g}" if above else f"of {low:g} or more" if below else f"from {low:g}"
            wanted = f"{least} {'and below' if below else 'to'} {high:g}"
        kind = "number" if condition and high < math.inf else "finite number"
        raise InputError(f"{name} is {value!r}; {f'{condition} ' if condition else ''}give a {kind} {wanted}")


def check_choice(name: str, value: object, choices: object) -> None:
    """Refuse a value that is not one of a ``Literal``'s."""
    known: tuple[str, ...] = getattr(choices, "__args__", ())
    if value not in known:
        raise InputError(f"{name} is {value!r}; give one of {', '.join(map(repr, known))}")
