"""What a run ends with: an exit status, or a sentence in place of an error of a library's."""

from __future__ import annotations

import gc
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import torch.distributed as dist
from lightning.pytorch.utilities.exceptions import MisconfigurationException
from torch.utils.data._utils import signal_handling

from drurank.cli.commands import inspecting
from drurank.cli.limits import too_much
from drurank.cli.parser import finding_of, reason_of
from drurank.cli.words import WEIGHTS, given_options
from drurank.errors import InputError
from drurank.training.stopping import REFUSED, STOPPING, is_lost_connection
from drurank.training.workers import end_of_worker

REFUSED_CLASS = r"Union subtypes .*? Errors: - (.*?) - (?:Expected a|Not a valid) .*Namespace\(class_path='([\w.]+)'"
"""What jsonargparse says of a logger or callback whose constructor failed: why, and its class."""


OF_CONFIG = "--config: "
"""Begins what the parser says of a value in a configuration."""
SHORTEST_NAME = 4
"""Letters from which on a word that was typed is rather named than met by chance."""
STRATEGIES, OF_STRATEGIES = "lightning.pytorch.strategies.", ("setup_environment", "setup_distributed")
"""Modules and functions of Lightning's that make the processes know each other, before anything is trained."""
CALLBACKS = ("lightning.pytorch.callbacks.", "lightning.pytorch.serve.")
"""Modules of callbacks of Lightning's."""
OF_LIBRARIES = ValueError | ModuleNotFoundError | RuntimeError
"""Errors in which libraries say of a setting that it cannot be used."""


def ending_of(error: Exception) -> BaseException:
    """What a run ends with, after an error: an exit status, a sentence, or the error where it is one of ours."""
    status = STOPPING.status_for(error) if reason_of(error) is None else None
    if status is not None:
        return ended_with(status)
    several = STOPPING.is_of_several
    said = _from_outside(error)
    if isinstance(error, MisconfigurationException):
        said = " ".join(str(error).split())
    elif several and reason_of(error) is None and is_lost_connection(error):
        said = f"another process of the run has ended or cannot be reached ({' '.join(str(error).split())[:200]})"
    elif not isinstance(error, OF_LIBRARIES) and too_much(error) is None and end_of_worker(error) is None:
        said = None
    if said is None and reason_of(error) is None:
        said = _of_lightnings(error)
    if several:
        # Python's own end would wait for the other processes.
        STOPPING.ends_with(REFUSED if said is not None or reason_of(error) is not None else 1)
    return error if said is None else InputError(said)


def with_hint(ending: BaseException, typed: object, source: Path | None = None) -> BaseException:
    """The ending of a fit that its data stops says how to see all that is wrong with it.

    Args:
        ending: how the fit ends.
        typed: the words that were typed.
        source: the configuration of a run, whose options those are that are not typed; ``None`` if all was typed.
    """
    if finding_of(ending) is None or not isinstance(typed, list) or typed[:1] != ["fit"]:
        return ending
    words = typed if source is None else ["fit", "--config", str(source), *typed[1:]]
    return InputError(f"{ending}; to see all that is wrong with the data: {inspecting(words)}")


def with_source(ending: BaseException, typed: object, source: Path | None, *, begun: bool = False) -> BaseException:
    """The ending of a run that has the options of another one's configuration says which file they are from.

    Args:
        ending: how the run ends.
        typed: the words that were typed, which come before what the file says.
        source: the file; ``None`` if all was typed.
        begun: whether the run had begun, so that its options are not what is wrong.
    """
    reason = reason_of(ending)
    if reason is None or not isinstance(typed, list):
        return ending
    said = str(reason)
    if said.startswith(OF_CONFIG):
        said = said.removeprefix(OF_CONFIG)
        return InputError(said if source is None else f"{source}: {said}")  # no other was typed
    if source is None or begun or str(source) in said or " is damaged" in said:
        return ending
    for given in given_options(typed):
        if f"--{given.option} " in said or (given.option not in WEIGHTS and _is_named(given.value, said)):
            return ending
    return InputError(f"{said}; what is not typed comes from {source}")


def _is_named(value: str, said: str) -> bool:
    """Whether a sentence is about a file that was typed."""
    return len(value) >= SHORTEST_NAME and re.search(rf"(?<![\w.]){re.escape(value)}(?!\w)", said) is not None


def ended_with(status: int) -> SystemExit:
    """An exit status, which other processes of the run cannot keep this one from."""
    if STOPPING.is_of_several:
        STOPPING.ends_with(status)
    return SystemExit(status)


@contextmanager
def without_workers_errors() -> Iterator[None]:
    """Leave out what Python prints of a thread that was talking to a loader's worker when that was ended."""
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if is_main_thread() or not issubclass(kind, ConnectionError | EOFError):
            before(kind, error, trace)

    sys.excepthook = hook
    try:
        yield
    finally:
        sys.excepthook = before


def let_workers_end() -> None:
    """Once a run has failed, the end of another worker of a loader is no news."""
    # Torch's handler of SIGCHLD raises an error of each killed worker, wherever this process is by then.
    handler = signal.getsignal(signal.SIGCHLD)
    if getattr(handler, "__module__", "") == signal_handling.__name__ and is_main_thread():
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal_handling._SIGCHLD_handler_set = False  # so that a later loader sets it again


def is_main_thread() -> bool:
    """Whether signals may be handled here."""
    return threading.current_thread() is threading.main_thread()


def leave_group() -> None:
    """Leave the other processes, at the end of Python."""
    # Lightning does so for NCCL alone. A thread of gloo's that frees a tensor while Python ends aborts the process; the
    # threads end with the last reference to the group, and DDP's wrapper of the model holds one.
    if dist.is_available() and dist.is_initialized():
        gc.collect()
        dist.destroy_process_group()


def _of_lightnings(error: Exception) -> str | None:
    """The message of a strategy or a callback of Lightning's that cannot be used here."""
    if not isinstance(error, TypeError | ValueError | RuntimeError | LookupError):
        return None
    said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    trace, place = error.__traceback__, ("", "")
    while trace is not None:
        place = trace.tb_frame.f_globals.get("__name__", ""), trace.tb_frame.f_code.co_name
        if place[1] in OF_STRATEGIES and place[0].startswith(STRATEGIES):
            return f"the strategy cannot be used here ({said}); give another one as --trainer.strategy"
        trace = trace.tb_next
    if not place[0].startswith(CALLBACKS):
        return None
    return f"a callback of {place[0]} cannot be used here ({said}); leave it out of --trainer.callbacks"


def _from_outside(error: BaseException | None) -> str | None:
    """The message of a library about a setting that cannot be used, without the traceback."""
    unless_known = None
    said = too_much(error)
    while error is not None and reason_of(error) is None:
        if said is not None:
            return said
        words = " ".join(str(error).split())
        if isinstance(error, ModuleNotFoundError):
            return f"a package is not installed: {words}"
        refused = re.search(REFUSED_CLASS, words)
        if refused:
            unless_known = f"{refused[2].rpartition('.')[2]} cannot be created: {refused[1]}"
        if isinstance(error, RuntimeError) and words.startswith("Early stopping conditioned on"):
            return words
        died = end_of_worker(error)
        if died is not None:
            how = "was killed, as when memory runs out" if died[2] in (None, "Killed") else f"ended with: {died[2]}"
            return (
                f"process {died[1]}, which loads rows, {how}; give a smaller --data.num_workers, 0 for none, or a "
                "smaller --data.batch_size"
            )
        if isinstance(error, RuntimeError) and words.startswith("PytorchStreamReader"):
            return f"the checkpoint is damaged and cannot be read ({words}); give another one of the run"
        error = error.__cause__ or error.__context__
    return unless_known
