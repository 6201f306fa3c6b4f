"""report: how well groups are served by anybody's predictions."""

from __future__ import annotations

from typing import Any

from drurank.cli.flags import named_as_flags
from drurank.cli.parser import SentenceParser
from drurank.cli.program import usage
from drurank.report import report_predictions


def run(words: list[str]) -> dict[str, Any]:
    """Write and show the report; the content of ``report.json``."""
    parser = SentenceParser(prog=usage("report"), description="How well groups are served by anybody's predictions.")
    parser.add_function_arguments(report_predictions)
    parser.let_stand_alone("shrink")
    settings = vars(parser.parse_args(words))
    with named_as_flags(parser.all_options):
        return report_predictions(**settings)
