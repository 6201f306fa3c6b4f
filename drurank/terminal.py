"""What is printed: names as they are, without markup, control characters or letters that the output cannot show."""

from __future__ import annotations

import codecs
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What a terminal acts upon: all but tabs and ends of lines, and the marks that turn the direction of writing."""
LOGGERS = ("drurank", "lightning", "transformers", "datasets", "huggingface_hub", "optuna")
"""What logs names of files, columns and groups."""
REPLACES = "drurank.replace"
"""Name of what writes ``?`` for letters that an encoding lacks."""
_told: set[str] = set()
"""Encodings whose lack of letters was said."""


def visible(text: str) -> str:
    r"""A text with its control characters, and what is no Unicode, written out.

    >>> visible("\x1b[31mred\u202e")
    '\\x1b[31mred\\u202e'
    """
    return CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def say(text: str, *, end: str = "\n", error: bool = False) -> None:
    """Print a text, to standard error if told so."""
    replace_letters()
    print(visible(text), end=end, file=sys.stderr if error else sys.stdout)


class Terminal(Console):
    """A console that shows each ``str`` as it is: no markup, no emoji codes. What has a style is a ``Text``.

    Args:
        **options: those of ``Console``.
    """

    def __init__(self, **options: Any) -> None:
        replace_letters()
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def on_broken_pipe(self) -> None:
        """Leave it to the program how it ends."""
        self.quiet = True
        raise BrokenPipeError

    def render_str(self, text: str, **options: Any) -> Text:
        """A text without what a terminal acts upon."""
        return super().render_str(visible(text), **{**options, "markup": False, "emoji": False})

    def print_table(self, table: Table) -> None:
        """Print a table, and its caption over the whole width, not only that of the table."""
        caption, table.caption = table.caption, None
        self.print(table)
        if caption:
            self.print(caption)
        table.caption = caption


def dimmed(*lines: str) -> Text:
    """Lines of which all but the first are dim."""
    first, *others = (visible(line) for line in lines)
    return Text.assemble(first, *((f"\n{line}", "dim") for line in others))


def replace_letters() -> None:
    """Have standard output write ``?`` for letters that its encoding lacks, in place of an error; it is said once."""
    out = getattr(sys.stdout, "rich_proxied_file", sys.stdout)
    if getattr(out, "errors", None) == "strict" and hasattr(out, "reconfigure"):
        out.reconfigure(errors=REPLACES)


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    if error.encoding not in _told:
        _told.add(error.encoding)
        out = getattr(sys.stderr, "rich_proxied_file", sys.stderr)
        print(
            f"The output is in {error.encoding}, which lacks some of the letters; they are shown as ?. Set "
            "PYTHONIOENCODING=utf-8 to see them",
            file=out,
        )
    return "?" * (error.end - error.start), error.end


codecs.register_error(REPLACES, _replaced)


@contextmanager
def plain_messages() -> Iterator[None]:
    """Write out control characters in what libraries log, while the command line runs."""
    replace_letters()
    before = logging.getLogRecordFactory()

    def plain(*args: Any, **more: Any) -> logging.LogRecord:
        record = before(*args, **more)
        if record.name.partition(".")[0] in LOGGERS:
            record.msg, record.args = visible(record.getMessage()), ()
        return record

    # Not a filter of handlers, which these libraries make when they are imported, and that may be later.
    logging.setLogRecordFactory(plain)
    try:
        yield
    finally:
        logging.setLogRecordFactory(before)
