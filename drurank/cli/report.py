"""report: how well groups are served by anybody's predictions, or how two such differ."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from drurank.cli.comparing_columns import OF_SCORES, columns_to_compare, compare_shown_columns
from drurank.cli.flags import named_as_flags
from drurank.cli.parser import SentenceParser
from drurank.cli.program import usage
from drurank.errors import InputError
from drurank.files import refuse_existing
from drurank.report import report_counts, report_predictions
from drurank.terminal import say
from drurank.words import parts_of_names

WHAT = (
    "How well groups are served by anybody's predictions; --predictions a b compares two tables of the same rows, "
    "--prediction a,b two columns or more of one table, and "
    "--counts c.parquet takes a table of counts by group (report --counts c.parquet --help)."
)
OF_COMPARED = ("predictions", "shrink", "output", "html", "overwrite")
"""Options that two tables have beside those of ``compare_predictions``."""


def run(words: list[str]) -> Any:
    """Write and show the report; the content of ``report.json``.

    With two tables of predictions for the same rows the two are compared instead.
    """
    first, second = _two(words)
    make: Callable[..., Any] = report_counts if any(_names_counts(word) for word in words) else report_predictions
    parser = SentenceParser(prog=usage("report"), description=WHAT)
    parser.add_function_arguments(make)
    parser.let_stand_alone("shrink", "overwrite", "drop_missing", "card")
    settings = vars(parser.parse_args(first))
    with named_as_flags(parser.all_options):
        if second is not None:
            return _compare(settings, second)
        columns = columns_to_compare(settings) if make is report_predictions else []
        return compare_shown_columns(settings, columns) if columns else make(**settings)


def _names_counts(word: str) -> bool:
    return word.split("=", 1)[0] == "--counts"


def _two(words: list[str]) -> tuple[list[str], str | None]:
    """The words with one table of predictions, and the second table if ``--predictions`` names two."""
    place = words.index("--predictions") + 2 if "--predictions" in words else len(words)
    if place >= len(words) or words[place].startswith("--"):
        return words, None
    if words[place + 1 :] and not words[place + 1].startswith("--"):
        raise InputError(f"--predictions names {words[place + 1]!r} too; give one table, or two to compare them")
    return [*words[:place], *words[place + 1 :]], words[place]


def _compare(settings: dict[str, Any], second: str) -> Any:
    from drurank.cli.compare_page import write_comparison_page
    from drurank.cli.compare_shown import print_comparison
    from drurank.cli.comparing import write_groups
    from drurank.study.comparing_files import compare_predictions

    known = inspect.signature(compare_predictions).parameters
    if settings["shrink"]:
        raise InputError("two tables are compared by observed accuracies; leave shrink out")
    usual = inspect.signature(report_predictions).parameters
    for name, value in settings.items():
        if name not in (*known, *OF_COMPARED) and value != usual[name].default:
            why = (
                "two tables are compared by what they predict, not by scores"
                if name in OF_SCORES
                else "it is of a report on one table"
            )
            raise InputError(f"{name} is {value!r}, and {why}; leave it out to compare two")
    given = {name: value for name, value in settings.items() if name in known}
    found = compare_predictions(**{**given, "predictions": [settings["predictions"], second]})
    output = None if settings["output"] is None else Path(settings["output"]).expanduser()
    parts = parts_of_names([one.split for one in found])
    files = [None if output is None else output / f"comparison_{part}.csv" for part in parts]
    read = [os.path.expanduser(path) for path in (settings["predictions"], second)]
    page = None if settings["html"] is None else Path(settings["html"]).expanduser()
    refuse_existing(filter(None, [*files, page]), overwrite=settings["overwrite"], inputs=read)
    for one, file in zip(found, files, strict=True):
        print_comparison(one)
        if file is not None:
            write_groups(one, file)
    if page is not None:
        made = {name: value for name, value in given.items() if name != "predictions" and value != known[name].default}
        write_comparison_page(page, found, {"group": given["group"], **made})
        say(f"Page: {page}")
    return found
