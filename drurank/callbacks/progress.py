"""A progress bar that shows how a fit goes: its loss and a criterion."""

from __future__ import annotations

import logging
import sys
from typing import Any

from lightning.pytorch import LightningModule
from lightning.pytorch.callbacks import RichProgressBar
from lightning.pytorch.callbacks.progress.rich_progress import ProcessingSpeedColumn
from rich import get_console
from rich.progress import BarColumn

from drurank.methods import GroupModule
from drurank.terminal import replace_letters

NARROWEST, WIDEST, OTHERS = 8, 40, 80
"""Letters of the bar itself, and of all else on its line."""
WITH_SPEED = 100
"""Letters of a line from which on the steps by second are shown."""
LOGGERS = ("lightning.pytorch", "lightning.fabric")


class GroupProgressBar(RichProgressBar):
    """Lightning's progress bar with the loss so far, and the criterion that checkpoints are chosen by.

    The loss is the mean over the rows that this process drew in the epoch, looked at once a logging interval, so that
    no step waits for the device; the criterion is that of the last validation. What is logged while the bar is shown
    stands on lines of its own.
    """

    def __init__(self) -> None:
        super().__init__()
        self._loss: float | None = None
        self._streams: list[tuple[Any, Any]] = []

    def setup(self, trainer: Any, pl_module: LightningModule, stage: str) -> None:
        """Have Lightning's loggers write to where the bar lets other lines through."""
        replace_letters()
        super().setup(trainer, pl_module, stage)
        for handler in [handler for name in LOGGERS for handler in logging.getLogger(name).handlers]:
            # One that writes to a file of the user's is left alone.
            if isinstance(handler, logging.StreamHandler) and handler.stream in (sys.stderr, sys.__stderr__):
                self._streams.append((handler, handler.setStream(_StandardError())))

    def teardown(self, trainer: Any, pl_module: LightningModule, stage: str) -> None:
        """End the bar, and have the loggers write as before."""
        super().teardown(trainer, pl_module, stage)
        self._give_back()

    def on_exception(self, trainer: Any, pl_module: LightningModule, exception: BaseException) -> None:
        """The same where a run ends early."""
        super().on_exception(trainer, pl_module, exception)
        self._give_back()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Look at the loss once a logging interval, and at the end of an epoch."""
        every = trainer.log_every_n_steps
        if isinstance(pl_module, GroupModule) and (trainer.is_last_batch or (every and (batch_idx + 1) % every == 0)):
            self._loss = pl_module.watch.loss_so_far()
        super().on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)

    def get_metrics(self, trainer: Any, pl_module: Any) -> dict[str, int | str | float | dict[str, float]]:
        """What stands behind the bar."""
        logged = super().get_metrics(trainer, pl_module)
        if self._loss is None:
            return {name: value for name, value in logged.items() if name != "v_num"}
        others = {name: value for name, value in logged.items() if name not in ("v_num", "train_loss")}
        return {"loss": self._loss, **others}

    def configure_columns(self, trainer: Any) -> list[Any]:
        """Columns that leave room for the figures on one line."""
        width, columns = get_console().width, super().configure_columns(trainer)
        for column in columns:
            if isinstance(column, BarColumn):
                column.bar_width = max(NARROWEST, min(WIDEST, width - OTHERS))
        return [column for column in columns if width >= WITH_SPEED or not isinstance(column, ProcessingSpeedColumn)]

    def _give_back(self) -> None:
        while self._streams:
            handler, stream = self._streams.pop()
            handler.setStream(stream)


class _StandardError:
    """Standard error as it is now, which a bar on the terminal replaces while it is shown."""

    def write(self, text: str) -> int:
        """Write there."""
        return sys.stderr.write(text)

    def flush(self) -> None:
        """Flush it."""
        sys.stderr.flush()
