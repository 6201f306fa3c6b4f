"""The command line; each command's code is imported only when it is called."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from drurank.cli.parser import reason_of
from drurank.errors import InputError, nearest
from drurank.files import said_of
from drurank.imports import import_code

TRAINING = {
    "fit": "train, keep the best checkpoints by group criteria",
    "validate": "criteria of a checkpoint on the validation data",
    "test": "report of a run's best checkpoints, or of one, on the test data",
    "predict": "predictions of a checkpoint for every row",
}
"""Command of LightningCLI to what it does."""
COMMANDS = {
    "report": "the whole report from anybody's predictions",
    "split": "a table again, with a column that splits it by group",
    "inspect": "a look at data before it is trained on",
    "study": "many candidates on one dataset, and one table",
}
"""Command to what it does; ``drurank.cli.<command>`` runs it."""


def main(args: Any = None) -> Any:
    """Run the command line; input that cannot be used ends it with one sentence and exit status 2.

    Args:
        args: the words after the program's name, or, of the commands that train, a dict of settings; those of the
            process, if not given.

    Returns:
        What the command makes; of those that train the finished command line, with its ``trainer``, ``model`` and
        ``datamodule``.
    """
    words = sys.argv[1:] if args is None else args
    try:
        if isinstance(words, list):
            words = _without_imports(words)
        if isinstance(words, list) and words[:1] in ([], ["--help"], ["-h"]):
            return print(overview())
        if isinstance(words, list) and words[0] in COMMANDS:
            return _command(f"drurank.cli.{words[0]}")(words[1:])
        if isinstance(words, list) and not words[0].startswith("-") and words[0] not in TRAINING:
            raise InputError(f"there is no command {words[0]!r}: {nearest(words[0], (*TRAINING, *COMMANDS))}")
        return _command("drurank.cli.training")(words)
    except (ValueError, OSError) as error:
        # jsonargparse wraps what a constructor raises.
        reason = reason_of(error) or (said_of(error) if isinstance(error, OSError) else None)
        if reason is None:
            raise
        if words[0] in ("report", "split"):
            # Their options of reading stand alone.
            reason = str(reason).replace("--data.tokenizer", "--pretrained").replace("--data.", "--")
        print(f"error: {reason}", file=sys.stderr)
        raise SystemExit(2) from error
    except KeyboardInterrupt as stop:
        print("stopped by SIGINT", file=sys.stderr)
        raise SystemExit(128 + signal.SIGINT) from stop


def overview() -> str:
    """All commands, a line each."""
    lines = [f"  {name:<9} {what}" for name, what in (TRAINING | COMMANDS).items()]
    more = "--import FILE, with any command: Python code that registers criteria of your own (docs/criteria.md)."
    return "\n".join(["usage: python cli.py COMMAND ...", *lines, "COMMAND --help says more.", more])


def _without_imports(words: list[str]) -> list[str]:
    """Import what ``--import`` names, before any other word is looked at; the words that are left."""
    left, rest = [], iter(words)
    for word in rest:
        option, equals, name = word.partition("=")
        if option != "--import":
            left.append(word)
            continue
        named = name if equals else next(rest, "")
        if not named or named.startswith("-"):
            raise InputError("--import names no file; give a Python file, as --import my_criteria.py")
        import_code(named)
    return left


def _command(module: str) -> Callable[[Any], Any]:
    command: Callable[[Any], Any] = import_module(module).run
    return command
