"""report: how well groups are served by anybody's predictions, or how two such differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from drurank.cli.flags import named_as_flags
from drurank.cli.parser import SentenceParser
from drurank.cli.program import usage
from drurank.errors import InputError
from drurank.report import report_counts, report_predictions
from drurank.tabular.reading import read_head
from drurank.tabular.several import files_of
from drurank.words import as_names

WHAT = (
    "How well groups are served by anybody's predictions; --predictions a b compares two tables of the same rows, "
    "--prediction a,b two columns or more of one table, and "
    "--counts c.parquet takes a table of counts by group (report --counts c.parquet --help)."
)


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
        columns = _columns_to_compare(settings) if second is None and make is report_predictions else []
        if second is None and not columns:
            return make(**settings)
        from drurank.cli.comparing_predictions import show_compared_columns, show_compared_tables

        return show_compared_columns(settings, columns) if second is None else show_compared_tables(settings, second)


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


def _columns_to_compare(settings: Mapping[str, Any]) -> list[str]:
    """The columns of predictions, where several are named; none where a column is called so as a whole."""
    names = as_names(settings["prediction"])
    if len(names) < 2:
        return []
    head = read_head(
        files_of(settings["predictions"])[0],
        delimiter=settings["delimiter"],
        text_encoding=settings["text_encoding"],
    )
    return [] if head is not None and settings["prediction"] in head.column_names else names
