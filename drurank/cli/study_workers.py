"""Processes that run the candidates of a study, and how far they are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from rich.live import Live
from rich.table import Table

from drurank.errors import InputError
from drurank.study.calling import PRCTL
from drurank.study.database import errors_of_database, import_storage
from drurank.study.queue import Queue, worker_name
from drurank.study.working import ASKED, PATIENCE, StopSignals
from drurank.terminal import Terminal, say

LOOK = 1.0
"""Seconds between two looks at the queue."""


CHECK, BEGIN = "check", "begin"
"""What the first process asks of a worker: of its plan, and to begin, with the log that it prints into."""


@dataclass(frozen=True)
class Worker:
    """A worker process, as the first process has it.

    Attributes:
        process: itself.
        connection: by which it is told what to do.
        early: what it prints before it begins, and so before there may be a log.
    """

    process: subprocess.Popen[bytes]
    connection: Connection
    early: IO[bytes]

    def last_line(self) -> str:
        """The last line of what it printed before it begins."""
        self.early.seek(0)
        return (self.early.read().decode(errors="replace").strip().splitlines() or ["it printed nothing"])[-1]


class Workers:
    """Worker processes that end when the ``with`` block is left.

    They are started before there is something to run: what they import takes seconds, in which the plan is checked.

    Args:
        words: their command line, after which comes the number of the file of their ``connection``.
        logs: folder for what they print.
        number: how many.
    """

    def __init__(self, words: list[str], logs: Path, number: int) -> None:
        self._words, self._logs, self._number = words, logs, number
        self._started: list[Worker] = []

    @property
    def names(self) -> list[str]:
        """Those that were started, as the queue calls them."""
        return [worker_name(worker.process.pid) for worker in self._started]

    def check(self, shared: Path) -> list[str]:
        """Have one of them check the plan; see ``wait_to_begin``.

        Args:
            shared: folder of the configurations that all candidates share.

        Returns:
            What it warns of in the data.

        Raises:
            InputError: naming what is wrong in the plan.
        """
        self._start()
        first = self._started[0]
        try:
            first.connection.send((CHECK, shared))
            import_storage()
            refused, warned = first.connection.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError) as error:
            raise InputError(f"a worker ended before the plan was checked: {first.last_line()}") from error
        if refused is not None:
            raise InputError(refused)
        return list(warned)

    def begin(self) -> None:
        """Have all of them take candidates."""
        self._start()
        self._logs.mkdir(exist_ok=True)
        for place, worker in enumerate(self._started):
            log = self._logs / f"worker_{os.uname().nodename}_{os.getpid()}_{place}.log"
            worker.early.seek(0)
            log.write_bytes(worker.early.read())
            with suppress(BrokenPipeError, ConnectionResetError):  # the log says why it has ended
                worker.connection.send((BEGIN, log.resolve()))

    def _start(self) -> None:
        for place in range(len(self._started), self._number):
            ours, theirs = Pipe()
            early = TemporaryFile()  # noqa: SIM115, as the worker writes it
            process = subprocess.Popen(
                [*self._words, str(theirs.fileno())],
                stdout=early,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(device_of(place) if self._number > 1 else {})},
                pass_fds=[theirs.fileno()],
                # PR_SET_PDEATHSIG: until it looks after that by itself, see end_with_parent
                preexec_fn=partial(PRCTL, 1, signal.SIGTERM) if PRCTL else None,
            )
            theirs.close()
            self._started.append(Worker(process, ours, early))

    def end(self) -> None:
        """End all of them, by force if it takes too long."""
        for _attempt in range(ASKED):
            for worker in self._started:
                worker.process.terminate()
            if self.have_ended(PATIENCE):
                return
        for worker in self._started:
            if worker.process.poll() is None:
                worker.process.kill()
                worker.process.wait()

    def have_ended(self, seconds: float = 0) -> bool:
        """Whether all of them have ended, or do so within some seconds."""
        limit = time.monotonic() + seconds
        while any(worker.process.poll() is None for worker in self._started):
            if time.monotonic() >= limit:
                return False
            time.sleep(0.05)
        return True

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        for worker in self._started:
            worker.connection.close()
            worker.early.close()


def wait_to_begin(number: int, check: Callable[[Path], list[str]]) -> None:
    """Do in a worker what the first process asks for, and return once it is to begin; it then prints into its log.

    Args:
        number: of the file of the connection.
        check: checks the plan, by the folder of the configurations that all candidates share, and gives warnings.

    Raises:
        SystemExit: if the first process has no work, or has ended.
    """
    connection = Connection(number)
    while True:
        try:
            asked, path = connection.recv()
        except (EOFError, ConnectionResetError) as error:
            raise SystemExit(0) from error
        if asked == BEGIN:
            break
        refused, warned = None, list[str]()
        try:
            warned = check(path)
        except InputError as error:
            refused = str(error)
        connection.send((refused, warned))
        import_storage()
    sys.stdout.flush()
    with path.open("ab") as log:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)


def device_of(place: int) -> dict[str, str]:
    """Environment in which a worker sees one of several GPUs, each worker the next one."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        import torch  # here, since it is slow to import

        devices = [str(number) for number in range(torch.cuda.device_count())]
    else:
        devices = named.split(",")
    return {"CUDA_VISIBLE_DEVICES": devices[place % len(devices)]} if len(devices) > 1 else {}


def watch(queue: Queue, workers: Workers, total: int, stop: StopSignals) -> None:
    """Let the workers begin, if something is left, and show how far they are until all end or a signal comes.

    Args:
        queue: of the plan.
        workers: of the plan, which have ended then.
        total: number of candidates.
        stop: signals to stop.

    Raises:
        SystemExit: if a signal came.
    """
    begun, counts = time.time(), queue.count()
    first = _done(counts)
    terminal = Terminal()
    with Live(console=terminal, refresh_per_second=1) as live:
        if counts["WAITING"] or counts["RUNNING"]:
            workers.begin()
        else:
            workers.end()
        while stop.status is None and not workers.have_ended():
            counts = _counted(queue, counts)
            live.update(_progress(counts, total, first, begun))
            workers.have_ended(LOOK)
        workers.end()
        with suppress(*errors_of_database()) if stop.status is not None else nullcontext():
            queue.put_back_from(workers.names)  # what one that was killed had; or it is missed after a while
        counts = _counted(queue, counts)
        live.update(_progress(counts, total, first, begun))
    if not terminal.is_terminal:
        say("")  # Live leaves a file within the table's last line
    if stop.status is not None:
        name = signal.Signals(stop.status - 128).name
        say(f"stopped by {name}: {counts['COMPLETE']} of {total} candidates are finished; the same command goes on")
        raise SystemExit(stop.status)


def _counted(queue: Queue, before: Counter[str]) -> Counter[str]:
    """The counts; those before, if the database is out of reach for a moment."""
    with suppress(*errors_of_database()):
        return queue.count()
    return before


def _done(counts: Counter[str]) -> int:
    return counts["COMPLETE"] + counts["FAIL"]


def _progress(counts: Counter[str], total: int, first: int, begun: float) -> Table:
    """How many candidates are in which state, ``first`` of them finished or failed since before this began."""
    table, done, seconds = Table(), _done(counts) - first, time.time() - begun
    for column in ("finished", "failed", "taken", "waiting", "of", "time left"):
        table.add_column(column, justify="right")
    left = counts["RUNNING"] + counts["WAITING"]
    estimate = str(timedelta(seconds=round(seconds / done * left))) if done else "?"
    numbers = [counts[state] for state in ("COMPLETE", "FAIL", "RUNNING", "WAITING")]
    table.add_row(*map(str, numbers), str(total), estimate if left else "none")
    return table
