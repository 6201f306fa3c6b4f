"""All processes of a run end between the same two steps."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import torch
from lightning.pytorch.utilities.exceptions import SIGTERMException

from drurank.processes import max_over_processes_, rank_and_world
from drurank.run_folder.place import leave_folder
from drurank.training.lean_callback import LeanCallback
from drurank.training.stopping import STOPPING


class StopTogether(LeanCallback):
    """Has all processes of a run end between the same two steps once one of them got SIGTERM; frees its folder.

    Lightning's handler asks all processes, and where one of them did not get the signal it waits for half an hour.
    """

    def __init__(self) -> None:
        self._begun = False

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Put our handler and our question in the place of Lightning's."""
        if trainer.world_size == 1 or self._begun:
            return
        self._begun = True
        STOPPING.begin()
        trainer._signal_connector._sigterm_notifier_fn = STOPPING.note
        trainer.fit_loop.epoch_loop._broadcast_sigterm_tensor = partial(_stop_together, trainer)
        children = getattr(trainer.strategy.launcher, "procs", None)
        if children:
            for thread in threading.enumerate():
                if type(thread).__name__ == "_ChildProcessObserver":
                    thread._run = lambda: True  # type: ignore[attr-defined]
            STOPPING.watch_children(children)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Have the epoch that is over be the last one."""
        if trainer.world_size > 1 and _agree(trainer):
            trainer._signal_connector.received_sigterm = True

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Leave time for what is done at the end."""
        if STOPPING.is_told(exception):
            STOPPING.takes_its_leave()
        self._end(trainer)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """The run is over."""
        self._end(trainer)

    def _end(self, trainer: Any) -> None:
        leave_folder(trainer)
        if self._begun:
            self._begun = False
            STOPPING.end()


def _stop_together(trainer: Any) -> None:
    if _agree(trainer):
        raise SIGTERMException


def _agree(trainer: Any) -> bool:
    """Whether any process was told to stop; every one must ask."""
    if rank_and_world()[1] == 1:
        return False
    return bool(max_over_processes_(torch.tensor([int(STOPPING.told)], device=trainer.strategy.root_device)).item())
