"""Tables and cells in Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarks.evidence.values import SHARES, Interval

MISSING = "*Not run yet.*"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the first column is text, the others are figures."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def figure(name: str, value: float, sign: bool = False) -> str:
    """A criterion as it is shown."""
    if math.isnan(value):
        return ""
    digits = 1 if name in SHARES else 2
    return f"{value:{'+' if sign else ''}.{digits}f}"


def with_interval(name: str, interval: Interval, sign: bool = False) -> str:
    """A mean with its interval; bold where it is told from 0."""
    mean = figure(name, interval.mean, sign)
    mean = f"**{mean}**" if interval.told else mean
    if math.isnan(interval.low):
        return mean
    return f"{mean} ({figure(name, interval.low, sign)} to {figure(name, interval.high, sign)})"
