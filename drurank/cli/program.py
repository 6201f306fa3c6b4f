"""How the program was called, for hints that a person may copy."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def program() -> list[str]:
    """The words that a person typed before the command: ``drurank``, ``python cli.py`` or ``python -m drurank``."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py" and called.parent.name == "drurank":
        return ["python", "-m", "drurank"]
    if called.name == "cli.py":
        return ["python", sys.argv[0]]
    return ["drurank"]


def usage(*command: str) -> str:
    """What begins the usage line of a command."""
    return shlex.join([*program(), *command])
