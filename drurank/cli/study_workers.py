"""Processes that run the candidates of a study, and how far they are."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from contextlib import nullcontext, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

from rich.live import Live
from rich.table import Table

from drurank.study.calling import PRCTL
from drurank.study.database import errors_of_database
from drurank.study.queue import Queue, worker_name
from drurank.study.working import ASKED, PATIENCE, StopSignals
from drurank.terminal import Terminal, say

LOOK = 1.0
"""Seconds between two looks at the queue."""


class Workers:
    """Worker processes that end when the ``with`` block is left.

    Args:
        words: their command line.
        logs: folder for what they print.
        number: how many.
    """

    def __init__(self, words: list[str], logs: Path, number: int) -> None:
        self._words, self._logs, self._number = words, logs, number
        self._started: list[subprocess.Popen[bytes]] = []

    @property
    def names(self) -> list[str]:
        """Those that were started, as the queue calls them."""
        return [worker_name(process.pid) for process in self._started]

    def start(self) -> None:
        """Start all of them."""
        self._logs.mkdir(exist_ok=True)
        for place in range(self._number):
            log = self._logs / f"worker_{os.uname().nodename}_{os.getpid()}_{place}.log"
            with log.open("w", encoding="utf-8") as out:
                environment = {**os.environ, **device_of(place)}
                self._started.append(
                    subprocess.Popen(
                        self._words,
                        stdout=out,
                        stderr=subprocess.STDOUT,
                        env=environment,
                        # PR_SET_PDEATHSIG: until it looks after that by itself, see end_with_parent
                        preexec_fn=partial(PRCTL, 1, signal.SIGTERM) if PRCTL else None,
                    )
                )

    def have_ended(self, seconds: float = 0) -> bool:
        """Whether all of them have ended, or do so within some seconds."""
        limit = time.monotonic() + seconds
        while any(process.poll() is None for process in self._started):
            if time.monotonic() >= limit:
                return False
            time.sleep(0.05)
        return True

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for _attempt in range(ASKED):
            for process in self._started:
                process.terminate()
            if self.have_ended(PATIENCE):
                return
        for process in self._started:
            if process.poll() is None:
                process.kill()
                process.wait()


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
    """Start the workers, and show how far they are until all have ended or a signal comes.

    Args:
        queue: of the plan.
        workers: not started yet.
        total: number of candidates.
        stop: signals to stop.

    Raises:
        SystemExit: if a signal came; the workers have ended then.
    """
    begun, counts = time.time(), queue.count()
    first = _done(counts)
    with Live(console=Terminal(), refresh_per_second=1) as live:
        with workers:
            workers.start()
            while stop.status is None:
                counts = _counted(queue, counts)
                live.update(_progress(counts, total, first, begun))
                if workers.have_ended():
                    break
                time.sleep(LOOK)
        with suppress(*errors_of_database()) if stop.status is not None else nullcontext():
            queue.put_back_from(workers.names)  # what one that was killed had; or it is missed after a while
        counts = _counted(queue, counts)
        live.update(_progress(counts, total, first, begun))
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
