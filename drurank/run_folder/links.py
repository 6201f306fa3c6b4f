"""What a folder of somebody else may not hold: links that lead out of it, and what is no file, as a pipe."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from drurank.errors import InputError

DEEPEST = 100
"""Folders within folders that are looked through; no run or study has as many."""


def refuse_links(folder: Path) -> None:
    """Refuse a folder of a run or study in which something leads out of it, or would be waited for when it is read.

    What is written there would be written, or removed, elsewhere, and what is copied of it read elsewhere. The folder
    itself may be a link, and so may outputs that a person names.

    Args:
        folder: looked through at any depth; links are not followed.

    Raises:
        InputError: naming the first that is found.
    """
    root = os.path.realpath(folder)
    for place, folders, files in os.walk(root):
        if os.path.relpath(place, root).count(os.sep) >= DEEPEST:
            raise _too_deep(folder)
        for name in (*folders, *files):
            path = os.path.join(place, name)
            try:
                mode = os.lstat(path).st_mode
            except FileNotFoundError:  # another process has removed it
                continue
            except OSError as error:
                if error.errno != errno.ENAMETOOLONG:
                    raise
                raise _too_deep(folder) from error
            shown = Path(folder) / os.path.relpath(path, root)
            if stat.S_ISLNK(mode):
                target = os.path.realpath(path)
                if target != root and not target.startswith(root.rstrip(os.sep) + os.sep):
                    raise InputError(
                        f"{shown} is a link to {target}, outside of {folder}, where it would be read or written; "
                        "remove the link, or put in its place what it leads to"
                    )
            elif not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise InputError(f"{shown} is neither a file nor a folder, but a pipe or a device; remove it")


def _too_deep(folder: Path) -> InputError:
    return InputError(f"{folder} holds folders in folders, too many to be looked through; remove what is not of it")
