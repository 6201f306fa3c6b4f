"""Cached folders of arrays, shared by runs, methods, seeds and processes."""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

from lightning.pytorch.utilities.rank_zero import rank_zero_info
from rich.progress import Progress, TextColumn

from drurank.errors import InputError
from drurank.files import read_json, write_json
from drurank.terminal import Terminal

if TYPE_CHECKING:
    from filelock import BaseFileLock

FORMAT = "4"
"""Part of each key; another one where what is written means something else."""
SUMS_FILE = "sums.json"
"""Size and checksum of each other file of a folder."""
BLOCK = 1 << 24
MOMENT = 1.0
"""Seconds after which a progress bar is shown."""


def cache_folder(cache_dir: str | None) -> Path:
    """Where such folders are kept: ``cache_dir``, or else ``drurank`` in the user's folder for caches."""
    if cache_dir is not None:
        return Path(cache_dir).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "drurank"


def made_once(folder: Path, make: Callable[[Path], None]) -> Path:
    """A folder that is there whole or not at all; of several processes one makes it, and the others wait.

    Args:
        folder: where it is to be; its name says what it is made of.
        make: fills the folder that it is given.

    Raises:
        InputError: if nothing can be written where it is to be.
    """
    if folder.is_dir():
        return folder
    lock = _locked(folder)
    try:
        if not folder.is_dir():
            # Only who holds the lock writes here, so what lies here is of a process that was killed.
            beside = folder.with_name(f".{folder.name}")
            shutil.rmtree(beside, ignore_errors=True)
            beside.mkdir()
            try:
                make(beside)
                write_json(beside / SUMS_FILE, {file.name: _sum_of(file) for file in sorted(beside.iterdir())})
                beside.rename(folder)
            except OSError as error:
                raise OSError(error.errno, error.strerror or str(error), str(folder)) from error
            finally:
                shutil.rmtree(beside, ignore_errors=True)  # there only where it was not made
    finally:
        lock.release()
    return folder


def _locked(folder: Path) -> BaseFileLock:
    """The lock of who makes a folder, once no other process holds it.

    Raises:
        InputError: if it cannot be made.
    """
    from filelock import FileLock, Timeout

    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(f"{folder}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            rank_zero_info(f"Waiting for another process to make {folder}")
            lock.acquire()
    except OSError as error:
        said = error.strerror or str(error)
        raise InputError(
            f"nothing can be kept in {folder.parent}: {said}; give a folder that you may write to as cache_dir=..."
        ) from error
    return lock


def check_sums(folder: Path) -> None:
    """Refuse a folder whose files are not those that were made, since other tokens would be other results.

    Raises:
        InputError: naming the first file that is missing or has changed.
    """
    remedy = "delete that folder, and it is made anew"
    sums = read_json(folder / SUMS_FILE, remedy) if (folder / SUMS_FILE).is_file() else None
    here = {file.name for file in folder.iterdir()} - {SUMS_FILE}
    if not isinstance(sums, dict) or here - sums.keys():
        raise InputError(f"{folder / SUMS_FILE} is damaged or missing; {remedy}")
    for name, known in sums.items():
        file = folder / Path(name).name
        if not file.is_file() or _sum_of(file) != known:
            raise InputError(f"{file} is damaged: it is not as it was written; {remedy}")


def _sum_of(file: Path) -> list[int]:
    size, sum_ = 0, 0
    with file.open("rb") as content:
        while block := content.read(BLOCK):
            size, sum_ = size + len(block), zlib.crc32(block, sum_)
    return [size, sum_]


@contextmanager
def bar(title: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """A progress bar on the terminal, where the work takes longer than a moment.

    Gives what is called with the number of things done since the last call.
    """
    columns = *Progress.get_default_columns(), TextColumn(f"{{task.completed:,.0f}} of {{task.total:,.0f}} {unit}")
    progress = Progress(*columns, console=Terminal())
    task = progress.add_task(title, total=total)
    start = Timer(MOMENT, progress.start)
    start.daemon = True
    start.start()
    try:
        yield lambda done: progress.advance(task, done)
    finally:
        start.cancel()
        start.join()
        if progress.live.is_started:
            progress.stop()
