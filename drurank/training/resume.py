"""Where a resumed run goes on: Lightning leaves out what was to come between the last batch and the end of an epoch."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from lightning.pytorch.callbacks import WeightAveraging
from lightning.pytorch.utilities.rank_zero import rank_zero_warn

from drurank.run_folder.checkpoint_io import KEY
from drurank.run_folder.logger import RunLogger
from drurank.training.evaluation import TRAIN_LOSS

ANEW = {"ready": 1, "started": 1, "processed": 0, "completed": 0}
"""Progress of a validation that Lightning begins anew: as if it had been stopped in its first batch."""


def go_back_to_validation(trainer: Any, loops: dict[str, Any], saved: dict[str, Any] | None, *, steps: int) -> None:
    """Have Lightning validate, and end the epoch, where a checkpoint was written after a batch and before both.

    By itself it skips the validation, or reads only as many batches as were left. An epoch whose last batch is not
    validated is taken as over; the method ends it.

    Args:
        trainer: what resumes; its loops are not restored yet.
        loops: their states in the checkpoint, changed in place.
        saved: what the checkpoint holds of the method's training; ``None`` if it had not begun.
        steps: optimizer steps that the checkpoint's run had made.
    """
    epochs, batches = loops["epoch_progress"], loops["epoch_loop.batch_progress"]
    now = batches["current"]
    in_validation = _is_begun(loops["epoch_loop.val_loop.batch_progress"]) and now["completed"] == now["processed"]
    if not _is_after_batch(loops, saved) or not (batches["is_last_batch"] or in_validation):
        return
    if in_validation and any(isinstance(callback, WeightAveraging) for callback in trainer.callbacks):
        rank_zero_warn(
            "the checkpoint was written within a validation, for which WeightAveraging puts the averaged weights in "
            "place of the network's: training goes on from the average; for the network's own weights, give another "
            "checkpoint"
        )
    if in_validation or _is_validated(trainer, epochs["current"]["processed"], batches):
        for progress in (batches["total"], now):
            progress["completed"] = progress["processed"]
        loops["epoch_loop.val_loop.batch_progress"].update(total=dict(ANEW), current=dict(ANEW), is_last_batch=False)
        lend_step(trainer, steps)
    else:
        if 0 <= trainer.max_steps <= steps:
            rank_zero_warn(
                f"the checkpoint was written after the last of max_steps={trainer.max_steps} steps and before the end "
                "of its epoch, which Lightning leaves out: its train_loss is not logged, and no checkpoint is written "
                "at its end"
            )
        for progress in (epochs["total"], epochs["current"]):
            progress["processed"] = progress["completed"] = progress["started"]
        for progress in (batches["total"], now):
            progress["completed"] = progress["processed"]
        loops["epoch_loop.state_dict"]["_batches_that_stepped"] += 1


def lend_step(trainer: Any, steps: int) -> None:
    """Give a run that resumes after the last of ``max_steps`` one more, without which Lightning runs nothing at all."""
    loop = trainer.fit_loop.epoch_loop
    if 0 <= loop.max_steps <= steps:
        trainer.fit_loop.lent_from = loop.max_steps
        loop.max_steps = steps + 1


def take_back_step(trainer: Any) -> None:
    """Take back what ``lend_step`` gave, once the validation that it was for has begun."""
    limit = vars(trainer.fit_loop).pop("lent_from", None)
    if limit is not None:
        trainer.fit_loop.epoch_loop.max_steps = limit


def log_past_loss(trainer: Any, epoch: int, loss: Any) -> None:
    """Log the mean loss of an epoch that was over before the run resumed, under its own last step.

    Args:
        trainer: what resumes.
        epoch: the epoch.
        loss: float scalar, or ``None`` if it was logged before.
    """
    for logger in trainer.loggers if loss is not None else ():
        logger.log_metrics({TRAIN_LOSS: float(loss), "epoch": epoch}, step=trainer.global_step - 1)


def unlogged(trainer: Any) -> dict[str, Any] | None:
    """What an epoch that is over is still to log, which Lightning does once checkpoints are written.

    Returns:
        Names and values, and the step; ``None`` at any other time.
    """
    now = trainer.fit_loop.epoch_progress.current
    if not trainer.loggers or not now.processed > now.completed:
        return None
    figures = {name: float(value) for name, value in trainer._logger_connector.metrics["log"].items()}
    if not figures:
        return None
    return {"step": trainer.fit_loop.epoch_loop._batches_that_stepped - 1, "epoch": trainer.current_epoch, **figures}


def log_what_is_missing(trainer: Any, left: dict[str, Any] | None) -> None:
    """Log what a run was to log when it was killed, where its metrics file lacks it.

    Args:
        trainer: what resumes.
        left: what ``unlogged`` gave when the checkpoint was written.
    """
    if left is None or not trainer.is_global_zero:
        return
    file = next((logger for logger in trainer.loggers if isinstance(logger, RunLogger)), None)
    if file is None or file.has_logged(left):
        return
    figures = {name: value for name, value in left.items() if name != "step"}
    for logger in trainer.loggers:
        logger.log_metrics(figures, step=left["step"])
        logger.save()


def first_step_to_log(checkpoint: dict[str, Any]) -> int:
    """The step from which a run that resumes from a checkpoint logs: one less where it first validates the last one."""
    step = int(checkpoint["global_step"])
    if "loops" not in checkpoint:
        return step
    loops = checkpoint["loops"]["fit_loop"]
    is_after = _is_after_batch(loops, checkpoint[KEY].get("training"))
    return step - bool(is_after and loops["epoch_loop.batch_progress"]["is_last_batch"])


def _is_after_batch(loops: dict[str, Any], saved: dict[str, Any] | None) -> bool:
    """Whether a batch was trained, and neither validated nor followed by the next batch or the end of its epoch."""
    epoch, batches = loops["epoch_progress"]["current"], loops["epoch_loop.batch_progress"]
    now = batches["current"]
    is_trained = now["ready"] == now["started"] == now["processed"] > 0
    is_within = epoch["ready"] == epoch["started"] > epoch["processed"]
    is_validated = saved is None or saved.get("validated_batch") == batches["total"]["ready"] - 1
    return bool(is_trained and is_within and not is_validated)


def _is_begun(progress: dict[str, Any]) -> bool:
    """Whether a validation was stopped on its way."""
    now = progress["current"]
    return bool(now["ready"] > now["completed"]) or (now["ready"] > 0 and not progress["is_last_batch"])


def _is_validated(trainer: Any, epoch: int, batches: dict[str, Any]) -> bool:
    """Whether a validation follows the last batch of an epoch."""
    every, interval = trainer.check_val_every_n_epoch, getattr(trainer, "val_check_interval", None)
    if not trainer.enable_validation or interval is None or (every is not None and (epoch + 1) % every):
        return False
    length = batches["current"]["ready"]
    if isinstance(interval, float):
        return bool(length % max(1, int(length * interval)) == 0)
    return bool((batches["total"]["ready"] if every is None else length) % interval == 0)


def end_epoch_as_usual(trainer: Any, criteria: Collection[str]) -> None:
    """Where only the end of an epoch is left, have schedules that follow a criterion take their step.

    Args:
        trainer: what resumes.
        criteria: keys that are known where the validation is not run anew.
    """
    loop = trainer.fit_loop
    if loop.epoch_loop.val_loop.restarted_mid_evaluation:
        loop.epoch_loop.val_loop.batch_progress.total.reset()  # else batches are counted twice
        loop._restarting = False
    elif waits_for_its_end(trainer):
        following = {config.monitor for config in trainer.lr_scheduler_configs if config.reduce_on_plateau}
        loop._restarting = not following <= set(criteria)


def waits_for_its_end(trainer: Any) -> bool:
    """Whether a run resumes after the last batch of an epoch whose end is still to come."""
    batches = trainer.fit_loop.epoch_loop.batch_progress
    is_trained = batches.is_last_batch and batches.current.processed == batches.current.ready
    return bool(trainer.fit_loop.restarted_mid_epoch and is_trained)


def epoch_without_its_end(trainer: Any, ended_epoch: int | None) -> int | None:
    """The epoch that Lightning counts as over and whose end the method has not dealt with, if there is one."""
    now = trainer.fit_loop.epoch_progress.current
    is_whole = now.ready == now.started == now.processed > 0
    behind = is_whole and ended_epoch is not None and ended_epoch < now.processed - 1
    return now.processed - 1 if behind else None


def leave_ended_epoch(trainer: Any, ended_epoch: int | None) -> None:
    """Go on with the next epoch where a checkpoint holds the end of the last one.

    With ``max_steps`` Lightning takes every resume for one from within an epoch, ends the finished epoch again and
    counts it twice.

    Args:
        trainer: what resumes; its loops are restored.
        ended_epoch: the epoch whose end the checkpoint holds.
    """
    loop = trainer.fit_loop
    now, total = loop.epoch_progress.current, loop.epoch_progress.total
    is_whole = now.ready == now.started == now.processed
    if loop.restarting and is_whole and now.processed > 0 and ended_epoch == now.processed - 1:
        now.completed, total.completed = now.processed, total.processed
        loop._restarting = False  # the loop's own setter is what takes the epoch for unfinished
        loop.epoch_loop.restarting = False
        loop.reset_restart_stage()


def warn_within_epoch(trainer: Any) -> None:
    """Warn of a checkpoint from within an epoch, after which the epoch is not what it would have been."""
    progress = trainer.fit_loop.epoch_loop.batch_progress
    done = progress.current.processed
    if done and not (progress.is_last_batch and done == progress.current.ready):
        rank_zero_warn(
            f"the checkpoint was written within epoch {trainer.current_epoch}, after {done} of "
            f"{trainer.num_training_batches} batches: the rest of the epoch draws its first rows again, and rows "
            "it does not reach are weighted by the last prediction known of them"
        )
