"""Where callbacks write, and what they send to the run's loggers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import Logger, MLFlowLogger, TensorBoardLogger, WandbLogger

from drurank.files import replace_file
from drurank.run_folder.place import run_folder


def folder_of(trainer: Any) -> Path | None:
    """The run's folder; ``None`` where this process is not to write, or nothing is. Every process must call it."""
    if trainer.fast_dev_run:
        return None
    folder = run_folder(trainer)  # asks all processes
    return folder if trainer.is_global_zero else None


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


def send_file(path: Path, loggers: list[Logger], step: int | None = None) -> None:
    """Send a file to the loggers that take files; TensorBoard, which takes none, gets the text of JSON and YAML."""
    for logger in loggers:
        if isinstance(logger, TensorBoardLogger) and path.suffix in (".json", ".yaml"):
            # Indented, it is shown as it is, and not as Markdown.
            text = "".join(f"    {line}\n" for line in path.read_text(encoding="utf-8").splitlines())
            logger.experiment.add_text(path.stem, text, step)
        elif isinstance(logger, WandbLogger):
            logger.experiment.log_artifact(str(path), name=f"{path.stem}-{logger.version}", type=path.stem)
        elif isinstance(logger, MLFlowLogger):
            logger.experiment.log_artifact(logger.run_id, str(path))
