"""Commands of ``drurank`` that train and test: called in this process, or started as processes of their own."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, suppress
from functools import partial
from typing import TextIO

from drurank.errors import InputError
from drurank.imports import own_program

Command = Callable[[list[str]], object]
"""Does what the words of a command line say: ``fit ...`` or ``test ...``; the command line passes its own."""

STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM)
PATIENCE = 5
"""Seconds that a process has to end when it is told to."""
PRCTL = getattr(ctypes.CDLL(None), "prctl", None) if sys.platform == "linux" else None
LENGTH = 500
"""Characters of a reason that are kept."""


def call(command: Command, words: list[str]) -> None:
    """Run a command in this process.

    Raises:
        InputError: if it fails, with the last line that it wrote.
    """
    errors = _Tee(sys.stderr)
    try:
        with redirect_stderr(errors):
            command(words)
    except SystemExit as error:
        if error.code in STOPPED:
            raise
        if error.code:
            raise InputError(errors.last[:LENGTH] or f"exit status {error.code}") from error


def call_apart(words: list[str]) -> None:
    """Run a command as a process that may start more, and ends with this one.

    Raises:
        InputError: if it fails, with the last line that it wrote.
    """
    process = subprocess.Popen(
        [*own_program(), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # so that it can be stopped with the processes that it starts
        preexec_fn=partial(PRCTL, 1, signal.SIGKILL) if PRCTL else None,  # PR_SET_PDEATHSIG: ends if a worker is killed
    )
    last = ""
    try:
        for line in process.stdout or ():
            sys.stdout.write(line)
            last = line.strip() or last
        status = process.wait()
    except BaseException:
        _end(process)
        raise
    if status:
        raise InputError(last[:LENGTH] or f"exit status {status}")


def _end(process: subprocess.Popen[str]) -> None:
    """End a process and all that it started, by force if it takes too long."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
            return


class _Tee:
    """Passes text on, and keeps the last line, in which a parser names what is wrong."""

    def __init__(self, out: TextIO) -> None:
        self.out, self.last = out, ""

    def write(self, text: str) -> int:
        self.last = text.strip().splitlines()[-1] if text.strip() else self.last
        return self.out.write(text)

    def flush(self) -> None:
        self.out.flush()
