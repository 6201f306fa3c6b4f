"""Keeping the best checkpoint by each of several criteria in one run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint, ModelCheckpoint
from lightning.pytorch.utilities.rank_zero import rank_zero_only, rank_zero_warn

from drurank.criterion_keys import key_of
from drurank.errors import InputError
from drurank.figures.selecting import selectable_criterion
from drurank.files import write_json
from drurank.run_folder.checkpoint_io import read_checkpoint
from drurank.run_folder.layout import CHECKPOINT_FOLDER, LAST_CHECKPOINT, SELECTION_FILE
from drurank.run_folder.place import run_folder
from drurank.run_folder.selection import AGAIN, read_noted
from drurank.training.kept_files import moved_state
from drurank.training.stopping import STOPPING
from drurank.words import as_names


class RunCheckpoint(ModelCheckpoint):
    """Keeps its files in ``checkpoints`` of the run's folder, whatever its logger, or in a folder that is given.

    Args:
        filename: their name, without ``.ckpt``.
        dirpath: where to; ``checkpoints`` in the run's folder, if not given.
        **options: those of ``ModelCheckpoint``.
    """

    def __init__(self, filename: str, dirpath: str | Path | None = None, **options: Any) -> None:
        super().__init__(dirpath=dirpath, filename=filename, enable_version_counter=False, **options)
        self.chooses_folder = dirpath is None
        self.is_lost = False
        """Whether somebody has removed the checkpoint, and none was written since."""

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Keep files in the run's folder, which is known once the loggers have begun."""
        if self.chooses_folder and not trainer.fast_dev_run:  # type: ignore[attr-defined]
            self.dirpath = str(run_folder(trainer) / CHECKPOINT_FOLDER)
            super().load_state_dict(moved_state(self.state_dict(), self.dirpath))
        if self.best_model_path and self._is_missing(trainer):
            self._forget()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the best so far, also when the run's folder has been moved."""
        super().load_state_dict(moved_state(state_dict, str(self.dirpath)))

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Refuse to end as if all went well without the checkpoint.

        Raises:
            InputError: if somebody has removed it.
        """
        super().on_fit_end(trainer, pl_module)
        if trainer.is_global_zero and (self.is_lost or (self.best_model_path and _is_gone(self.best_model_path))):
            raise InputError(
                f"{self._file} was removed while the run trained, and no epoch is left to write it anew; {AGAIN}"
            )

    @property
    def _file(self) -> Path:
        return Path(str(self.dirpath)) / f"{self.filename}{self.FILE_EXTENSION}"

    def _is_missing(self, trainer: Trainer) -> bool:
        """Whether the checkpoint is gone, the same in all processes; every one must call it."""
        return bool(trainer.strategy.broadcast(_is_gone(self.best_model_path)))

    def _forget(self) -> None:
        """Have the next checkpoint be the best so far."""
        self.best_k_models, self.kth_best_model_path = {}, ""
        self.best_model_path, self.best_model_score = "", None


class BestByCriterion(RunCheckpoint):
    """Keeps the checkpoint that is best by one criterion, as ``<criterion>.ckpt``, and notes it in ``selection.json``.

    Args:
        criterion_name: as ``qdcg10`` or ``worst``; its value on the validation data, ``val_<criterion>``, is monitored.
        dirpath: where to, ``selection.json`` too; if not given, the checkpoint goes to ``checkpoints`` in the run's
            folder, and ``selection.json`` to that folder.

    Raises:
        InputError: if there is no such criterion.
    """

    def __init__(self, criterion_name: str, dirpath: str | Path | None = None) -> None:
        wanted = selectable_criterion(criterion_name)
        super().__init__(wanted.name, dirpath, monitor=key_of(wanted.name), mode=wanted.mode)
        self.criterion_name = wanted.name

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Keep files in the run's folder; warn where the best so far is not there."""
        before = self.best_model_path
        super().on_fit_start(trainer, pl_module)
        if before and not self.best_model_path:
            rank_zero_warn(
                f"{self._file}, the best by {self.criterion_name} so far, is missing; the best of the epochs from now "
                "on takes its place"
            )

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Refuse to replace the checkpoints of another run.

        Raises:
            InputError: if ``dirpath`` was given and holds some.
        """
        super().on_train_start(trainer, pl_module)
        is_new = trainer.ckpt_path is None and not self.best_model_path and not self.chooses_folder
        if is_new and trainer.is_global_zero and self._selection_file().is_file():
            raise InputError(
                f"dirpath={str(self.dirpath)!r} holds the checkpoints of another run; give another one, or go on with "
                "ckpt_path=<one of them>"
            )

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save if this epoch is the best so far, and note it."""
        self._saving(trainer, lambda: super(BestByCriterion, self).on_train_epoch_end(trainer, pl_module))

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save if this validation is the best so far, and note it."""
        self._saving(trainer, lambda: super(BestByCriterion, self).on_validation_end(trainer, pl_module))

    def _saving(self, trainer: Trainer, save: Any) -> None:
        if self.best_model_path and self._is_missing(trainer):
            rank_zero_warn(
                f"{self.best_model_path}, the best by {self.criterion_name} so far, was removed while the run trained; "
                "the best from this epoch on takes its place"
            )
            self._forget()
            self.is_lost = True
        before = self.best_model_score
        save()
        if self.best_model_score is None:
            return
        if self.best_model_score is not before:
            self.is_lost = False
            if trainer.is_global_zero:
                self._note(trainer.current_epoch)
        elif trainer.is_global_zero:
            self._note_again()

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Note the best once more where somebody has removed the note."""
        super().on_train_end(trainer, pl_module)
        if trainer.is_global_zero and self.best_model_score is not None:
            self._note_again()

    def _selection_file(self) -> Path:
        folder = Path(str(self.dirpath))
        return (folder.parent if self.chooses_folder else folder) / SELECTION_FILE

    @property
    def chosen_epoch(self) -> int | None:
        """The epoch of the best checkpoint so far, as ``selection.json`` says."""
        file = self._selection_file()
        noted = read_noted(file) if self.best_model_path and file.is_file() else {}
        return noted[self.criterion_name]["epoch"] if self.criterion_name in noted else None

    def _note_again(self) -> None:
        file = self._selection_file()
        if _is_gone(self.best_model_path) or (file.is_file() and self.criterion_name in read_noted(file)):
            return
        rank_zero_warn(f"{file} lacks {self.criterion_name}, as if somebody had removed it; it is noted anew")
        self._note(int(read_checkpoint(self.best_model_path)["epoch"]))

    def _note(self, epoch: int) -> None:
        file, best = self._selection_file(), Path(self.best_model_path)
        noted = read_noted(file) if file.is_file() else {}
        noted[self.criterion_name] = {
            "file": f"{best.parent.name}/{best.name}" if self.chooses_folder else best.name,
            "value": float(self.best_model_score),  # type: ignore[arg-type]
            "epoch": epoch,
        }
        write_json(file, noted)


class LastCheckpoint(RunCheckpoint):
    """Keeps the checkpoint of the last epoch, as ``last.ckpt``.

    Args:
        dirpath: where to; ``checkpoints`` in the run's folder, if not given.
    """

    def __init__(self, dirpath: str | Path | None = None) -> None:
        super().__init__(Path(LAST_CHECKPOINT).stem, dirpath)

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Keep files in the run's folder, and say so where the run is stopped without an exception."""
        super().on_fit_start(trainer, pl_module)
        STOPPING.will_say(lambda: self._stopped_by("SIGTERM", trainer))

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """The run is over."""
        super().teardown(trainer, pl_module, stage)
        STOPPING.will_say(None)

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Of a run that a signal ends, say where it goes on; what the file holds stays that of an epoch's end."""
        super().on_exception(trainer, pl_module, exception)
        if isinstance(exception, KeyboardInterrupt):
            rank_zero_only(STOPPING.say_interrupted)(self._stopped_by("SIGINT", trainer))
        elif STOPPING.is_told(exception):
            STOPPING.say()

    def _stopped_by(self, name: str, trainer: Trainer) -> str:
        file = self.best_model_path
        remedy = f"go on with ckpt_path={str(file)!r}" if file else "no epoch had ended, so there is nothing to resume"
        where = f" (rank {trainer.global_rank})" if trainer.global_rank else ""
        return f"stopped by {name} in epoch {trainer.current_epoch}{where}: {remedy}"


def _is_gone(path: str) -> bool:
    return "://" not in path and not Path(path).is_file()


def best_by(names: str | Sequence[str], dirpath: str | Path | None = None) -> list[Checkpoint]:
    """Callbacks that keep the best checkpoint by each criterion, and the last.

    Args:
        names: criteria, a list or one string with commas, as ``"qdcg10,worst,average"``.
        dirpath: where to, ``selection.json`` too; if not given, the checkpoints go to ``checkpoints`` in the run's
            folder, and ``selection.json`` to that folder.

    Raises:
        InputError: if a criterion is unknown or named twice, or there is none.
    """
    wanted = as_names(names)
    if not wanted or len(set(wanted)) < len(wanted):
        raise InputError(f"select is {names!r}; name at least one criterion, and none twice, e.g. qdcg10,worst")
    return [*(BestByCriterion(name, dirpath) for name in wanted), LastCheckpoint(dirpath)]
