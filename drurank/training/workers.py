"""The end of a process that loads rows, as the process that reads them sees it."""

from __future__ import annotations

import re
import signal
import traceback

WORKER = re.compile(
    r"DataLoader worker \(pid(?:\(s\))? ?([\d, ]+)\) (?:is killed by signal: (\w+)|exited unexpectedly)"
)
MOMENT = 1.0
"""Seconds for a worker to have ended once its connection has."""


def end_of_worker(error: BaseException) -> re.Match[str] | None:
    """Which workers of a loader ended and by what signal, if an error comes of that."""
    said = WORKER.search(str(error))
    if said is not None or not isinstance(error, ConnectionError | EOFError | FileNotFoundError):
        return said
    # A connection that breaks while a batch is handed over, before the system tells of the end of the worker.
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_name == "_try_get_data":
            for worker in frame.f_locals["self"]._workers:
                worker.join(MOMENT)
                if worker.exitcode is not None and worker.exitcode < 0:
                    name = signal.strsignal(-worker.exitcode)
                    return WORKER.search(f"DataLoader worker (pid {worker.pid}) is killed by signal: {name}")
    return None
