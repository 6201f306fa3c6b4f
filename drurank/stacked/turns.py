"""Fits that take turns: each in a thread of its own, of which one runs at a time."""

from __future__ import annotations

import os
import random
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from drurank.run_folder import lock

SEEDS = ("PL_GLOBAL_SEED", "PL_SEED_WORKERS")
OWN: tuple[tuple[Any, str], ...] = (
    (sys, "stdout"),
    (sys, "stderr"),
    (warnings, "filters"),
    (warnings, "showwarning"),
    (warnings, "formatwarning"),
    (warnings, "_showwarnmsg_impl"),
    (lock, "_held"),
)
"""Globals of modules that a fit changes while it runs, so that each fit has its own."""


class Turn:
    """Work that is done in turns with others.

    It may call ``pause``, which gives the turn back to whoever called ``go_on``. Random numbers, the run's seed, output
    and warnings are its own: it finds them as it left them.

    Args:
        work: what is done.

    Attributes:
        over: whether it has ended.
        error: what ended it, if it did not end by itself.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self._work, self._thread = work, threading.Thread(target=self._run, daemon=True)
        self._turn, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._own = _globals()
        self._own[lock, "_held"] = {}
        self._ending: BaseException | None = None
        self._works = False
        self.over = False
        self.error: BaseException | None = None

    def go_on(self) -> None:
        """Let it work until it pauses or ends."""
        if not self._thread.is_alive():
            self._thread.start()
        others = _globals()
        _restore(self._own)
        self._works = True
        self._turn.release()
        try:
            self._wait()  # which a signal may interrupt
        finally:
            self._own = _globals()
            _restore(others)

    def pause(self) -> None:
        """Give the turn back, and wait for the next one; called by the work itself."""
        self._back.release()
        self._turn.acquire()
        if self._ending is not None:
            raise self._ending

    def end(self, error: BaseException) -> None:
        """Have it end by an error where it paused, or pauses next."""
        self._ending = error
        if self._works:
            self._wait()
        if not self.over and self._thread.is_alive():
            self.go_on()

    def _wait(self) -> None:
        self._back.acquire()
        self._works = False

    def _run(self) -> None:
        self._turn.acquire()
        try:
            self._work()
        except BaseException as error:  # whoever gave the turn decides
            self.error = error
        finally:
            self.over = True
            self._back.release()


def _globals() -> dict[Any, Any]:
    held: dict[Any, Any] = {(module, name): getattr(module, name) for module, name in OWN}
    held |= {name: os.environ.get(name) for name in SEEDS}
    return held | {"torch": torch.get_rng_state(), "numpy": np.random.get_state(), "random": random.getstate()}


def _restore(held: dict[Any, Any]) -> None:
    for module, name in OWN:
        setattr(module, name, held[module, name])
    warnings._filters_mutated()  # type: ignore[attr-defined]  # what was warned of once is looked up anew
    for name in SEEDS:
        if held[name] is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = held[name]
    torch.set_rng_state(held["torch"])
    np.random.set_state(held["numpy"])
    random.setstate(held["random"])
