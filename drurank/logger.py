"""The folder of a run."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.utilities.rank_zero import rank_zero_only


class RunLogger(CSVLogger):
    """Keeps each run in a folder of its own, also when several start at once; goes on in one that exists.

    Args:
        save_dir: folder of the runs.
        version: name of the run's folder; ``version_0``, ``version_1``, ... if not given.
        before_step: of the metrics that are in the folder, keep those of earlier steps; all, if not given.
    """

    def __init__(
        self, save_dir: str | Path = "runs", version: str | None = None, before_step: int | None = None
    ) -> None:
        super().__init__(save_dir, name="", version=version)
        self._before_step = before_step

    @property
    def version(self) -> int | str:
        """Name of the run's folder; the first time it is asked for it is claimed."""
        if self._version is None:
            number = 0
            # Only the first process claims; the others are told its folder by the trainer.
            while _is_first_process() and not _claim(Path(self.root_dir) / f"version_{number}"):
                number += 1
            self._version = number
        return self._version

    @property
    def experiment(self) -> Any:
        """The writer of metrics; in a folder that has some it goes on after them."""
        if self._experiment is not None or not _is_first_process():
            return super().experiment
        rows = _metrics_in(Path(self.log_dir), self._before_step)
        # The writer removes the file when it begins; given its rows back, it writes them again.
        writer = super().experiment
        writer.metrics = rows
        return writer


def _metrics_in(folder: Path, before_step: int | None) -> list[dict[str, Any]]:
    file = folder / "metrics.csv"
    if not file.is_file():
        return []
    with file.open(newline="", encoding="utf-8") as lines:
        rows = [{key: value for key, value in row.items() if value} for row in csv.DictReader(lines)]
    return [row for row in rows if before_step is None or int(row["step"]) < before_step]


def _is_first_process() -> bool:
    return getattr(rank_zero_only, "rank", 0) == 0


def _claim(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        return False
    return True
