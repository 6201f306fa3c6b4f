"""Writing files so that a kill leaves the old one or the new one, never half of one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Have ``write`` write a file beside ``path``, then put it in its place in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(beside)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_json(path: Path, content: Any) -> None:
    """Write plain values as indented JSON, in one step."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    replace_file(path, lambda beside: beside.write_text(text, encoding="utf-8"))
