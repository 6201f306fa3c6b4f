"""How dates are written as text: the order of day and month that all cells fit, and their reading as days."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial

DAY = 24 * 60 * 60
TIME = r"([T ]+\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp][Mm])?( ?(Z|UTC|[+-]\d{2}:?\d{2}))?)?"
YEAR_FIRST = re.compile(rf"\d{{4}}([-/.])\d{{1,2}}\1\d{{1,2}}{TIME}")
YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}|\d{{2}}){TIME}")
COMPACT = re.compile(r"(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
ORDERS = {"%d": "day first", "%m": "month first", "%Y": "year first"}
"""First code of a form to how it is called."""


def is_date(text: str) -> bool:
    """Whether a text has the form of a date; it may say a day that there is not."""
    return bool(YEAR_FIRST.fullmatch(text) or YEAR_LAST.fullmatch(text))


def form_of(texts: Iterable[str]) -> str | None:
    """The only form that fits all the dates of a column, by the codes of ``strptime``, without the time of day.

    Where the year is last in some cells, theirs; ``None`` where day and month may be either way round, or there is no
    date.

    >>> form_of(["3/4/2021", "13/4/2021"]), form_of(["2021-03-04"]), form_of(["3/4/2021"])
    ('%d/%m/%Y', '%Y-%m-%d', None)
    """
    texts = [text.strip() for text in texts]
    last = [found for text in texts if (found := YEAR_LAST.fullmatch(text))]
    if not last:
        first = next(filter(None, map(YEAR_FIRST.fullmatch, texts)), None)
        return None if first is None else _year_first(first)
    day_first, month_first = (any(int(found[place]) > 12 for found in last) for place in (1, 3))
    forms = _forms(last[0])
    return None if day_first == month_first else forms[0] if day_first else forms[1]


def either_form(texts: Iterable[str]) -> tuple[str, str] | None:
    """The two forms by which the first date with the year last could be read; ``None`` where there is none."""
    found = next(filter(None, (YEAR_LAST.fullmatch(text.strip()) for text in texts)), None)
    return None if found is None else _forms(found)


def said_form(form: str) -> str:
    """A form as messages say it.

    >>> said_form("%d/%m/%Y")
    'day first (%d/%m/%Y)'
    """
    return f"{ORDERS[form[:2]]} ({form})"


def forms_of_cell(text: str) -> list[str]:
    """The whole forms, with the time of day, by which a cell can be read: day first, month first, year first."""
    first, last = YEAR_FIRST.fullmatch(text), YEAR_LAST.fullmatch(text)
    days = [_year_first(first)] if first else _forms(last) if last else ()
    time = _form_of_time(text.replace("T", " ").partition(" ")[2], "T" if "T" in text[:11] else " ")
    return [day + time for day in days if days_of(text, day + time) is not None]


def date_reader(form: str | None) -> Callable[[str], float | None]:
    """What reads dates, with or without a time of day, as days since 1970 (UTC where no zone is written).

    Args:
        form: what ``form_of`` found of them, or of those of training; dates with the year first are read with any,
            those with the year last by its order of day and month alone.

    Returns:
        The days that a text says; ``None`` where it says none, or may say two.
    """
    order = {"%d": (3, 1), "%m": (1, 3)}.get((form or "")[:2])

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


def days_of(text: str, form: str) -> float | None:
    """The days since 1970 that a text says by a whole form; ``None`` where it has another one."""
    return _days(lambda: datetime.strptime(text, form))


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
        return YEAR_FIRST.fullmatch(text) is not None and date_reader(None)(text) is None
    orders = (f"{found[4]}-{found[1]}-{found[3]}", f"{found[4]}-{found[3]}-{found[1]}")
    return len(found[4]) == 4 and all(_days(partial(datetime.fromisoformat, _padded(day))) is None for day in orders)


def _year_first(found: re.Match[str]) -> str:
    return found[1].join(("%Y", "%m", "%d"))


def _forms(last: re.Match[str]) -> tuple[str, str]:
    """Of a date with the year last: day first, month first."""
    year = "%Y" if len(last[4]) == 4 else "%y"
    return last[2].join(("%d", "%m", year)), last[2].join(("%m", "%d", year))


def _form_of_time(text: str, before: str) -> str:
    if not text:
        return ""
    half = re.search(r"[AaPp][Mm]", text)
    form = re.sub(r"\d+:\d+", "%I:%M" if half else "%H:%M", text, count=1)
    form = re.sub(r"(?<=%M):\d+", ":%S", form)
    form = re.sub(r"(?<=%S)([.,])\d+", r"\1%f", form)
    form = re.sub(r"[AaPp][Mm]", "%p", form)
    return before + re.sub(r"(Z|[+-]\d{2}:?\d{2})$", "%z", form)


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
