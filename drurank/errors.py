"""What is said to a person whose input is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """An input that cannot be used; the command line shows its one sentence without a traceback."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the nearest right one and all that are known.

    Args:
        name: what was written.
        known: the names that would have been right.

    Returns:
        ``did you mean 'x'? known: x, y, z`` or, where nothing is near, only the second half.
    """
    options = [str(option) for option in known]
    match = difflib.get_close_matches(name.lower(), [option.lower() for option in options], n=1)
    hint = ""
    if match:
        right = next(option for option in options if option.lower() == match[0])
        hint = f"did you mean {right!r}? "
    shown = ", ".join(options[:40]) + (f", and {len(options) - 40} more" if len(options) > 40 else "")
    return f"{hint}known: {shown or 'none'}"
