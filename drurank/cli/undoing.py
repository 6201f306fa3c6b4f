"""What a command that ends before it has done anything takes back: new folders and files, and changes of a run's."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger

from drurank.cli.parser import reason_of
from drurank.errors import InputError
from drurank.files import missing_folders, remove_empty, replace_file
from drurank.run_folder.layout import (
    CHECKPOINT_FOLDER,
    CONFIG_FILE,
    HPARAMS_FILE,
    LOGGERS_FILE,
    METRICS_FILE,
    WEIGHTS_FILE,
    WEIGHTS_FOLDER,
)
from drurank.run_folder.lock import LOCK_FILE, hold, release
from drurank.run_folder.logger import RunLogger, is_first_process
from drurank.run_folder.place import known_folder
from drurank.terminal import say
from drurank.training.lean_callback import LeanCallback
from drurank.training.stopping import STOPPING

LARGE = 1 << 24
"""Bytes of a file that is not kept in memory; nothing of a large one changes before a run has begun."""
NOTHING_LOST = (CONFIG_FILE, HPARAMS_FILE, LOGGERS_FILE, LOCK_FILE, WEIGHTS_FILE, WEIGHTS_FOLDER, CHECKPOINT_FOLDER)
"""What a folder may hold that is of no use without a checkpoint and without figures."""


class Begun(LeanCallback):
    """Knows whether the first batch of a run is over; whatever fails before that is as if never run."""

    def __init__(self) -> None:
        self.is_true = False

    def on_train_batch_end(self, *of_batch: Any) -> None:
        """The run has begun."""
        self.is_true = True

    def on_validation_batch_end(self, trainer: Any, *of_batch: Any) -> None:
        """The same of a run that validates alone."""
        self.is_true |= trainer.state.fn == "validate"

    def on_test_batch_end(self, *of_batch: Any) -> None:
        """The same of a test."""
        self.is_true = True

    def on_predict_batch_end(self, *of_batch: Any) -> None:
        """The same of predictions."""
        self.is_true = True


@contextmanager
def undone_if_not_begun(trainer: Any, run: Path | None = None) -> Iterator[None]:
    """Leave everything as it was where what is done inside fails before its first batch is over.

    A fit that is refused or interrupted later, but before it has kept a checkpoint or logged a figure, leaves no new
    folder either. SIGTERM is no such end: the job may be started again.

    Args:
        trainer: what runs, with the callback ``Begun``.
        run: folder that exists and is gone on in, or in which new ones are made.
    """
    if not is_first_process():
        yield
        return
    known = [run] if run is not None else _named_folders(trainer)
    there = {path for folder in known if folder.exists() for path in (folder, *folder.rglob("*"))}
    before = {path for path in there if path.name != LOCK_FILE}
    # What lies deeper, checkpoints and weights by epoch, changes only once a run has begun.
    contents = {path: path.read_bytes() for path in before if path.parent in known and _is_small_file(path)}
    missing = [missing_folders(folder) for folder in [*known, *_roots(trainer)]]
    try:
        yield
    except BaseException as error:
        stopped = isinstance(error, SystemExit | KeyboardInterrupt)
        for folder in _folders_of(trainer, run):
            refused = not _begun(trainer) and not _holds_results(folder, before)
            if refused or ((stopped or reason_of(error)) and _is_useless(trainer, folder, before)):
                _undo(folder, before, contents)
            if stopped and not folder.exists():
                say(f"{folder} held no checkpoint yet and was removed", error=True)
        for folders in missing:
            remove_empty([folder for folder in folders if folder.exists()])
        raise


def _begun(trainer: Any) -> bool:
    return any(isinstance(callback, Begun) and callback.is_true for callback in trainer.callbacks)


def _named_folders(trainer: Any) -> list[Path]:
    """Folders of loggers whose names are known."""
    loggers = [one for one in trainer.loggers if isinstance(one, CSVLogger | TensorBoardLogger)]
    return [Path(one.log_dir) for one in loggers if not isinstance(one, RunLogger) or one.is_named]


def _roots(trainer: Any) -> list[Path]:
    """Folders in which the run makes its own."""
    saved = [one.root_dir if isinstance(one, RunLogger) else one.save_dir for one in trainer.loggers]
    return [Path(one) for one in (*saved, trainer.default_root_dir) if one is not None and "://" not in str(one)]


def _folders_of(trainer: Any, run: Path | None) -> list[Path]:
    """Folders that the run has made so far, or goes on in."""
    found = [run, known_folder(trainer), *_named_folders(trainer)]
    return list(dict.fromkeys(folder for folder in found if folder is not None and folder.is_dir()))


def _is_small_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.stat().st_size < LARGE and path.suffix != ".ckpt"


def _holds_results(folder: Path, before: set[Path]) -> bool:
    """Whether new files are of a run that has begun, as in processes that this one has started."""
    return any(path.suffix == ".ckpt" or path.name == METRICS_FILE for path in folder.rglob("*") if path not in before)


def _is_useless(trainer: Any, folder: Path, before: set[Path]) -> bool:
    """Whether a fit that has begun has made a folder in which there is nothing to look at or go on from."""
    if trainer.state.fn != "fit" or folder in before or STOPPING.told:
        return False
    return all(path.name in NOTHING_LOST for path in folder.iterdir()) and not any(folder.rglob("*.ckpt"))


def _write(content: bytes, path: Path) -> None:
    path.write_bytes(content)


def _undo(folder: Path, before: set[Path], contents: dict[Path, bytes]) -> None:
    with suppress(InputError, OSError):  # another process has begun there, or nothing can be written
        hold(folder, "cleans up")
        if folder not in before:
            shutil.rmtree(folder)
        for path in sorted(folder.rglob("*"), reverse=True):
            if path not in before and path.name != LOCK_FILE:
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        for path, content in contents.items():
            if path.is_relative_to(folder) and (not path.is_file() or path.read_bytes() != content):
                replace_file(path, partial(_write, content))
    release(folder)
