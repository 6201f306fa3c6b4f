"""Writing files so that a kill leaves the old one or the new one, never half of one."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from drurank.errors import InputError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Have ``write`` write a file beside ``path``, then put it in its place in one step.

    Raises:
        OSError: naming ``path``, if that cannot be done; what was there is then as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(beside)
        beside.replace(path)
    except OSError as error:
        # The error of a full disk names no file, or the temporary one.
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        beside.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files that killed processes left in a folder; no other process may be writing there."""
    for file in folder.glob(".*.*"):
        if file.suffix[1:].isdigit() and file.is_file():
            file.unlink(missing_ok=True)


def write_json(path: Path, content: Any) -> None:
    """Write plain values as indented JSON, in one step."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    replace_file(path, lambda beside: beside.write_text(text, encoding="utf-8"))


def read_json(path: Path, remedy: str) -> Any:
    """The content of a JSON file.

    Raises:
        InputError: naming the file and the remedy, if it is not JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged and cannot be read as JSON; {remedy}") from error


def said_of(error: OSError) -> str | None:
    """One sentence about a file that cannot be read or written; ``None`` where the error names no file."""
    why = " ".join((error.strerror or str(error)).split())
    if error.errno in FULL:
        return (
            f"no space left to write {error.filename or 'a file of the run'} ({why}); free some space and run it again"
        )
    if error.filename is None:
        return None
    return f"{error.filename} cannot be used: {why}; give another path, or fix its permissions"
