"""What is said where a checkpoint cannot be restored, in place of what Lightning or torch stumble over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from drurank.cli.parser import reason_of
from drurank.errors import InputError, NonFiniteError
from drurank.training.stopping import STOPPING

RESTORERS = "lightning.pytorch.trainer.connectors.checkpoint_connector"
OURS = ("load_training_state", "go_back_to_validation", "first_step_to_log", "load_network", "check_resume")
"""Functions of ours that read a checkpoint's parts."""
OPTIMIZERS = "torch.optim."


@contextmanager
def naming_checkpoint(trainer: Any, given: str | None = None) -> Iterator[None]:
    """Name the checkpoint in what is raised because of it.

    Args:
        trainer: what reads it.
        given: the checkpoint that was given, which the trainer does not know before it begins.

    Raises:
        InputError: in place of an error of restoring it, or of an optimizer that goes on from it.
    """
    try:
        yield
    except Exception as error:
        known, file = reason_of(error), trainer.ckpt_path or given
        if file is None or STOPPING.is_told(error):
            raise
        if known is not None and str(known).startswith(("the checkpoint ", "the checkpoint's ")):
            raise InputError(f"{file}: {known}") from error
        if isinstance(known, NonFiniteError) and trainer.state.fn == "fit":
            raise NonFiniteError(f"{known}; the run went on from {file}") from error
        if known is None and _is_of_restoring(error, resumes=trainer.state.fn == "fit"):
            said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            raise InputError(f"{file} cannot be restored ({said}); give another checkpoint of the run") from error
        raise


def _is_of_restoring(error: Exception, *, resumes: bool) -> bool:
    trace = error.__traceback__
    while trace is not None:
        module, function = trace.tb_frame.f_globals.get("__name__", ""), trace.tb_frame.f_code.co_name
        if module == RESTORERS and ("restore" in function or "resume" in function):
            return True
        if module.startswith("drurank.") and function in OURS:
            return True
        if resumes and module.startswith(OPTIMIZERS):
            return True
        trace = trace.tb_next
    return False
