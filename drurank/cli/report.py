"""report: how well groups are served by anybody's predictions."""

from __future__ import annotations

from typing import Any

from drurank.cli.parser import SentenceParser
from drurank.report import report_predictions


def run(words: list[str]) -> dict[str, Any]:
    """Write and show the report; the content of ``report.json``."""
    parser = SentenceParser(prog="cli.py report", description="How well groups are served by anybody's predictions.")
    parser.add_function_arguments(report_predictions)
    parser.let_stand_alone("shrink")
    return report_predictions(**vars(parser.parse_args(words)))
