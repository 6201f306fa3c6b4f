"""What a command that ends before it has done anything takes back: the folder that it made, and a run's description.

Only files that a run writes before its first batch are removed or put back, each by its name, and folders only once
they are empty: a folder may hold what is somebody else's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger

from drurank.files import missing_folders, remove_empty, replace_file
from drurank.run_folder.layout import CHECKPOINT_FOLDER, CONFIG_FILE, HPARAMS_FILE, LOGGERS_FILE, WEIGHTS_FILE
from drurank.run_folder.lock import LOCK_FILE, release
from drurank.run_folder.logger import RunLogger, is_first_process
from drurank.run_folder.place import known_folder
from drurank.terminal import say
from drurank.training.lean_callback import LeanCallback
from drurank.training.stopping import STOPPING

DESCRIPTION = (CONFIG_FILE, HPARAMS_FILE, LOGGERS_FILE)
"""What says how a run is made."""
EVENTS = "events.out.tfevents."
"""Begins the names of TensorBoard's files."""


class Begun(LeanCallback):
    """Knows whether the first batch of a run is over; whatever fails before that is as if never run."""

    def __init__(self) -> None:
        self.is_true = False

    def on_train_batch_end(self, *of_batch: Any) -> None:
        """The run has begun."""
        self.is_true = True

    def on_validation_batch_end(self, trainer: Any, *of_batch: Any) -> None:
        """The same of a run that validates, but for Lightning's sanity check."""
        self.is_true |= not trainer.sanity_checking

    def on_test_batch_end(self, *of_batch: Any) -> None:
        """The same of a test."""
        self.is_true = True

    def on_predict_batch_end(self, *of_batch: Any) -> None:
        """The same of predictions."""
        self.is_true = True


@contextmanager
def undone_if_not_begun(trainer: Any, run: Path | None = None) -> Iterator[None]:
    """Leave a run as it was, and no new folder, where what is done inside fails before its first batch is over.

    A fit that is refused or interrupted later, but before it has kept or logged anything, leaves no new folder either.
    SIGTERM is no such end: the job may be started again.

    Args:
        trainer: what runs, with the callback ``Begun``.
        run: folder that exists and is gone on in, or in which new ones are made.
    """
    if not is_first_process():
        yield
        return
    # Folders whose names are known by now; the others are claimed later, and are new.
    there = [] if run is None else [path.resolve() for path in (run, *run.glob("*")) if path.is_dir()]
    there += [folder for folder in _folders_of(trainer) if folder.is_dir()]
    kept = {path: path.read_bytes() for folder in there for path in _ours(folder)}
    roots = [one.root_dir if isinstance(one, RunLogger) else one.save_dir for one in trainer.loggers]
    local = [Path(one) for one in (*roots, trainer.default_root_dir) if one is not None and "://" not in str(one)]
    missing = [missing_folders(folder) for folder in [*_folders_of(trainer), *local]]
    try:
        yield
    except BaseException as error:
        begun = any(isinstance(callback, Begun) and callback.is_true for callback in trainer.callbacks)
        told = isinstance(error, SystemExit | KeyboardInterrupt)
        for folder in dict.fromkeys([*there, *_folders_of(trainer)]):
            if folder in there and not begun:
                _put_back(folder, kept)
            elif folder not in there and not (begun and (trainer.state.fn != "fit" or STOPPING.told)):
                _remove_if_useless(folder, told=told)
        for folders in missing:
            remove_empty([folder for folder in folders if folder.exists()])
        raise


def _folders_of(trainer: Any) -> list[Path]:
    """Folders of loggers, or of a run without one, as far as there are any by now; ours are new ones once claimed."""
    loggers = [one for one in trainer.loggers if isinstance(one, CSVLogger | TensorBoardLogger)]
    claimed = None if trainer.loggers else known_folder(trainer)
    named = [Path(one.log_dir) for one in loggers if not isinstance(one, RunLogger) or one.is_named]
    return [folder.resolve() for folder in (named if claimed is None else [claimed])]


def _ours(folder: Path) -> list[Path]:
    """Files in a folder that a run writes before its first batch."""
    events = folder.glob(f"{EVENTS}*.{os.getpid()}.*")
    return [path for path in (*(folder / name for name in DESCRIPTION), *events) if _is_file(path)]


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _write(content: bytes, path: Path) -> None:
    path.write_bytes(content)


def _put_back(folder: Path, kept: dict[Path, bytes]) -> None:
    """Have what describes a run in a folder be as it was."""
    for path in _ours(folder):
        if path not in kept:
            path.unlink()
    for path, content in kept.items():
        if path.parent == folder and (not _is_file(path) or path.read_bytes() != content):
            replace_file(path, partial(_write, content))


def _remove_if_useless(folder: Path, *, told: bool) -> None:
    """Remove a folder that this run has made, if there is nothing in it to look at or to go on from."""
    ours, empty = [*_ours(folder), *filter(_is_file, [folder / WEIGHTS_FILE])], folder / CHECKPOINT_FOLDER
    known = {*ours, folder / LOCK_FILE, empty}
    if not folder.is_dir() or not known.issuperset(folder.iterdir()) or (empty.is_dir() and any(empty.iterdir())):
        return
    for path in ours:
        path.unlink()
    with suppress(OSError):
        empty.rmdir()
    release(folder)
    with suppress(OSError):
        folder.rmdir()
    if told and not folder.exists():
        say(f"{folder} held no checkpoint yet and was removed", error=True)
