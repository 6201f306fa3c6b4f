"""Python code of the user that is imported by its name, for what it registers."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from drurank.errors import InputError

PREFIX = "drurank_import_"
"""Begins the name of a module that is a file."""
_imported: list[str] = []


def import_code(name: str) -> None:
    """Import code once in this process; only ever what a person named.

    Args:
        name: a Python file, as ``my_criteria.py``, or a module that is installed.

    Raises:
        InputError: if it is not found, or fails.
    """
    is_file = name.endswith(".py")
    known = str(Path(name).expanduser().resolve()) if is_file else name
    if known in _imported:
        return
    if is_file and not Path(known).is_file():
        raise InputError(f"there is no file {name} to import; give a Python file, as my_criteria.py, or a module")
    try:
        if is_file:
            _run(Path(known))
        else:
            import_module(name)
    except InputError:
        raise
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"{name} cannot be imported ({said}); fix it, or name another file") from error
    _imported.append(known)


def refuse_missing(path: str) -> None:
    """Refuse a class of imported code where that code was not imported in this process.

    Args:
        path: import path of the class, as a configuration or a checkpoint names it.

    Raises:
        InputError: naming the file to import.
    """
    module = path.partition(".")[0]
    if module.startswith(PREFIX) and module not in sys.modules:
        name = module.removeprefix(PREFIX)
        raise InputError(f"the run was made with --import {name}.py; give it again, before the other words")


def import_words() -> list[str]:
    """Words of the command line by which a process of our own imports what this one did."""
    return [word for name in _imported for word in ("--import", name)]


def _run(file: Path) -> None:
    spec = spec_from_file_location(f"{PREFIX}{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # Dataclasses and pickle look a module up by its name.
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
