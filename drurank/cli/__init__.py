"""The command line; each command's code is imported only when it is called."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from drurank import __version__
from drurank.cli.early import check
from drurank.cli.limits import refuse_bytes, too_much
from drurank.cli.parser import reason_of
from drurank.cli.program import usage
from drurank.cli.words import trust_named
from drurank.closed_output import output_is_closed
from drurank.errors import InputError, nearest
from drurank.files import said_of
from drurank.imports import import_code, trust
from drurank.terminal import plain_messages, say

TRAINING = {
    "fit": "train, keep the best checkpoints by group criteria",
    "validate": "compute the criteria of a checkpoint on the validation data",
    "test": "report on the test data, for a run's best checkpoints or for one checkpoint",
    "predict": "write the predictions of a checkpoint for every row",
}
"""Commands of LightningCLI, and what they do."""
COMMANDS = {
    "report": "report on predictions that any program made",
    "split": "write a table again with a column that splits it by group",
    "inspect": "check data before training",
    "export": "write a trained network for other programs, as ONNX",
    "study": "train many candidates on one dataset and compare them",
}
"""Other commands, and what they do; ``drurank.cli.<command>`` runs them."""


def main(args: Any = None) -> Any:
    """Run the command line; input that cannot be used ends it with a one-sentence error and exit status 2.

    Args:
        args: the words after the program's name, or, for the commands that train, a dict of settings; those of the
            process, if not given.

    Returns:
        The command's result; for those that train, the finished command line with its ``trainer``, ``model`` and
        ``datamodule``.
    """
    with plain_messages():
        return _ended(sys.argv[1:] if args is None else args)


def _ended(words: Any) -> Any:
    try:
        refuse_bytes(words)
        if not isinstance(words, list):
            trust(words)
            return _command("drurank.cli.training")(words)
        words = _without_imports(words)
        trust_named(words)
        if words[:1] in ([], ["--help"], ["-h"]):
            return say(overview())
        if words[:1] == ["--version"]:
            return say(f"drurank {__version__}")
        check(words)
        if words[0] in COMMANDS:
            return _command(f"drurank.cli.{words[0]}")(words[1:])
        if not words[0].startswith("-") and words[0] not in TRAINING:
            raise InputError(f"there is no command {words[0]!r}: {nearest(words[0], (*TRAINING, *COMMANDS))}")
        return _command("drurank.cli.training")(words)
    except Exception as error:
        if isinstance(error, BrokenPipeError) and output_is_closed():
            raise  # which the end of the program is silent about
        # jsonargparse wraps what a constructor raises.
        reason: object = reason_of(error) if isinstance(error, ValueError | OSError) else None
        reason = reason or (said_of(error) if isinstance(error, OSError) else None) or too_much(error)
        if reason is None:
            raise
        say(f"error: {reason}", error=True)
        raise SystemExit(2) from error
    except KeyboardInterrupt as stop:
        say("stopped by SIGINT", error=True)
        raise SystemExit(128 + signal.SIGINT) from stop


def overview() -> str:
    """All commands, one per line."""
    lines = [f"  {name:<9} {what}" for name, what in (TRAINING | COMMANDS).items()]
    more = "--import FILE, with any command: Python code that registers criteria of your own (docs/criteria.md)."
    return "\n".join(
        [f"usage: {usage()} COMMAND ...", *lines, "COMMAND --help explains each; --version says which this is.", more]
    )


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
    from drurank.cli.flags import warned_as_flags

    command: Callable[[Any], Any] = import_module(module).run
    return warned_as_flags()(command)
