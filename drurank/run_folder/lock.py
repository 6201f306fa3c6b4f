"""One process at a time writes to a folder: a lock that the system releases when its process ends, however it does."""

from __future__ import annotations

import os
import socket
import stat
from contextlib import suppress
from pathlib import Path

from drurank.errors import InputError
from drurank.files import missing_folders, remove_empty

try:
    import fcntl
except ImportError:  # Windows has no such lock, and runs are not locked there
    fcntl = None  # type: ignore[assignment]

LOCK_FILE = ".drurank.lock"
_held: dict[Path, tuple[int, list[Path]]] = {}
"""Folders that this process writes to: the open file by which it holds each, and the folders made for that."""


def hold(folder: Path, doing: str) -> None:
    """Have this process be the only one that writes to a folder, until ``release`` or its end.

    Args:
        folder: made, if it is not there.
        doing: what others are told that this process does, as ``trains``.

    Raises:
        InputError: naming the process that holds it, or what is in the place of the lock and is no file.
    """
    place = folder.resolve()
    if fcntl is None:
        return
    if place in _held:
        if _is_at(place / LOCK_FILE, _held[place][0]):
            return
        os.close(_held.pop(place)[0])  # somebody has removed the folder, or the file in it
    made = missing_folders(place)
    place.mkdir(parents=True, exist_ok=True)
    while True:
        file = _opened(place / LOCK_FILE)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            said = os.read(file, 1000).decode(errors="replace").strip() or "another process writes"
            os.close(file)
            raise InputError(
                f"{folder} is in use: {said} there; wait until it has ended, or stop it, and try again"
            ) from error
        except OSError:  # a file system without locks
            os.close(file)
            return
        if _is_at(place / LOCK_FILE, file):
            break
        os.close(file)  # whoever held it has just removed it
    os.ftruncate(file, 0)
    os.write(file, f"process {os.getpid()} on {socket.gethostname()} {doing}\n".encode())
    _held[place] = file, made


def release(folder: Path) -> None:
    """Let other processes write to a folder; one that is still empty and was made by ``hold`` goes."""
    file, made = _held.pop(folder.resolve(), (None, []))
    if file is None:
        return
    with suppress(OSError):
        (folder / LOCK_FILE).unlink()
    os.close(file)
    remove_empty(made)


def release_all() -> None:
    """Let other processes write to every folder that this one holds."""
    for folder in [*_held]:
        release(folder)


def _opened(path: Path) -> int:
    """The open lock file, made if it is not there.

    Raises:
        InputError: if it is a link, or no file: what a link leads to would be emptied.
    """
    # A pipe is opened at once, and refused.
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        file = os.open(path, flags, 0o666)
    except OSError as error:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise _no_lock(path) from error
        raise
    about = os.fstat(file)
    if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1:
        os.close(file)
        raise _no_lock(path)
    return file


def _no_lock(path: Path) -> InputError:
    return InputError(f"{path} is a link, or no file, and is not written to; remove it, and try again")


def _is_at(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(file))
    except OSError:
        return False


def _close_in_child() -> None:
    # The lock lives as long as any copy of the open file, and a loader's worker outlives a process that is killed.
    for file, _ in _held.values():
        os.close(file)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
