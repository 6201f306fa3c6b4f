"""python -m drurank.cli.make_known: writes what ``early`` knows of the full parser."""

from __future__ import annotations

import inspect
import io
import json
import os
from contextlib import redirect_stdout, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import patch

import drurank.data
import drurank.methods
from drurank.cli import main
from drurank.cli.class_paths import options_of
from drurank.cli.early import CLASSES_FILE, COMMANDS, KNOWN, VERSIONS
from drurank.data import GroupDataModule
from drurank.methods import GroupModule

COLUMNS = "100"


def classes() -> dict[str, Any]:
    """Versions, and of the options ``model`` and ``data`` the classes of the package with their own options."""
    found: dict[str, Any] = {"versions": {name: version(name) for name in VERSIONS}}
    for key, module, base in (("model", drurank.methods, GroupModule), ("data", drurank.data, GroupDataModule)):
        named = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, base)]
        paths = [
            f"{module.__name__}.{cls.__name__}" for cls in named if cls is not base and not inspect.isabstract(cls)
        ]
        found[key] = {path: options_of(path) for path in sorted(paths)}
    return found


def help_of(command: str) -> str:
    """The help of a command, at a fixed width."""
    shown = io.StringIO()
    with patch.dict(os.environ, {"COLUMNS": COLUMNS}), redirect_stdout(shown), suppress(SystemExit):
        main([command, "--help"])
    return shown.getvalue()


def write(folder: Path = KNOWN) -> None:
    """Write all files."""
    folder.mkdir(exist_ok=True)
    for command in COMMANDS:
        (folder / f"{command}.txt").write_text(help_of(command), encoding="utf-8")
    (folder / CLASSES_FILE.name).write_text(json.dumps(classes(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
