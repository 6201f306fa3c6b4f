"""Python code of the user that is imported by its name, and which other code may be."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from drurank.errors import InputError

PREFIX = "drurank_import_"
"""Begins the name of a module that is a file."""
ALWAYS = ("drurank", "torch", "lightning")
"""Packages whose classes any file may name."""
CLASS_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_imported: list[str] = []
_named: set[str] = set()


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


def trust(text: str) -> None:
    """Let classes be imported of the packages that a text names, such as ``mine.nets.Wide``.

    Args:
        text: what a person typed, or a file that is named there; never what a run's folder holds.
    """
    _named.update(path.partition(".")[0] for path in CLASS_PATH.findall(text))


def trusted_packages() -> set[str]:
    """Packages of which a file may name classes: ours, torch, Lightning, those imported already and those trusted.

    None is of Python's standard library, whose classes start processes and delete files.
    """
    imported = {name for name in list(sys.modules) if "." not in name}
    found = {*ALWAYS, *_named, *imported} - sys.stdlib_module_names - {"jsonargparse"}
    return {name for name in found if name.isidentifier()}


def need(class_path: str) -> None:
    """Note that a run is of a class of the user's, so that commands about the run name its package."""
    package = class_path.partition(".")[0]
    if package not in (*ALWAYS, *_imported) and not package.startswith(PREFIX):
        _imported.append(package)


def why_not_trusted(class_path: str) -> str | None:
    """Why a class is not imported, and what to do; ``None`` if it may be."""
    package = class_path.partition(".")[0]
    if package in trusted_packages():
        return None
    if package in sys.stdlib_module_names:
        return f"{class_path} belongs to Python's standard library, which no option takes a class from"
    return (
        f"{class_path} is not imported, since {package} is not named on the command line and is not part of drurank, "
        f"torch or Lightning; if you trust its code, add --import {package}"
    )


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
