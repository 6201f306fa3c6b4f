"""How the program ends where the reader of its output has gone, as ``head`` does after its lines."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

STATUS = 128 + getattr(signal, "SIGPIPE", 13)
"""Exit status of a program that ends by a closed pipe."""


def output_is_closed() -> bool:
    """Whether standard output is a pipe that nobody reads any more."""
    with suppress(OSError, ValueError, AttributeError):
        poll = select.poll()
        poll.register(sys.__stdout__.fileno(), 0)  # type: ignore[union-attr]
        return any(event & select.POLLERR for _, event in poll.poll(0))
    return False


@contextmanager
def ending_quietly() -> Iterator[None]:
    """End the program without a word, with ``STATUS``, once its output is closed, also in threads and at its exit.

    Raises:
        SystemExit: in that case.
    """
    of_threads = threading.excepthook

    def hook(told: threading.ExceptHookArgs) -> None:
        if not (issubclass(told.exc_type, BrokenPipeError) and output_is_closed()):
            of_threads(told)

    threading.excepthook = hook
    try:
        yield
        if not _flushed():
            raise SystemExit(STATUS)
    except BaseException as error:
        # Rich ends the program by itself, with another status and its output led nowhere.
        if _is_of_pipe(error) and (output_is_closed() or isinstance(error, SystemExit)):
            raise SystemExit(STATUS) from error
        raise
    finally:
        threading.excepthook = of_threads
        if output_is_closed():
            _write_nowhere()


def _is_of_pipe(error: BaseException | None) -> bool:
    """Whether an error comes from a closed pipe."""
    while error is not None:
        if isinstance(error, BrokenPipeError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _flushed() -> bool:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return False
    except (OSError, ValueError):
        return True  # a full disk or the like, which Python says at its exit
    return True


def _write_nowhere() -> None:
    """Let what Python still writes at its exit go nowhere."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.__stdout__.fileno())  # type: ignore[union-attr]
