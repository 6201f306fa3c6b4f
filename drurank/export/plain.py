"""The text of ``encoding.json``, or why there is none."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from drurank.errors import InputError
from drurank.tabular.jsonrows import HALF
from drurank.terminal import CONTROL

MOST = 2**63


def json_text(content: Mapping[str, Any], of: str) -> str:
    """Plain values as indented JSON, with control characters as JSON escapes them, so that it can be looked at.

    Args:
        content: of the file.
        of: the checkpoint that it is of.

    Raises:
        InputError: naming the first value that JSON, or who reads it, cannot hold.
    """
    for name, value in content.items():
        _check(value, name, of)
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _check(value: Any, place: str, of: str) -> None:
    if isinstance(value, Mapping):
        for name, one in value.items():
            if not isinstance(name, str):
                raise _refused(name, f"a name in {place}", of, "no text")
            _check(name, f"a name in {place}", of)
            _check(one, f"{place}.{name}", of)
    elif isinstance(value, list | tuple):
        for number, one in enumerate(value):
            _check(one, f"{place}[{number}]", of)
    elif isinstance(value, str):
        if HALF.search(value):
            raise _refused(value, place, of, "no Unicode text")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise _refused(value, place, of, "no finite number")
    elif isinstance(value, int):
        if not -MOST <= value < MOST:
            raise InputError(f"{of} cannot be exported: {place} has more than 64 bits; give another checkpoint")
    elif value is not None:
        raise _refused(value, place, of, f"a {type(value).__name__}")


def _refused(value: Any, place: str, of: str, what: str) -> InputError:
    said = " ".join(repr(value).split())[:80]
    return InputError(f"{of} cannot be exported: {place} is {said}, {what}; give another checkpoint")
