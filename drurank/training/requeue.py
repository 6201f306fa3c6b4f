"""Lightning's checkpoint for a job that SLURM starts again: taken by the fit that wrote it, and by no other."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from lightning.pytorch.utilities.rank_zero import rank_zero_info

from drurank.errors import InputError
from drurank.run_folder.place import (
    OF_A_REQUEUE,
    WRITTEN_BY,
    job_of_this_process,
    known_folder,
    noted_job,
    writer_of,
)
from drurank.training.lean_callback import LeanCallback


def requeued_file(folder: str | Path) -> Path | None:
    """The file that Lightning takes for a fit under SLURM without a ``ckpt_path``; ``None`` without one.

    Args:
        folder: the trainer's ``default_root_dir``.

    Raises:
        InputError: if another fit wrote it.
    """
    files = [] if job_of_this_process() is None else _files(folder)
    if not files:
        return None
    newest = max(files, key=lambda path: int(re.sub(r"\D", "", path.name)))
    check_writer(newest, writer_of(newest))
    return newest


def check_writer(file: Path, by: dict[str, Any]) -> None:
    """Refuse a file that Lightning takes for this fit and that another one wrote.

    Args:
        file: the file.
        by: what it holds of the fit that wrote it; empty if it is older than that.

    Raises:
        InputError: naming the file.
    """
    now = job_of_this_process()
    if by and (by["job"], by["seed"]) != (now, _seed()):
        raise InputError(
            f"{file} was written by job {by['job']} with seed {by['seed']} for its requeue, and this is job {now} with "
            f"seed {_seed()}; Lightning takes that file for every fit under SLURM in its folder, whatever the method "
            "or seed: move it away, or give another default_root_dir; to go on from it, give a copy with another name "
            "as ckpt_path"
        )


class Requeue(LeanCallback):
    """Notes in checkpoints which fit of which job wrote them, and refuses one that Lightning takes for another fit.

    Under SLURM it takes the newest ``hpc_ckpt_<N>.ckpt`` of ``default_root_dir`` for every fit there. A fit that is
    over puts its own out of the way.
    """

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Note what wrote it."""
        job = job_of_this_process()
        if job is not None:
            folder = known_folder(trainer) or trainer.log_dir  # which asks all processes
            checkpoint[WRITTEN_BY] = {"job": job, "seed": _seed(), "folder": None if folder is None else str(folder)}

    def on_load_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Look at what wrote it.

        Raises:
            InputError: naming the file, if that was another fit.
        """
        file, job = Path(str(trainer.ckpt_path)), job_of_this_process()
        if OF_A_REQUEUE.fullmatch(file.name) and job is not None:
            check_writer(file, noted_job(str(file), checkpoint))
            rank_zero_info(f"requeued job {job}: the run goes on from {file}")

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """Put files of this fit where Lightning takes them for no other."""
        if job_of_this_process() is None or not trainer.is_global_zero:
            return
        for file in _files(trainer.default_root_dir):
            by = writer_of(file)
            if (by.get("job"), by.get("seed")) == (job_of_this_process(), _seed()):
                file.replace(file.with_name(file.name.replace("hpc_ckpt_", "requeued_")))


def _files(folder: str | Path) -> list[Path]:
    return [path for path in Path(folder).glob("hpc_ckpt_*.ckpt") if OF_A_REQUEUE.fullmatch(path.name)]


def _seed() -> str | None:
    return os.environ.get("PL_GLOBAL_SEED")
