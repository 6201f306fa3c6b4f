"""Python programs that a process starts, forked from it, so that they have imported already what it has.

For the rest each is as if started anew: words, environment, folder, streams, signals and group are its own, and it
holds no file of the process that started it but those that it is passed.
"""

import atexit
import gc
import inspect
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import threading
import traceback
from itertools import pairwise
from multiprocessing import resource_tracker
from pathlib import Path

from lightning.fabric.utilities.rank_zero import _get_rank, rank_zero_only

from drurank.training.stopping import STOPPING

START = inspect.signature(subprocess.Popen._execute_child)


class Forked(subprocess.Popen):
    """Stands in for ``subprocess.Popen``, also of programs that are not Python."""

    def _execute_child(self, *arguments):
        given = START.bind(self, *arguments).arguments
        if given["args"][0] != sys.executable:
            super()._execute_child(*arguments)
            return
        streams = [given[name] for name in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")]
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _be(given, streams[0], streams[3], streams[5])
        self._child_created = True
        self._close_pipe_fds(*streams)


def _be(given, *streams):
    """Be the child."""
    words = [os.fspath(word) for word in given["args"][1:] if word not in ("-u", "-P")]
    environment = dict(os.environ if given["env"] is None else given["env"])
    for number, stream in enumerate(streams):
        if stream != -1:
            os.dup2(stream, number)
    tracker = resource_tracker._resource_tracker._fd
    kept = sorted({2, *given["pass_fds"], *([] if tracker is None else [tracker])})
    for low, high in pairwise([*kept, os.sysconf("SC_OPEN_MAX")]):
        os.closerange(low + 1, high)
    for number in given["pass_fds"]:
        os.set_inheritable(number, True)
    if given["start_new_session"]:
        os.setsid()
    if given["preexec_fn"] is not None:
        given["preexec_fn"]()
    gc.freeze()  # what the parent has is not freed here, since files may have got the numbers of its own
    atexit._clear()
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    STOPPING.__init__()
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    be_program(words, given["cwd"] or Path.cwd(), environment)


def be_program(words, cwd, environment):
    """Become a program, in a process that was just forked, and end with it.

    Args:
        words: path of a Python file, or ``-m`` and a module, and the words after it.
        cwd: folder that it works in.
        environment: its environment.
    """
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rank_zero_only.rank = _get_rank() or 0
    multiprocessing.set_start_method(None, force=True)  # of workers of loaders: that of the system
    sys.path[:0] = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path not in sys.path]
    status = 1
    try:
        if words[0] == "-m":
            sys.path.insert(0, str(cwd))
            sys.argv = words[1:]
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, str(Path(words[0]).parent))
            sys.argv = words
            runpy.run_path(words[0], run_name="__main__")
        status = 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        else:
            status = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        threading._shutdown()
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status)
