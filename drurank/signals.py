"""How the program ends by a signal before a run or a study looks after signals: with a status and a sentence.

By themselves SIGTERM ends a process without a word, and SIGINT prints a traceback wherever modules are imported. This
module is the first that is imported, so it imports nothing that takes time.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, NoReturn

PATIENCE = 10.0
"""Seconds from SIGTERM until a process ends wherever it is: what the handler raises may be lost in a library."""
USUAL: dict[int, Any] = {signal.SIGTERM: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
"""Handlers that are replaced; any other one is somebody's own."""
_came: list[int] = []
"""The signal that came first."""


def first_of(number: int) -> int:
    """Note that a signal came; gives the first one, which decides how the program ends."""
    if not _came:
        _came.append(number)
    return _came[0]


def forget() -> None:
    """Begin anew, in a process that goes on after a signal."""
    _came.clear()


class EarlySignals:
    """Ends the program by SIGTERM and SIGINT within a ``with`` block, but where others put handlers of their own.

    The status is 128 and the number of the signal, whatever a library makes of the exception that the handler raises.
    Of two signals the first decides, whoever handled it.

    Args:
        ends: whether the process ends after the block, so that the other signal has nothing left to end.

    Attributes:
        status: exit status of the signal that came; ``None`` before.
    """

    def __init__(self, *, ends: bool = False) -> None:
        self._ends = ends
        self.status: int | None = None
        self._pid = os.getpid()
        self._replaced: list[int] = []
        self._late: threading.Timer | None = None

    def __enter__(self) -> EarlySignals:
        forget()
        if threading.current_thread() is threading.main_thread():
            self._replaced = [number for number, usual in USUAL.items() if signal.getsignal(number) == usual]
            for number in self._replaced:
                signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in self._replaced:
            handler = USUAL[number]
            if self._ends and _came:
                handler = signal.SIG_DFL if number == _came[0] else signal.SIG_IGN
            signal.signal(number, handler)
        if self._late is not None:
            self._late.cancel()  # the block has ended, in a process that may go on
        is_told = self.status is not None or isinstance(error, KeyboardInterrupt)
        if not is_told or error is None or (isinstance(error, SystemExit) and error.code in (self.status, 0, None)):
            return
        status = self.status or 128 + signal.SIGINT
        if status == 128 + signal.SIGINT:
            _say(signal.SIGINT)
        raise SystemExit(status) from error

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._pid:  # a process that was forked off, and has no handler of its own yet
            signal.signal(number, USUAL[number])
            os.kill(os.getpid(), number)
            return
        first = first_of(number)
        if first != number:
            if self.status is not None:
                self._end_late(self.status)  # else somebody else ends the process
            return
        if self.status is None:
            self.status = 128 + number
            if number == signal.SIGTERM or _imports(frame):
                _say(signal.Signals(number))
            if _imports(frame):
                _end(self.status)
            if number == signal.SIGTERM:
                self._end_late(self.status)
        if number == signal.SIGINT:
            raise KeyboardInterrupt  # which Lightning waits for; who catches it says so
        raise SystemExit(self.status)

    def _end_late(self, status: int) -> None:
        """End the process wherever it then is, if it has not ended before."""
        if self._late is None:
            self._late = threading.Timer(PATIENCE, _end, [status])
            self._late.daemon = True
            self._late.start()


def is_early(handler: object) -> bool:
    """Whether a handler of a signal is one of these, which a run may replace until it has ended."""
    return isinstance(getattr(handler, "__self__", None), EarlySignals)


def first_in(came: bytes) -> int:
    """The signal that decides, of those that came up to SIGTERM, as Python notes them before it calls a handler."""
    # A program's own handler may make nothing of SIGINT.
    if signal.SIGINT in came[: came.index(signal.SIGTERM)] and is_early(signal.getsignal(signal.SIGINT)):
        first_of(signal.SIGINT)
    return first_of(signal.SIGTERM)


def _say(number: signal.Signals) -> None:
    # Not by `print`: the signal may have come within another one.
    os.write(2, f"stopped by {number.name}\n".encode())


def _imports(frame: FrameType | None) -> bool:
    """Whether a module is being imported; what a handler raises then makes torch abort the process."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def flush() -> None:
    """Write what was printed, as far as that is possible."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # the signal may have come while something was printed
            stream.flush()


def _end(status: int) -> NoReturn:
    flush()
    os._exit(status)
