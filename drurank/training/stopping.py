"""How a process of a run ends early: by SIGTERM, or since another process of the run has ended.

A signal reaches Python only between two instructions of the main thread, which may be waiting for other processes, and
what is asked of all processes in a handler waits for ever where not all of them got the signal. So the handler only
notes it; the processes ask each other between two steps, and end together. A thread of its own ends a process that does
not get there in time, and one that others have left alone.
"""

from __future__ import annotations

import atexit
import logging
import multiprocessing
import os
import re
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from subprocess import Popen, TimeoutExpired
from typing import Any

import torch.distributed as dist
from lightning.pytorch.strategies.launchers import subprocess_script
from lightning.pytorch.utilities.exceptions import SIGTERMException

from drurank.processes import rank_and_world
from drurank.signals import first_in, first_of, flush, forget, is_early
from drurank.training.workers import end_of_worker

SIGTERM_STATUS, SIGINT_STATUS = 128 + signal.SIGTERM, 128 + signal.SIGINT
REFUSED = 2
"""Exit status of a process that input, or the end of another process, keeps from going on."""
LOOK = 0.2
"""Seconds between two looks at the other processes."""
PATIENCE = 5.0
"""Seconds from SIGTERM until a process ends wherever it is; it is between two steps before, as a rule."""
FAREWELL = 30.0
"""Seconds that are added once it ends by itself, for loggers that have something to send."""
MOMENT = 2.0
"""Seconds for a process to end by itself once another has ended."""
LOST = re.compile(r"gloo|nccl|connection (closed|reset)|broken pipe|closed by peer", re.IGNORECASE)
LOGGER = logging.getLogger("lightning.pytorch.utilities.rank_zero")
"""What Lightning says goes here."""


class Stopping:
    """What this process knows of its end; there is one, ``STOPPING``.

    Attributes:
        told: whether SIGTERM came.
        status: with what this process ends once Python is done; ``None`` where Python decides.
    """

    def __init__(self) -> None:
        self.told = self._said = self._passed_on = False
        self._sentence: Callable[[], str] | None = None
        self.status: int | None = None
        self._users, self._owns, self._children = 0, False, list[Popen[bytes]]()
        self._parent: int | None = None
        self._pid, self._deadline = os.getpid(), float("inf")
        self._over: threading.Event | None = None
        self._before: Any = signal.SIG_DFL

    # From the beginning to the end of a run.

    def begin(self) -> None:
        """Look after this process until ``end``; signals only where nothing else deals with SIGTERM."""
        self._users += 1
        if self._users > 1:
            return
        self.told = self._said = self._passed_on = False
        forget()
        self._pid, self._deadline, self._children = os.getpid(), float("inf"), []
        self._parent = os.getppid() if _is_started_by_lightning() else None
        read, write = os.pipe()
        os.set_blocking(write, False)
        self._owns = _is_free_for_us()
        if self._owns:
            self._before = signal.signal(signal.SIGTERM, self._handle)
            signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        # Its own kills all processes with SIGKILL as soon as one ends with an error.
        subprocess_script._launch_process_observer = self.watch_children  # type: ignore[assignment]
        self._over = threading.Event()
        threading.Thread(target=self._watch, args=(self._over, read, write), daemon=True, name="drurank-end").start()

    def end(self) -> None:
        """Leave everything as it was."""
        self._users -= 1
        if self._users or self._over is None:
            return
        self._over.set()
        subprocess_script._launch_process_observer = OBSERVE
        if self._owns and os.getpid() == self._pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGTERM, self._before)  # an error may have kept Lightning from taking back its own
        self._owns, self._sentence, self._children, self._over = False, None, [], None

    def watch_children(self, children: list[Popen[bytes]]) -> None:
        """End with the processes that this one has started."""
        self._children = children

    # What came to pass.

    def note(self, number: int, frame: object) -> None:
        """Note a signal, and pass it on; of SIGINT and SIGTERM the first decides, and this one may come second."""
        self.told |= first_of(number) == number
        if not self._passed_on:
            self._passed_on = True
            _send(self._children, number)

    def _handle(self, number: int, frame: object) -> None:
        if os.getpid() != self._pid:  # a process that was forked off, and has no handler of its own yet
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        self.note(number, frame)
        if not self.told:
            return
        if signal.getsignal(number) == self._handle:  # while it trains Lightning's handler calls this one
            self.say()
            raise SystemExit(SIGTERM_STATUS)

    def is_told(self, error: BaseException) -> bool:
        """Whether an error is a consequence of SIGTERM; waits a moment where a loader's worker got it first."""
        died = end_of_worker(error)
        limit = time.monotonic() + (1 if died is not None and died[2] == "Terminated" else 0)
        while not self.told and time.monotonic() < limit:
            time.sleep(0.02)
        return self.told or isinstance(error, SIGTERMException)

    def status_for(self, error: BaseException) -> int | None:
        """Exit status where an error comes of SIGTERM or of another process's end; ``None`` if of neither."""
        if self.is_told(error):
            self.say()
            return SIGTERM_STATUS
        if not is_lost_connection(error):
            return None
        limit = time.monotonic() + MOMENT
        while time.monotonic() < limit:
            status = self._status_of_others()
            if status is not None:
                self._say_of_others(status)
                return status
            time.sleep(LOOK / 4)
        return None

    def will_say(self, sentence: Callable[[], str] | None) -> None:
        """Have this be said of SIGTERM, in a run that begins."""
        self._sentence, self._said = sentence, False

    def say(self) -> None:
        """Say once that SIGTERM came, and where to go on."""
        self._say_once(lambda: "stopped by SIGTERM" if self._sentence is None else self._sentence())

    def say_interrupted(self, sentence: str) -> None:
        """Say of SIGINT once what there is to say, the first that is called with the most."""
        self._say_once(lambda: sentence)

    def _say_once(self, sentence: Callable[[], str]) -> None:
        if self._said:
            return
        self._said = True
        try:
            LOGGER.info(sentence())
        except BaseException:
            # Torch raises wherever the process is when a loader's worker ends; it is then said once that is dealt with.
            self._said = False
            raise

    @contextmanager
    def saying(self) -> Iterator[None]:
        """Say of SIGTERM in here what an error kept the callbacks from saying."""
        try:
            yield
        except Exception as error:
            if self.is_told(error):
                self.say()
            raise

    def takes_its_leave(self) -> None:
        """Give this process some more seconds, since it ends by itself; workers of loaders may end before it."""
        self._deadline = time.monotonic() + FAREWELL
        if self._owns and hasattr(signal, "SIGCHLD"):
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)

    @property
    def is_of_several(self) -> bool:
        """Whether there are other processes of the run."""
        return bool(self._children) or self._parent is not None or rank_and_world()[1] > 1

    def ends_with(self, status: int) -> None:
        """End with a status once all is written, without the threads of a process group that others have left."""
        if self.status is None:
            atexit.register(self._leave)
        self.status = status

    def _leave(self) -> None:
        flush()
        _end_workers()
        os._exit(self.status or 0)

    # The thread.

    def _watch(self, over: threading.Event, read: int, write: int) -> None:
        alone_until: float | None = None
        first: int | None = None
        while not over.is_set():
            if select.select([read], [], [], LOOK)[0] and signal.SIGTERM in (came := os.read(read, 512)):
                first = first_in(came)
                self.told |= first == signal.SIGTERM
            now = time.monotonic()
            if (self.told or first is not None) and self._owns:
                if self._deadline == float("inf"):
                    self._deadline = now + PATIENCE
                if now >= self._deadline:
                    self._end_here(SIGTERM_STATUS if self.told else SIGINT_STATUS)
            status = self._status_of_others()
            if status is not None:
                alone_until = alone_until or now + MOMENT
                if now >= alone_until and not (self.told and self._owns) and not over.is_set():
                    self._end_here(status)
        for end in (read, write):
            os.close(end)

    def _status_of_others(self) -> int | None:
        """Status of the first child that failed, or of this process where its parent is gone."""
        if self._parent is not None and os.getppid() != self._parent:
            return SIGTERM_STATUS if self.told else REFUSED
        ended = (child.poll() for child in self._children)
        return next((status if status > 0 else 128 - status for status in ended if status), None)

    def _say_of_others(self, status: int) -> None:
        if status == SIGTERM_STATUS:
            self.say()
        elif status > 128:
            name = signal.Signals(status - 128).name if status - 128 in set(signal.Signals) else str(status - 128)
            more = ", as when memory runs out" if name == "SIGKILL" else ""
            sys.stderr.write(f"error: a process of the run was ended by {name}{more}\n")

    def _end_here(self, status: int) -> None:
        def say() -> None:
            self.say() if status == SIGTERM_STATUS else self._say_of_others(status)
            flush()

        # Where the main thread holds the lock of a stream, this waits for ever.
        saying = threading.Thread(target=say, daemon=True)
        saying.start()
        saying.join(1)
        _send(self._children, signal.SIGTERM)
        limit = time.monotonic() + 1
        for child in self._children:
            with suppress(TimeoutExpired):
                child.wait(max(limit - time.monotonic(), 0))
        _send(self._children, signal.SIGKILL)
        _end_workers()
        os._exit(status)


OBSERVE = subprocess_script._launch_process_observer
STOPPING = Stopping()


def is_lost_connection(error: BaseException) -> bool:
    """Whether another process could not be reached."""
    network = isinstance(error, getattr(dist, "DistError", ()))
    return network or (isinstance(error, RuntimeError) and LOST.search(str(error)) is not None)


def _is_started_by_lightning() -> bool:
    """Whether the first process of the run started this one; others have launchers of their own that look after it."""
    return os.environ.get("LOCAL_RANK", "0") != "0" and "RANK" not in os.environ


def _is_free_for_us() -> bool:
    now = signal.getsignal(signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread() or not (now == signal.SIG_DFL or is_early(now)):
        return False
    before = signal.set_wakeup_fd(-1)
    if before != -1:
        signal.set_wakeup_fd(before)
    return before == -1


def _send(processes: Sequence[Popen[bytes]], number: int) -> None:
    for process in processes:
        if process.poll() is None:
            with suppress(OSError):
                process.send_signal(number)


def _end_workers() -> None:
    for worker in multiprocessing.active_children():
        worker.terminate()


def _forget_in_child() -> None:
    # A forked process would write its signals into the parent's pipe.
    with suppress(ValueError):
        if STOPPING._owns:
            signal.set_wakeup_fd(-1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
