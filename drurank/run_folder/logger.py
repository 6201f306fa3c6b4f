"""The folder of a run."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lightning.pytorch.core.saving import save_hparams_to_yaml
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.loggers.csv_logs import ExperimentWriter
from lightning.pytorch.utilities.rank_zero import rank_zero_only, rank_zero_warn

from drurank import limits
from drurank.errors import InputError
from drurank.files import begins_with, replace_file
from drurank.limits import refuse_large
from drurank.run_folder.layout import METRICS_FILE
from drurank.run_folder.place import claim

MOST_BYTES = 1 << 27
"""Of the metrics of a run that is gone on with."""


class RunLogger(CSVLogger):
    """Keeps each run in a folder of its own, also when several start at once; goes on in one that exists.

    Args:
        save_dir: folder of the runs.
        version: name of the run's folder; ``version_0``, ``version_1``, ... if not given.
        before_step: of the metrics that are in the folder, keep those of earlier steps (none with 0); all, if not
            given.
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
            # Only the first process claims; the others are told its folder by the trainer.
            self._version = claim(Path(self.root_dir)).name if is_first_process() else "version_0"
        return self._version

    @property
    def is_named(self) -> bool:
        """Whether the run's folder was named, or claimed by now."""
        return self._version is not None

    @property
    def experiment(self) -> Any:
        """The writer of metrics; in a folder that has some it goes on after them."""
        if self._experiment is None and is_first_process():
            self._experiment = MetricsWriter(self.log_dir, self._before_step)
        return super().experiment

    def has_logged(self, figures: dict[str, Any]) -> bool:
        """Whether the file has a row of a step with these figures, or more."""
        rows = _metrics_in(Path(self.log_dir), None)
        return any(int(row["step"]) == figures["step"] and figures.keys() <= row.keys() for row in rows)


class MetricsWriter(ExperimentWriter):
    """Lightning's writer, which a kill at any moment costs at most the row that is being written.

    Args:
        log_dir: the run's folder.
        before_step: of the rows that are there, keep those of earlier steps; all, if not given.
    """

    def __init__(self, log_dir: str, before_step: int | None) -> None:
        super().__init__(log_dir)
        self._before_step, self._is_begun = before_step, False

    def log_hparams(self, params: dict[str, Any]) -> None:
        """Note hyperparameters, and write all that were noted in one step."""
        self.hparams.update(params)
        file = Path(self.log_dir) / self.NAME_HPARAMS_FILE
        replace_file(file, lambda beside: save_hparams_to_yaml(beside, self.hparams))

    def save(self) -> None:
        """Write what was logged; where somebody has removed the file, say so and begin it anew."""
        file = Path(self.metrics_file_path)
        if self.metrics and self._is_begun and not begins_with(file, ",".join(self.metrics_keys)):
            rank_zero_warn(
                f"{file} was removed or changed while the run went on; it is written anew from step "
                f"{self.metrics[0]['step']} on, with what could be read of it"
            )
            self._rewrite_with_new_header(self.metrics_keys)
        self._is_begun |= bool(self.metrics)
        super().save()

    def _check_log_dir_exists(self) -> None:
        # Lightning's removes the file here, long before there is another.
        pass

    def _rewrite_with_new_header(self, fieldnames: list[str]) -> None:
        rows = _metrics_in(Path(self.log_dir), self._before_step, says=True)
        self._before_step = None
        fieldnames[:] = sorted({*fieldnames, *(key for row in rows for key in row)})
        replace_file(Path(self.metrics_file_path), lambda beside: _write_metrics(beside, fieldnames, rows))


def _write_metrics(file: Path, names: list[str], rows: list[dict[str, Any]]) -> None:
    with file.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, names)
        writer.writeheader()
        writer.writerows(rows)


def _metrics_in(folder: Path, before_step: int | None, *, says: bool = False) -> list[dict[str, Any]]:
    """The figures of each row of a run's metrics of a step before this one.

    Args:
        folder: of the run.
        before_step: the first step that is left out; none, if not given.
        says: whether to warn of what cannot be read.

    Raises:
        InputError: if the file is none of metrics, or too large.
    """
    file = folder / METRICS_FILE
    if not file.is_file():
        return []
    kept, torn, figures = list[dict[str, Any]](), 0, 0
    try:
        refuse_large(file, MOST_BYTES)
        with file.open(newline="", encoding="utf-8") as lines:
            rows = csv.reader(_whole_lines(lines))
            header = next(rows, None)
            if header is not None and ("step" not in header or len(set(header)) < len(header)):
                raise ValueError(f"its first line is {','.join(header)[:80]!r}")
            for row in rows:
                if header is None or len(row) != len(header):
                    torn += 1  # by a kill or a full disk
                    continue
                found = {key: cell for key, cell in zip(header, row, strict=True) if cell}
                figures += len(found)
                if figures > limits.MOST_FIGURES and not limits.are_lifted():
                    raise InputError(
                        f"{file} has more than {limits.MOST_FIGURES:,} figures; move it away to go on without them, or "
                        f"{limits.LIFT}"
                    )
                step = int(found["step"])
                if before_step is None or step < before_step:
                    kept.append(found)
    except InputError:
        raise
    except (ValueError, KeyError, csv.Error) as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise InputError(f"{file} is damaged ({said}); move it away to go on without earlier figures") from error
    if says and (torn or (header is None and file.stat().st_size)):
        lost = f"{torn:,} rows that are not whole" if torn else "what it holds, which is no whole line"
        rank_zero_warn(f"{file} is written anew without {lost}")
    return kept


def _whole_lines(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if len(line) > limits.LONGEST_CELL and not limits.are_lifted():
            raise ValueError(f"it has a line of more than {limits.LONGEST_CELL:,} characters")
        if line.endswith("\n"):
            yield line


def is_first_process() -> bool:
    """Whether this is the only process of a run, or the first."""
    return getattr(rank_zero_only, "rank", 0) == 0
