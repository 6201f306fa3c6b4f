"""Modules of the current folder that a person named, and what these import from there; no other is found in it.

The folder may hold files of somebody else, named like a package that is not installed and that a library looks for.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

FOUND = "DRURANK_FOUND"
"""Is set in the environment to what was found, for processes that are started anew to load rows."""
_named: dict[str, str] = json.loads(os.environ.get(FOUND, "{}"))
"""Folder of each package that a person named."""
_found: dict[str, str] = {}
"""Folder of each package that was found in it."""


def find_here(package: str) -> None:
    """Look for a package in the current folder too, after all others, once a person named it."""
    here = str(Path.cwd())
    if here not in sys.path and (Path(here, package).is_dir() or Path(here, f"{package}.py").is_file()):
        _named[package] = here
        _look()


def _look() -> None:
    if not any(isinstance(finder, NamedFinder) for finder in sys.meta_path):
        sys.meta_path.append(NamedFinder())


class NamedFinder(MetaPathFinder):
    """Finds what was named, and what code that it found imports from the same folder."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where a package is, if it is one of these; modules within it are found as ever."""
        folder = None if path is not None else _named.get(fullname) or _found.get(_importer())
        spec = None if folder is None else PathFinder.find_spec(fullname, [folder])
        if spec is not None and folder is not None:
            _found[fullname] = folder
            os.environ[FOUND] = json.dumps(_found)
        return spec


def _importer() -> str:
    """The package of the code that imports something."""
    frame = sys._getframe(2)
    while frame.f_back is not None and _package(frame.f_globals) == "importlib":
        frame = frame.f_back
    return _package(frame.f_globals)


def _package(names: dict[str, object]) -> str:
    return str(names.get("__name__")).partition(".")[0]


if _named:
    _look()
