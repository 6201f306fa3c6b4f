"""Where callbacks write, and pictures in the run's folder and its loggers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import Logger, MLFlowLogger, TensorBoardLogger, WandbLogger

from drurank.files import replace_file


def folder_of(trainer: Any) -> Path | None:
    """The run's folder; ``None`` where this process is not to write, or nothing is. Every process must call it."""
    folder = trainer.log_dir  # asks all processes
    return Path(folder) if folder is not None and trainer.is_global_zero and not trainer.fast_dev_run else None


def keep_picture(figure: Any, path: Path, loggers: list[Logger]) -> None:
    """Save a figure of matplotlib's and send it to the loggers that take pictures."""
    from drurank.report.pictures import save_picture  # here, since matplotlib is slow to import

    replace_file(path, lambda beside: save_picture(figure, beside))
    send_picture(path, loggers)


def send_picture(path: Path, loggers: list[Logger], step: int | None = None) -> None:
    """Send a picture to the loggers that take pictures."""
    from matplotlib.image import imread

    for logger in loggers:
        if isinstance(logger, TensorBoardLogger):
            logger.experiment.add_image(path.stem, imread(path), step, dataformats="HWC")
        elif isinstance(logger, WandbLogger):
            logger.log_image(path.stem, [str(path)], step)
        elif isinstance(logger, MLFlowLogger):
            logger.experiment.log_artifact(logger.run_id, str(path))
