"""A page that the package itself writes: its command line."""

from __future__ import annotations

import contextlib
import io
import os

COMMANDS = (
    "fit", "validate", "test", "predict", "report", "split", "inspect", "export", "study run", "study table",
    "study seeds", "study concordance", "study compare", "study export-best", "study plot", "study report",
)  # fmt: skip
WIDTH = "100"


def command_line() -> str:
    """The help of every command, from its own parser."""
    parts = [
        "# Command line: every option",
        "What each command prints for `--help`, word for word. What the commands are for stands in "
        "[The command line](../command_line.md).",
    ]
    for command in COMMANDS:
        parts.append(f"## {command}\n\n```text\n{help_of(command).strip()}\n```")
    return "\n\n".join(parts) + "\n"


def help_of(command: str) -> str:
    """What ``--help`` prints."""
    from drurank.cli import main

    said, before = io.StringIO(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDTH
    try:
        with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
            main([*command.split(), "--help"])
    finally:
        os.environ.pop("COLUMNS") if before is None else os.environ.update(COLUMNS=before)
    return said.getvalue()
