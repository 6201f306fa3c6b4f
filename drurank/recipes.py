"""Configurations that come with the package, named as ``drurank:method/qdru_m.yaml``."""

from __future__ import annotations

from pathlib import Path

from drurank.errors import InputError, nearest

PREFIX = "drurank:"
PACKAGE = Path(__file__).parent
FOLDER = next((folder for folder in (PACKAGE / "configs", PACKAGE.parent / "configs") if folder.is_dir()), PACKAGE)
"""In a wheel they lie in the package, in the repository beside it."""


def recipes() -> list[str]:
    """Names of all, as ``method/qdru_m.yaml``."""
    return sorted(file.relative_to(FOLDER).as_posix() for file in FOLDER.glob("*/*.yaml"))


def find_config(name: str) -> str:
    """The path of a configuration: that of one that comes with the package, or else the name as it is.

    Raises:
        InputError: if the package has none of this name.
    """
    if not name.startswith(PREFIX):
        return name
    wanted = name.removeprefix(PREFIX)
    known = recipes()
    for found in (wanted, f"{wanted}.yaml"):
        if found in known:
            return str(FOLDER / found)
    raise InputError(f"there is no configuration {name}: {nearest(wanted, known)}")
