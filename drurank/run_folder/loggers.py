"""Loggers that go on in the runs of theirs which a run of ours had."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import CSVLogger, Logger, TensorBoardLogger

from drurank.errors import InputError
from drurank.files import read_json
from drurank.run_folder.layout import CHECKPOINT_FOLDER, LAST_CHECKPOINT, LOGGERS_FILE, holds_run
from drurank.run_folder.logger import RunLogger
from drurank.shapes import check_shape

ID_OF = {"TensorBoardLogger": "version", "WandbLogger": "id", "MLFlowLogger": "run_id"}
"""The argument by which a logger goes on in a run that exists."""
OF_METRICS_FILE = ("CSVLogger", "RunLogger")


def with_runs_of(folder: Path, loggers: Any, before_step: int | None) -> Any:
    """Configurations of loggers, changed so that they go on in their runs.

    Args:
        folder: of the run that is resumed.
        loggers: one configuration of a logger or a list of them, with ``class_path`` and ``init_args``.
        before_step: of the metrics in a CSV file, keep those of earlier steps.

    Returns:
        A copy. A CSV logger that comes first, whose file is in the folder, is a ``RunLogger`` there, since Lightning's
        starts its file anew; others that are not known are as they were.
    """
    changed = copy.deepcopy(loggers)
    several = changed if isinstance(changed, list) else [changed]
    for place, (config, noted) in enumerate(zip(several, _noted(folder), strict=False)):
        name = str(config["class_path"]).rpartition(".")[2]
        if name in OF_METRICS_FILE and place == 0:
            config["class_path"] = f"{RunLogger.__module__}.{RunLogger.__qualname__}"
            arguments = {"save_dir": str(folder.parent), "version": folder.name, "before_step": before_step}
            config["init_args"] = type(config)(**arguments)
        elif name == noted.get("logger") and name in ID_OF:
            config["init_args"][ID_OF[name]] = _one_name(folder, noted["version"])
    return changed


def refuse_taken(logger: Logger | None) -> None:
    """Refuse a folder that was named and holds a run already.

    Args:
        logger: the first logger of a new run, with the version that it was given.

    Raises:
        InputError: if its folder is taken.
    """
    if not isinstance(logger, CSVLogger | TensorBoardLogger):
        return
    folder = Path(logger.log_dir)
    if holds_run(folder):
        raise InputError(
            f"{folder} holds a run; give the logger another version, or go on with "
            f"ckpt_path={str(folder / CHECKPOINT_FOLDER / LAST_CHECKPOINT)!r}"
        )


def _one_name(folder: Path, version: Any) -> Any:
    """A version that a file notes, by which a folder is called.

    Raises:
        InputError: if it is a path, which may lead anywhere.
    """
    if isinstance(version, str) and (version in (".", "..") or set(version) & set("/\\\0")):
        raise InputError(
            f"{folder / LOGGERS_FILE} has the version {version!r:.80}, which is a path; remove it to begin new runs of "
            "the loggers"
        )
    return version


def _noted(folder: Path) -> list[dict[str, Any]]:
    file = folder / LOGGERS_FILE
    if not file.is_file():
        return []
    remedy = "remove it to begin new runs of the loggers"
    noted: list[dict[str, Any]] = read_json(file, remedy)
    if not isinstance(noted, list):
        raise InputError(f"{file} is damaged: it is {ascii(noted)[:80]}, not a list; {remedy}")
    for one in noted:
        check_shape(str(file), one, {"logger": str, "version": str | int | None}, remedy)
    return noted
