"""How the cells of numbers are written, in words for who reads them in another language."""

from __future__ import annotations

from drurank.data.encoding import NumericFeature
from drurank.tabular.converting import Reading
from drurank.tabular.dates import said_form
from drurank.tabular.feature import DATE, MARKED, PERCENT, PLAIN
from drurank.tabular.writings import MARKS, Marks

DAYS = "x is the days since 1970-01-01, with the time of day as a fraction, in UTC where no zone is written"
PLAINLY = "a number as it is, in text with a point before its decimals: 1234.5 or 1e3"


def written_of(number: NumericFeature, reading: Reading) -> str | None:
    """How the cells of a column are written, also where a checkpoint is older than that it tells this from plain.

    Args:
        number: the column.
        reading: by the options of the data.
    """
    if number.written != PLAIN:
        return number.written
    return PERCENT if number.name in reading.percents else DATE if number.name in reading.dates else PLAIN


def explained(written: str | None, reading: Reading) -> str:
    """A line that says what a value of ``written`` means.

    Args:
        written: that value.
        reading: by the options of the data.
    """
    return f"written {'null' if written is None else written}: {_meaning(written, reading)}."


def _meaning(written: str | None, reading: Reading) -> str:
    if written is None:
        return "not known, since the checkpoint is of an older version"
    if written == PLAIN:
        return PLAINLY
    if written == PERCENT:
        point = reading.marks.point
        return f"a number and a percent sign, which is left out: 83{point}5% is 83.5, and not 0.835"
    if written == MARKED:
        return _marked(reading.marks)
    if written == DATE:
        form = f", as text of the form {reading.date_format} (of Python's strptime)" if reading.date_format else ""
        return f"a date or time{form}; {DAYS}"
    return f"a date, {said_form(written)}, or with the year first, of which a time of day may follow; {DAYS}"


def _marked(marks: Marks) -> str:
    if marks == Marks():
        return (
            "a number with marks that training's options thousands and decimal named, which the checkpoint alone does "
            "not say; export its run"
        )
    between = MARKS[marks.thousands] if marks.thousands else ""
    which = f"{' or '.join(map(ascii, between))} between thousands, which is left out, and " if between else ""
    example = f"1{between[:1]}234{marks.point}5"
    return f"a number with {which}{marks.point!r} before its decimals: {example} is 1234.5"
