"""The folder of a run."""

from __future__ import annotations

import csv
from pathlib import Path

from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.utilities.rank_zero import rank_zero_only


class RunLogger(CSVLogger):
    """Keeps each run in a folder of its own, also when several start at once, and goes on in one that exists.

    Args:
        save_dir: folder of the runs.
        version: name of the run's folder; ``version_0``, ``version_1``, ... if not given.
        resume: keep the metrics that are in the folder already.
    """

    def __init__(self, save_dir: str | Path = "runs", version: str | None = None, resume: bool = False) -> None:
        super().__init__(save_dir, name="", version=version)
        if resume:
            self._keep_metrics()

    @property
    def version(self) -> int | str:
        """Name of the run's folder; the first time it is asked for it is claimed."""
        if self._version is None:
            number = self._get_next_version()
            while _is_first_process() and not _claim(Path(self.root_dir) / f"version_{number}"):
                number += 1
            self._version = number
        return self._version

    @rank_zero_only
    def _keep_metrics(self) -> None:
        file = Path(self.log_dir) / "metrics.csv"
        if not file.is_file():
            return
        with file.open(newline="") as lines:
            rows = [{key: value for key, value in row.items() if value} for row in csv.DictReader(lines)]
        # The writer removes the file when it begins; given its rows back, it writes them again.
        self.experiment.metrics = rows


def _is_first_process() -> bool:
    return getattr(rank_zero_only, "rank", 0) == 0


def _claim(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        return False
    return True
