"""Notices a hook of ours that did not run, since a module of a person's own overrides it without ``super()``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable
from typing import Any, ParamSpec, TypeVar

from drurank.errors import InputError
from drurank.training.evaluation import warn_of_unlogged
from drurank.training.lean_callback import LeanCallback
from drurank.training.objective_use import LOOKED_AT, ObjectiveUse

P = ParamSpec("P")
R = TypeVar("R")
NOT_IN_SANITY_CHECK = ("validation_step", "on_validation_epoch_end")
"""What a module may skip in Lightning's sanity check, as many do."""
OF_A_BATCH = ("on_train_batch_start", "on_train_batch_end")
"""Hooks that have nothing to do after an epoch's first batches."""


def needed(hook: Callable[P, R]) -> Callable[P, R]:
    """Mark a hook of ours without which a run would go wrong; it answers the roll call whenever it runs."""

    @functools.wraps(hook)
    def answering(*args: P.args, **kwargs: P.kwargs) -> R:
        method: Any = args[0]
        method.roll.answered.add(hook.__qualname__)
        return hook(*args, **kwargs)

    answering.is_needed = True  # type: ignore[attr-defined]
    return answering


def needed_hooks(method: Any) -> dict[str, str]:
    """The hooks of ours that a method needs, each with the qualified name of ours that overrides the others."""
    return _hooks_of(type(method))  # type: ignore[arg-type]


@functools.cache
def _hooks_of(method: Hashable) -> dict[str, str]:
    found: dict[str, str] = {}
    for cls in method.__mro__:  # type: ignore[attr-defined]
        for name, hook in vars(cls).items():
            if getattr(hook, "is_needed", False):
                found.setdefault(name, hook.__qualname__)
    return found


def _announced(name: str) -> Callable[..., None]:
    """A hook of a callback that only calls the roll."""

    def hook(self: RollCall, trainer: Any, pl_module: Any, *args: Any, **kwargs: Any) -> None:
        self.begin(name, trainer, pl_module)

    hook.__name__, hook.__doc__ = name, "Call the roll."
    return hook


class RollCall(LeanCallback):
    """Stops a run in which a hook of ours did not run, naming the line to add; a method attaches it to its trainer.

    Lightning calls each hook of a callback, whatever the module's own do, and right after it the module's: by the next
    one that is called here, it has answered.
    """

    on_fit_start = _announced("on_fit_start")
    on_fit_end = _announced("on_fit_end")
    on_validation_start = _announced("on_validation_start")
    on_validation_epoch_start = _announced("on_validation_epoch_start")
    on_validation_end = _announced("on_validation_end")
    on_test_start = _announced("on_test_start")
    on_test_epoch_start = _announced("on_test_epoch_start")
    on_test_end = _announced("on_test_end")
    on_predict_start = _announced("on_predict_start")
    on_predict_epoch_start = _announced("on_predict_epoch_start")

    def __init__(self) -> None:
        self.answered: set[str] = set()
        """Qualified names of the hooks of ours that ran."""
        self.attached = False
        """Whether this run calls the roll."""
        self.loader: int | None = None
        """Place of the evaluation loader that is being read; ``None`` between batches."""
        self._called: list[str] = []
        self._saved = False
        self._batches = 0
        self.use = ObjectiveUse()
        """Whether training uses the method's objective."""

    def begin(self, name: str, trainer: Any, method: Any) -> None:
        """A hook of this name is called: the one before has answered, and now it is this one's turn."""
        self.finish(trainer, method)
        wanted = needed_hooks(method).get(name)
        if wanted is not None:
            self.answered.discard(wanted)
            self._called.append(name)

    def finish(self, trainer: Any, method: Any) -> None:
        """Whatever was called has answered.

        Raises:
            InputError: naming the first that has not, and the line to add.
        """
        called, self._called = self._called, []
        for name in called:
            if not (trainer.sanity_checking and name in NOT_IN_SANITY_CHECK):
                self.require(name, method)
        if self._saved:
            self.require("on_save_checkpoint", method)

    def require(self, name: str, method: Any) -> None:
        """A hook of ours has run.

        Raises:
            InputError: naming the line to add.
        """
        wanted = needed_hooks(method).get(name)
        if wanted is not None and wanted not in self.answered:
            raise InputError(_in_words(name, method, wanted))

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Begin anew."""
        self.answered.clear()
        self._called, self._saved, self.loader, self.attached = ["setup"], False, None, True

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Look at what was called last."""
        self.finish(trainer, pl_module)
        self.attached = False

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Call the roll, and begin to count the epoch's steps."""
        self._batches = 0
        for name in OF_A_BATCH:
            vars(self).pop(name, None)
        self.use.begin_epoch(trainer.global_step)
        self.begin("on_train_epoch_start", trainer, pl_module)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Call the roll, and judge whether the epoch trained on the method's objective."""
        self.use.end_epoch(trainer, pl_module)
        self.begin("on_train_epoch_end", trainer, pl_module)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """The run is over; say which key of ours a monitored one may have been meant for."""
        self.attached = False
        warn_of_unlogged(trainer, exception)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Call the roll, and say the same where nothing stopped the run."""
        self.begin("on_train_end", trainer, pl_module)
        warn_of_unlogged(trainer)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Also look at how a checkpoint was read that the run goes on from."""
        if trainer.ckpt_path is not None:
            self.require("on_load_checkpoint", pl_module)
        self.begin("on_train_start", trainer, pl_module)

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Look later whether the method's own was called, which may come after this."""
        self._saved = True

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """Call the roll, and wait for the step, at the first batches of an epoch."""
        self._batches += 1
        if self._batches > LOOKED_AT:
            return
        self.begin("on_train_batch_start", trainer, pl_module)
        self._forget("training_step", pl_module)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Call the roll, and look at the step."""
        self.use.end_batch(trainer, pl_module, outputs)
        if self._batches > LOOKED_AT:
            if self.use.is_known:
                vars(self).update(dict.fromkeys(OF_A_BATCH))  # Lightning calls no hook that is None
            return
        if trainer.current_epoch >= pl_module.own_loss_epochs:
            self._called.append("training_step")
        self.begin("on_train_batch_end", trainer, pl_module)

    def on_validation_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Wait for the step, and note which loader is read."""
        self.finish(trainer, pl_module)
        self._forget("validation_step", pl_module)
        self.loader = dataloader_idx

    def on_validation_batch_end(self, trainer: Any, *args: Any, **kwargs: Any) -> None:
        """Look at the step."""
        self._called.append("validation_step")
        self.finish(trainer, args[0])

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Call the roll; all loaders are read."""
        self.loader = None
        self.begin("on_validation_epoch_end", trainer, pl_module)

    def on_test_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Wait for the step, and note which loader is read."""
        self.finish(trainer, pl_module)
        self._forget("test_step", pl_module)
        self.loader = dataloader_idx

    def on_test_batch_end(self, trainer: Any, *args: Any, **kwargs: Any) -> None:
        """Look at the step."""
        self._called.append("test_step")
        self.finish(trainer, args[0])

    def on_test_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Call the roll; all loaders are read."""
        self.loader = None
        self.begin("on_test_epoch_end", trainer, pl_module)

    def _forget(self, name: str, method: Any) -> None:
        self.answered.discard(needed_hooks(method)[name])


def _in_words(name: str, method: Any, wanted: str) -> str:
    family = type(method).__mro__
    ours = next(vars(cls)[name] for cls in family if hasattr(vars(cls).get(name), "is_needed"))
    theirs = next((cls.__name__ for cls in family if name in vars(cls)), family[0].__name__)
    line = f"super().{name}({', '.join([*inspect.signature(ours).parameters][1:])})"
    add = f"call `{line}` in it" if name.endswith("_step") else f"add `{line}` as its first line"
    gives = " and return what that gives" if name == "training_step" else ""
    if name in vars(method):
        return (
            f"the {name} that was set on a {family[0].__name__} hides {wanted}; leave it out, or make it a method of a "
            f"class derived from {family[0].__name__} and {add}{gives}"
        )
    return f"{theirs}.{name} overrides {wanted} and never calls it; {add}{gives}, or leave {name} out"
