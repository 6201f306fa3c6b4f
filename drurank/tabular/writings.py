"""How numbers are written as text: recognised by their cells, and read where that is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from drurank.errors import InputError
from drurank.tabular.columns import NO_NUMBER, as_option
from drurank.tabular.dates import is_date

Writing = Literal["thousands", "decimal", "percent", "date"]
SPACES = " \u00a0\u2009\u202f"
MARKS = {",": ",", ".": ".", "'": "'\u2019", " ": SPACES}
"""What may stand between thousands, and how else it is written."""
NAMES: dict[Writing, str] = {"thousands": "thousands", "decimal": "decimal", "percent": "percents", "date": "dates"}
"""The option by which each is read."""
PERCENT = re.compile(r"[+-]?\d+([.,]\d+)?\s*%")


@dataclass(frozen=True)
class Marks:
    """What stands in numbers that are text.

    Args:
        thousands: between thousands; nothing, if not given.
        decimal: before decimals; a comma where thousands have a point, else a point, if not given.

    Raises:
        InputError: if they are not such marks, or the same.
    """

    thousands: str | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        if self.thousands is not None and self.thousands not in MARKS:
            raise InputError(
                f"thousands is {self.thousands!r}; give what stands between thousands: ',', '.', ' ' or \"'\""
            )
        if self.decimal not in (None, ",", "."):
            raise InputError(f"decimal is {self.decimal!r}; give ',' or '.'")
        if self.point == self.thousands:
            raise InputError(f"thousands and decimal are both {self.thousands!r}; give two different marks")

    @property
    def point(self) -> str:
        """What stands before decimals."""
        return self.decimal or ("," if self.thousands == "." else ".")

    @cached_property
    def grouped(self) -> re.Pattern[str]:
        """Numbers with a mark between thousands."""
        between = f"[{re.escape(MARKS[self.thousands or ','])}]"
        return re.compile(rf"[+-]?\d{{1,3}}({between}\d{{2,3}})*{between}\d{{3}}({re.escape(self.point)}\d+)?")

    @cached_property
    def plain(self) -> re.Pattern[str]:
        """Numbers without one."""
        point = re.escape(self.point)
        return re.compile(rf"[+-]?(\d+({point}\d*)?|{point}\d+)(e[+-]?\d+)?", re.IGNORECASE)

    def is_marked(self, text: str) -> bool:
        """Whether a text is a number with one of the marks that are not usual."""
        is_grouped = self.thousands is not None and self.grouped.fullmatch(text) is not None
        return is_grouped or (self.point == "," and "," in text and self.plain.fullmatch(text) is not None)

    def read(self, text: str) -> float | None:
        """The number that a text says; ``None`` where it says none with these marks."""
        if self.thousands is not None and self.grouped.fullmatch(text):
            text = "".join(letter for letter in text if letter not in MARKS[self.thousands])
        elif not self.plain.fullmatch(text):
            return None
        return float(text.replace(self.point, "."))


def writing_of(texts: Iterable[str]) -> tuple[Writing, str] | None:
    """How all of these cells are written, if not as plain numbers or words, and the mark that stands in them.

    >>> writing_of(["1,234", "12"]), writing_of(["1,5", "2"]), writing_of(["36.2%"]), writing_of(["2021-03-04"])
    (('thousands', ','), ('decimal', ','), ('percent', '%'), ('date', '-'))
    """
    texts = [text for text in map(str.strip, texts) if not is_missing(text)]
    if not texts:
        return None
    if all(map(PERCENT.fullmatch, texts)):
        return "percent", "%"
    if all(map(is_date, texts)):
        return "date", "-"
    for mark in MARKS:
        marks = Marks(thousands=mark)
        if mark != "." and all(marks.read(text) is not None for text in texts) and any(map(marks.is_marked, texts)):
            return "thousands", mark
    german = Marks(thousands=".")
    if all(german.read(text) is not None for text in texts) and any("," in text for text in texts):
        return ("thousands", ".") if any("." in text for text in texts) else ("decimal", ",")
    return None


def is_missing(text: str) -> bool:
    """Whether a cell of numbers says that nothing is there."""
    return text.lower() in NO_NUMBER


def option_of(writing: tuple[Writing, str], columns: Sequence[str]) -> str:
    """The option by which columns so written are read, for messages."""
    kind, mark = writing
    return f"{NAMES[kind]}={mark!r}" if kind in ("thousands", "decimal") else as_option(NAMES[kind], columns)
