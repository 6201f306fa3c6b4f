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
        error: what ended it, if it did not end by itself.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self._work, self._thread = work, threading.Thread(target=self._run, daemon=True)
        # Events, which stay set: a signal may raise an error in whoever waits, right after the wait is over.
        self._turn, self._back, self._ended = threading.Event(), threading.Event(), threading.Event()
        self._own = _globals()
        self._own[lock, "_held"] = {}
        self._ending: BaseException | None = None
        self.error: BaseException | None = None

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self._ended.is_set()

    def go_on(self) -> None:
        """Let it work until it pauses or ends; whatever interrupts this ends it."""
        if not self._thread.is_alive():
            self._thread.start()
        self._back.clear()
        self._give_turn(self._back)

    def pause(self) -> None:
        """Give the turn back, and wait for the next one; called by the work itself."""
        self.end_if_told()
        self._back.set()
        self._take_turn()
        self.end_if_told()

    def end(self, error: BaseException) -> None:
        """Have it end by an error where it paused, or looks next; returns once it has."""
        self._ending = error
        if self._thread.is_alive() and not self.over:
            self._give_turn(self._ended)

    def end_if_told(self) -> None:
        """Raise the error by which it is to end, if there is one; called by the work itself."""
        if self._ending is not None:
            raise self._ending

    def _give_turn(self, until: threading.Event) -> None:
        others = _globals()
        _restore(self._own)
        try:
            self._turn.set()
            until.wait()
        except BaseException as error:
            self._ending = error
            self._turn.set()
            self._ended.wait()
            raise
        finally:
            self._own = _globals()
            _restore(others)

    def _take_turn(self) -> None:
        self._turn.wait()
        self._turn.clear()

    def _run(self) -> None:
        self._take_turn()
        try:
            self.end_if_told()
            self._work()
        except BaseException as error:  # whoever gave the turn decides
            self.error = error
        finally:
            self._ended.set()
            self._back.set()


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
