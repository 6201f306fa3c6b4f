"""The command line; each command's code is imported only when it is called."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from drurank.cli.parser import reason_of
from drurank.errors import InputError, nearest
from drurank.files import said_of

COMMANDS = {
    "inspect": "drurank.cli.inspect:run",
    "report": "drurank.cli.report:run",
    "split": "drurank.cli.split:run",
}
"""Command to the function that runs it, ``module:function``."""
TRAINING = ("fit", "validate", "test", "predict")


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
        if isinstance(words, list) and words and words[0] in COMMANDS:
            return _command(words[0])(words[1:])
        if isinstance(words, list) and words and not words[0].startswith("-") and words[0] not in TRAINING:
            raise InputError(f"there is no command {words[0]!r}: {nearest(words[0], (*TRAINING, *COMMANDS))}")
        return _command("drurank.cli.training:run")(words)
    except (ValueError, OSError) as error:
        # jsonargparse wraps what a constructor raises.
        reason = reason_of(error) or (said_of(error) if isinstance(error, OSError) else None)
        if reason is None:
            raise
        print(f"error: {reason}", file=sys.stderr)
        raise SystemExit(2) from error


def _command(name: str) -> Callable[[Any], Any]:
    module, _, function = COMMANDS.get(name, name).partition(":")
    command: Callable[[Any], Any] = getattr(import_module(module), function)
    return command
