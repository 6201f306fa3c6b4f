"""Which folder a run has, whatever its loggers are."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
from lightning.pytorch.plugins.environments import SLURMEnvironment
from lightning.pytorch.utilities.rank_zero import rank_zero_warn

from drurank.errors import InputError
from drurank.run_folder.checkpoint_io import read_checkpoint
from drurank.run_folder.layout import LOGGERS_FILE, holds_run
from drurank.run_folder.lock import hold, release
from drurank.shapes import check_shape

OF_A_REQUEUE = re.compile(r"hpc_ckpt_(\d+)\.ckpt")
"""What Lightning calls the checkpoint of a job that SLURM starts again."""
WRITTEN_BY = "drurank_job"
"""What a checkpoint holds of the fit of such a job that wrote it stands under this key."""
JOB = {"job": str | None, "seed": str | None, "folder": str | None}


@dataclass(frozen=True)
class _Place:
    logger: Any
    folder: Path


_PLACES: WeakKeyDictionary[Any, _Place] = WeakKeyDictionary()


def run_folder(trainer: Any, checkpoint: str | Path | None = None) -> Path:
    """The folder of a trainer's run, the same for all of the run; every process must call it. A fit holds it.

    It is where Lightning keeps the checkpoints of the first logger: the folder of a CSV or TensorBoard logger, else
    ``<save_dir>/<name>/<version>``, which for W&B is the project and the run's id, and for MLflow the experiment's and
    the run's id. Without a logger it is a new ``version_<n>`` in ``default_root_dir``. A fit whose folder holds another
    run takes a new one beside it. One that resumes from a run's checkpoint goes on in that run's folder.

    Args:
        trainer: what runs, once its loggers have begun.
        checkpoint: what a fit resumes from, where the trainer does not know it yet.

    Raises:
        InputError: if another process trains there.
    """
    place = _PLACES.get(trainer)
    if place is None or place.logger is not trainer.logger:
        found = _begin(trainer, checkpoint or trainer.ckpt_path) if trainer.is_global_zero else None
        place = _Place(trainer.logger, Path(trainer.strategy.broadcast(found)))
        _PLACES[trainer] = place
    if trainer.is_global_zero and trainer.state.fn == "fit" and trainer.state.status == "running":
        hold(place.folder, "trains")
    return place.folder


def leave_folder(trainer: Any) -> None:
    """Let other processes write to the folder of a trainer's run, which is over."""
    place = _PLACES.get(trainer)
    if place is not None:
        release(place.folder)


def known_folder(trainer: Any) -> Path | None:
    """The folder of a trainer's run, if any of it was asked for so far; makes none."""
    place = _PLACES.get(trainer)
    return None if place is None or place.logger is not trainer.logger else place.folder


def writer_of(file: Path) -> dict[str, Any]:
    """What a checkpoint holds of the fit of a job that wrote it; empty where it is of another program."""
    try:
        checkpoint = read_checkpoint(file)
    except InputError:
        return {}
    return noted_job(str(file), checkpoint)


def noted_job(of: str, checkpoint: Mapping[str, Any]) -> dict[str, Any]:
    """What a checkpoint holds of the fit of a job that wrote it; empty if it holds nothing of that.

    Args:
        of: what the checkpoint is called in the sentence.
        checkpoint: the whole of it.

    Raises:
        InputError: if that is of another kind.
    """
    by: Any = checkpoint.get(WRITTEN_BY, {})
    if by != {}:
        check_shape(of, by, JOB, "give another checkpoint of the run", WRITTEN_BY)
    return dict(by)


def job_of_this_process() -> str | None:
    """The job, or the task of an array of jobs, that SLURM runs this process for; it is the same after a requeue."""
    if not SLURMEnvironment.detect():
        return None
    array = os.environ.get("SLURM_ARRAY_JOB_ID")
    return os.environ.get("SLURM_JOB_ID") if array is None else f"{array}_{os.environ.get('SLURM_ARRAY_TASK_ID')}"


def run_of(checkpoint: str | Path) -> Path | None:
    """The folder of the run that a checkpoint is in, if a fit made it; or that it notes for a requeue of this job.

    A checkpoint of another job may be of somebody else, and the folder that it notes too.
    """
    file = Path(checkpoint)
    folder = file.parent.parent
    if OF_A_REQUEUE.fullmatch(file.name) and file.is_file():
        by, job = writer_of(file), job_of_this_process()
        folder = Path(by.get("folder") or folder) if job is not None and by.get("job") == job else folder
    made = holds_run(folder)
    return folder if file.is_file() and made else None


def claim(parent: Path, prefix: str = "version_", number: int = 0) -> Path:
    """Make the first numbered folder that is free; of processes that start at once, each gets its own.

    Args:
        parent: where to make it.
        prefix: what its name begins with.
        number: the first that is tried.
    """
    while True:
        folder = parent / f"{prefix}{number}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            number += 1
        else:
            return folder


def _begin(trainer: Any, checkpoint: str | Path | None) -> str:
    fits = trainer.state.fn == "fit"
    run = run_of(checkpoint) if fits and checkpoint else None
    if run is None:
        folder, is_own = _of_logger(trainer)
        if not is_own:
            run = claim(folder)
        elif fits and not checkpoint and not note_loggers(folder, trainer.loggers):
            run = claim(folder.parent, f"{folder.name}-", 2)
            rank_zero_warn(f"{folder} holds another run; the files of this one go to {run}")
        else:
            run = folder
    if fits:
        note_loggers(run, trainer.loggers)
    return str(run)


def _of_logger(trainer: Any) -> tuple[Path, bool]:
    """The folder of the first logger's run; or, with ``False``, one in which a folder is to be made."""
    logger, root = trainer.logger, Path(trainer.default_root_dir)
    if logger is None:
        return root, False
    if isinstance(logger, CSVLogger | TensorBoardLogger):
        return Path(logger.log_dir), True
    # A run's files are local, wherever the logger has its own.
    save_dir = None if logger.save_dir is None or "://" in str(logger.save_dir) else logger.save_dir
    base = Path(save_dir or root) / str(logger.name or "")
    version = logger.version
    if version in (None, ""):
        return base, False
    return base / (version if isinstance(version, str) else f"version_{version}"), True


def note_loggers(folder: Path, loggers: list[Any]) -> bool:
    """Write which loggers a run has, by which its folder is known as taken; ``False`` where another run did."""
    noted = [{"logger": type(logger).__name__, "version": logger.version} for logger in loggers]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with (folder / LOGGERS_FILE).open("x", encoding="utf-8") as file:
            file.write(json.dumps(noted, indent=1))
    except FileExistsError:
        return False
    return True
