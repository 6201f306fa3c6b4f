"""How numbers and dates are written as text: recognised by their cells, and read where that is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Literal

from drurank.errors import InputError
from drurank.tabular.columns import NO_NUMBER, as_option

Writing = Literal["thousands", "decimal", "percent", "date"]
SPACES = " \u00a0\u2009\u202f"
MARKS = {",": ",", ".": ".", "'": "'\u2019", " ": SPACES}
"""What may stand between thousands, and how else it is written."""
NAMES: dict[Writing, str] = {"thousands": "thousands", "decimal": "decimal", "percent": "percents", "date": "dates"}
"""The option by which each is read."""
DAY = 24 * 60 * 60
TIME = r"([T ]+\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp][Mm])?( ?(Z|UTC|[+-]\d{2}:?\d{2}))?)?"
YEAR_FIRST = re.compile(rf"\d{{4}}([-/.])\d{{1,2}}\1\d{{1,2}}{TIME}")
YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}|\d{{2}}){TIME}")
COMPACT = re.compile(r"(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
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
    if all(YEAR_FIRST.fullmatch(text) or YEAR_LAST.fullmatch(text) for text in texts):
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


def date_reader(texts: Iterable[str], form: str | None) -> Callable[[str], float | None]:
    """What reads the dates of a column, as days since 1970 (UTC where no zone is written).

    Args:
        texts: all that it says.
        form: how dates are written, by the codes of ``strptime``; if not given, year, month, day, or else the only
            order of day and month that fits all cells.

    Returns:
        The days that a text says; ``None`` where it says none, or may say two.
    """
    if form is not None:
        return lambda text: _days(lambda: datetime.strptime(text, form))
    last = [(int(found[1]), int(found[3])) for text in texts if (found := YEAR_LAST.fullmatch(text.strip()))]
    day_first, month_first = (any(pair[place] > 12 for pair in last) for place in (0, 1))
    order = None if day_first == month_first else (1, 3) if month_first else (3, 1)

    def read(text: str) -> float | None:
        found = YEAR_LAST.fullmatch(text)
        if found is None:
            return _days(lambda: datetime.fromisoformat(_padded(text))) if YEAR_FIRST.fullmatch(text) else None
        if order is None or len(found[4]) < 4 or (found[5] and found[5].rstrip().lower().endswith("m")):
            return None
        month, day = (found[place] for place in order)
        rest = (found[5] or "").strip()
        return _days(lambda: datetime.fromisoformat(_padded(f"{found[4]}-{month}-{day} {rest}".strip())))

    return read


def is_impossible(text: str, form: str | None) -> bool:
    """Whether a text has the form of a date and says a day or time that there is not, as 2023-02-30."""
    if form is not None:
        try:
            datetime.strptime(text, form)
        except ValueError as error:
            return "out of range" in str(error)
        return False
    found = YEAR_LAST.fullmatch(text)
    if found is None:
        return YEAR_FIRST.fullmatch(text) is not None and date_reader([], None)(text) is None
    orders = (f"{found[4]}-{found[1]}-{found[3]}", f"{found[4]}-{found[3]}-{found[1]}")
    return len(found[4]) == 4 and all(_days(partial(datetime.fromisoformat, _padded(day))) is None for day in orders)


def _padded(text: str) -> str:
    """A date of digits as ISO 8601 has it."""
    day, _, time = re.sub(r"[T ]+", " ", text, count=1).partition(" ")
    day = "-".join(piece.zfill(2) for piece in re.split(r"[-/.]", day))
    time = time.replace(" ", "").replace("UTC", "Z").replace(",", ".")
    return f"{day} {time.zfill(5) if len(time) == 4 else time}".strip()


def _days(made: Callable[[], datetime]) -> float | None:
    try:
        date = made()
    except ValueError:
        return None
    date = date.replace(tzinfo=UTC) if date.tzinfo is None else date
    return date.timestamp() / DAY


def option_of(writing: tuple[Writing, str], columns: Sequence[str]) -> str:
    """The option by which columns so written are read, for messages."""
    kind, mark = writing
    return f"{NAMES[kind]}={mark!r}" if kind in ("thousands", "decimal") else as_option(NAMES[kind], columns)
