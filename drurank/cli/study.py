"""study: many candidates on one dataset, run once, and compared as often as you like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drurank.cli.comparing import gathered, show_comparison
from drurank.cli.concordance_shown import show_concordance
from drurank.cli.flags import named_as_flags
from drurank.cli.parser import SentenceParser
from drurank.cli.program import usage
from drurank.cli.seeds_shown import show_seeds
from drurank.cli.study_run import WORKER, run_study, work_for
from drurank.cli.study_shown import draw, export, show_table, write
from drurank.errors import InputError, nearest

SHOWN: dict[str, Callable[..., Any]] = {
    "table": show_table,
    "seeds": show_seeds,
    "concordance": show_concordance,
    "compare": show_comparison,
    "export-best": export,
    "plot": draw,
    "report": write,
}


def run(words: list[str]) -> Any:
    """Run the command that the first word names.

    Raises:
        InputError: if there is no such command.
    """
    commands = {"run": run_study, **SHOWN}
    if words[:1] in ([], ["--help"], ["-h"]):
        lines = [f"  {name:<12} {(command.__doc__ or '').splitlines()[0]}" for name, command in commands.items()]
        return print("\n".join([f"usage: {usage('study')} COMMAND ...", *lines, "COMMAND --help says more."]))
    if words[0] == WORKER and len(words) == 8:
        return work_for(*words[1:])
    if words[0] not in commands:
        raise InputError(f"there is no command study {words[0]!r}: {nearest(words[0], commands)}")
    parser = SentenceParser(prog=usage("study", words[0]))
    parser.add_function_arguments(commands[words[0]])
    parser.let_stand_alone("retry_failed", "overwrite")
    settings = vars(parser.parse_args(gathered(words[1:], "--runs")))
    with named_as_flags(parser.all_options):
        return commands[words[0]](**settings)
