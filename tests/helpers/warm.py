"""Programs in processes of their own that have imported already what every one of them takes.

Python, torch and Lightning take seconds to start, which says nothing of a run. A server that has imported them is
forked for each program, which has its own environment, folder, words, output and process group, as if started anew.
The Python programs that it starts are forked from it in turn, see forked.py.
"""

import multiprocessing
import os
import signal
import socket
import subprocess
import time
from contextlib import suppress
from multiprocessing import forkserver
from pathlib import Path

import pytest

from forked import Forked, be_program
from runs import ROOT

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["warm_imports"])


def _start_server():
    """Start the server of this process, if it does not run yet, where it finds this folder and the library."""
    here = os.pathsep.join(map(str, (ROOT, Path(__file__).parent)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", here)
        patch.setenv("OMP_NUM_THREADS", "1")
        forkserver.ensure_running()


def started(function, arguments):
    """Processes that each call a function of a test's module, with its own arguments."""
    _start_server()
    processes = [FORKS.Process(target=function, args=own) for own in arguments]
    for process in processes:
        process.start()
    return processes


class Program:
    """A running program; stands in for ``subprocess.Popen``.

    Args:
        words: path of a Python file, or ``-m`` and a module, and the words after it.
        log: file for all that it prints.
        cwd: folder that it works in; this process's, if not given.
        env: its environment; this process's, if not given.
        anew: whether Python programs that it starts are started anew, and not forked from it.
    """

    def __init__(self, words, log=os.devnull, cwd=None, env=None, *, anew=False):
        _start_server()
        environment = dict(os.environ if env is None else env)
        self._process = FORKS.Process(
            target=_be, args=([*map(str, words)], str(log), str(cwd or Path.cwd()), environment, anew)
        )
        self._process.start()
        self.pid = self._process.pid

    def poll(self):
        """Exit status; ``None`` while it runs."""
        return self._process.exitcode

    def wait(self, timeout=None):
        """Exit status, once it has ended."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("a program", timeout)
        return self._process.exitcode

    def send_signal(self, number):
        """Send it a signal."""
        os.kill(self.pid, number)

    def kill(self):
        """Kill it."""
        self._process.kill()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Kill it and all that it started, if any of them is left."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.join()


def ended(words, log, seconds=100):
    """Exit status of a program, and all that it printed.

    Args:
        words: as of ``Program``.
        log: file for what it prints.
        seconds: that it may take.
    """
    with Program(words, log) as program:
        return program.wait(seconds), Path(log).read_text(encoding="utf-8")


def wait_for_all(programs, seconds):
    """Exit statuses; as soon as one fails, or after some seconds, of the others that still run ``None``."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        codes = [program.poll() for program in programs]
        if None not in codes or any(codes):
            break
        time.sleep(0.02)
    return [program.poll() for program in programs]


def children(pid):
    """Ids of the processes that a process started and that have not ended."""
    lines = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    return [child for child, parent in (map(int, line.split()) for line in lines.splitlines()) if parent == pid]


def groups_of(pid):
    """Groups of a process, of those that it started, and so on."""
    return {os.getpgid(pid)}.union(*map(groups_of, children(pid)))


def is_there(group):
    """Whether a process of a group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def free_port():
    """A port that no process listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def _be(words, log, cwd, environment, anew):
    """Become the program, in a process that was just forked."""
    os.setsid()
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(out, stream)
    if not anew:
        subprocess.Popen = Forked
    be_program(words, cwd, environment)
