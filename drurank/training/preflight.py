"""Everything that a run is refused for, so that it ends in one sentence before it begins.

Each check is a function of the method, the trainer and the data module (``None`` where loaders are given) that raises
``InputError``. ``RUN`` is checked before loaders are made, ``FIT`` too where the run is a fit, ``START`` once the
loaders are made. A method adds its own: ``fit_checks``, and ``begun_checks`` for when its tables are made. Those of
loaders, checkpoints and single methods are in ``loader_checks``, ``resume_checks`` and ``method_checks``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lightning.pytorch import Callback
from lightning.pytorch.callbacks import (
    BatchSizeFinder,
    LearningRateFinder,
)
from lightning.pytorch.utilities.parsing import lightning_hasattr
from torch import Tensor

from drurank.errors import InputError, check_count
from drurank.networks import Sizes
from drurank.training import loader_checks, resume_checks
from drurank.training.batch_norm import last_batch_has_a_variance
from drurank.training.method_checks import SHARDED

Check = Callable[[Any, Any, Any], None]
TRAINING_HOOKS = ("on_train_start", "on_train_epoch_start", "on_train_batch_start", "on_train_epoch_end")


def check_run(method: Any, trainer: Any, datamodule: Any) -> None:
    """Refuse a run that cannot go well, before anything is written.

    Args:
        method: a ``GroupModule``.
        trainer: what will run it.
        datamodule: its data, or ``None``.

    Raises:
        InputError: of the first check that fails.
    """
    fits = trainer.state.fn in (None, "fit")
    for check in (*RUN, *FIT, *method.fit_checks) if fits else RUN:
        check(method, trainer, datamodule)


def run_checks(checks: Sequence[Check], method: Any, trainer: Any) -> None:
    """Run ``START`` once the loaders are made, and ``begun_checks`` once the tables are; see ``check_run``."""
    for check in checks:
        check(method, trainer, trainer.datamodule)


def check_attached(method: Any, trainer: Any) -> None:
    """Refuse a run without the method's own callbacks, which Lightning has attached by the time of ``setup``.

    Raises:
        InputError: naming the line to write.
    """
    check_roll(method, attached=trainer.state.fn != "fit" or method.watch in trainer.callbacks)


def check_roll(method: Any, *, attached: bool = True) -> None:
    """Refuse a run in which nothing would notice a hook that hides one of ours.

    Raises:
        InputError: naming the line to write.
    """
    if not (attached and method.roll.attached):
        raise InputError(
            f"{type(method).__name__} has a configure_callbacks of its own without the callbacks of drurank's; return "
            "[*super().configure_callbacks(), ...]"
        )


# Before loaders are made.


def whole_accumulation(method: Any, trainer: Any, datamodule: Any) -> None:
    """Gradients are accumulated over one batch or more."""
    check_count("accumulate_grad_batches", trainer.accumulate_grad_batches)


def sampler_is_kept(method: Any, trainer: Any, datamodule: Any) -> None:
    """Lightning does not replace a sampler of ours; one of plain loaders it may."""
    if trainer.overfit_batches and hasattr(datamodule, "draw_of"):
        raise InputError("overfit_batches would replace the sampler that knows the rows; use limit_train_batches")
    if trainer.overfit_batches and method.accuracy_from == "evaluation":
        raise InputError(
            "overfit_batches would replace the sampler of evaluation_loader and read a part of the training rows; set "
            "accuracy_from='training', or use limit_train_batches"
        )


def group_options_have_groups(method: Any, trainer: Any, datamodule: Any) -> None:
    """Options about groups come with groups."""
    if not getattr(datamodule, "grouped", True) and (method.evaluation.shrink or method.evaluation.min_count > 1):
        raise InputError("shrink and min_count are about groups and the data names none; leave them out")


def skipping_knows_the_gradient(method: Any, trainer: Any, datamodule: Any) -> None:
    """Where steps are left out, each process has the whole gradient."""
    if method.watch.skips and isinstance(trainer.strategy, SHARDED):
        raise InputError(
            f"with {type(trainer.strategy).__name__} each process has a part of the gradient, and they would not "
            "agree on the steps to leave out; give on_nonfinite='stop'"
        )


def figures_have_classes(method: Any, trainer: Any, datamodule: Any) -> None:
    """Criteria of other figures than accuracy are of predicted classes."""
    if method.evaluation.of_figures:
        refuse_other_answers(method, next(iter(method.evaluation.of_figures)))


def refuse_other_answers(method: Any, asked: str) -> None:
    """Refuse figures of predicted classes where a module predicts something else.

    Args:
        method: a ``GroupModule``.
        asked: what was asked for.

    Raises:
        InputError: if it has an ``is_correct`` of its own.
    """
    if not method.names_classes:
        raise InputError(
            f"{asked} is about predicted classes, and {type(method).__name__} has an is_correct of its own; leave out "
            f"{asked}, or is_correct"
        )


RUN: tuple[Check, ...] = (
    whole_accumulation,
    sampler_is_kept,
    group_options_have_groups,
    skipping_knows_the_gradient,
    figures_have_classes,
)


def groups_are_named(method: Any, trainer: Any, datamodule: Any) -> None:
    """A method that needs groups has data that names them."""
    if method.needs_groups and not getattr(datamodule, "grouped", True):
        raise InputError(f"{type(method).__name__} needs groups and the data names none; name the group column")


def groups_may_overlap(method: Any, trainer: Any, datamodule: Any) -> None:
    """A method that looks at the one group of a row has data with one."""
    if getattr(datamodule, "overlap", False):
        loader_checks.check_overlap(method)


def something_trains(method: Any, trainer: Any, datamodule: Any) -> None:
    """A fit has at least one step."""
    for limit in ("max_epochs", "max_steps", "limit_train_batches"):
        if getattr(trainer, limit) == 0:
            raise InputError(f"{limit} is 0, with which nothing is trained; leave it out, or give more")


def found_rate_is_used(method: Any, trainer: Any, datamodule: Any) -> None:
    """A rate that Lightning's search finds reaches the optimizer, or is only shown."""
    for callback in trainer.callbacks:
        if not isinstance(callback, LearningRateFinder) or not callback._update_attr:
            continue
        names = [callback._attr_name] if callback._attr_name else ["lr", "learning_rate"]
        if not any(lightning_hasattr(method, name) for name in names):
            raise InputError(
                f"LearningRateFinder would set {' or '.join(names)}, which {type(method).__name__} does not have; give "
                "update_attr=False, read optimal_lr.suggestion(), and give the optimizer that rate"
            )
        if method.optimization.lr_scheduler is not None:
            raise InputError(
                "the rate that LearningRateFinder finds would be overwritten by the lr_scheduler; give "
                "update_attr=False, read optimal_lr.suggestion(), and give the optimizer that rate"
            )


def batch_sizes_are_tried_first(method: Any, trainer: Any, datamodule: Any) -> None:
    """Batch sizes are tried at the start of a fit: once it trains, Lightning does not count its steps back."""
    for callback in trainer.callbacks:
        begins = [name for name in TRAINING_HOOKS if getattr(type(callback), name) is not getattr(Callback, name)]
        if isinstance(callback, BatchSizeFinder) and begins:
            raise InputError(
                f"{type(callback).__name__} has an {begins[0]}, and a search for a batch size within a run ends it "
                "early; search in on_fit_start"
            )


FIT: tuple[Check, ...] = (
    groups_are_named,
    groups_may_overlap,
    something_trains,
    found_rate_is_used,
    batch_sizes_are_tried_first,
)


START: tuple[Check, ...] = (
    resume_checks.search_loses_no_checkpoint,
    loader_checks.training_set_is_grouped,
    loader_checks.labels_are_classes,
    loader_checks.labels_are_binary,
    loader_checks.training_set_is_evaluated,
    resume_checks.restored_tables_fit,
    last_batch_has_a_variance,
)


# On the way.


def sizes_of(datamodule: Any, *, needed: bool = True) -> Sizes | None:
    """The sizes by which a network is built.

    Raises:
        InputError: if they are needed and the data does not tell them.
    """
    sizes: Sizes | None = getattr(datamodule, "sizes", None)
    if sizes is None and needed:
        raise InputError("without a drurank data module nothing tells the network's sizes; give a built network")
    return sizes


def check_criteria(method: Any, values: dict[str, Tensor]) -> None:
    """Refuse criteria without a value, which a checkpoint could be chosen by.

    Raises:
        InputError: naming one of them.
    """
    broken = next((key for key, value in values.items() if not bool(value.isfinite())), None)
    if broken is not None and not method.trainer.sanity_checking:
        at_least = method.evaluation.min_count
        if at_least > 1:
            raise InputError(f"{broken} has no value: no group has min_count={at_least} samples; lower it")
        raise InputError(f"{broken} has no finite value; a criterion of your own must give one for any groups")
