"""The configuration of a run, saved in the run's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.cli import SaveConfigCallback
from lightning.pytorch.utilities.rank_zero import rank_zero_warn

from drurank.callbacks.pictures import send_file
from drurank.run_folder.place import note_loggers, run_folder


class RunConfig(SaveConfigCallback):
    """Saves the configuration in the run's folder, whatever its loggers, and sends it to those that take files.

    Args:
        *args: those of ``SaveConfigCallback``.
        checkpoint: what a fit resumes from.
        **kwargs: those of ``SaveConfigCallback``.
    """

    def __init__(self, *args: Any, checkpoint: str | Path | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.checkpoint = checkpoint
        self._saved_in: Path | None = None

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Save it once in each folder."""
        folder = run_folder(trainer, self.checkpoint)
        if folder == self._saved_in:
            return
        self._saved_in = folder
        if trainer.is_global_zero:
            send_file(self._save(folder), trainer.loggers)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save it again where somebody has removed it."""
        self._keep(trainer)

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """The same at the end."""
        self._keep(trainer)

    def _keep(self, trainer: Trainer) -> None:
        folder = self._saved_in
        if folder is None or not trainer.is_global_zero or (folder / self.config_filename).is_file():
            return
        rank_zero_warn(f"{folder / self.config_filename} was removed while the run trained; it is written anew")
        note_loggers(folder, trainer.loggers)
        self._save(folder)

    def _save(self, folder: Path) -> Path:
        file = folder / self.config_filename
        self.parser.save(self.config, str(file), skip_unset=False, overwrite=True, multifile=False)
        return file
