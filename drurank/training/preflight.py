"""Everything that a run is refused for, so that it ends in one sentence before it begins.

Each check is a function of the method, the trainer and the data module (``None`` where loaders are given) that raises
``InputError``. ``RUN`` is checked before loaders are made, ``FIT`` too where the run is a fit, ``START`` once the
loaders are made. A method adds its own: ``fit_checks``, and ``begun_checks`` for when its tables are made. The file is
long so that a refusal is looked for in one place only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lightning.pytorch import Callback
from lightning.pytorch.callbacks import (
    BatchSizeFinder,
    EarlyStopping,
    LearningRateFinder,
    StochasticWeightAveraging,
    Timer,
    WeightAveraging,
)
from lightning.pytorch.strategies import DeepSpeedStrategy, FSDPStrategy, ModelParallelStrategy
from lightning.pytorch.utilities.parsing import lightning_hasattr
from lightning.pytorch.utilities.rank_zero import rank_zero_info
from torch import Tensor, nn
from torch.utils.data import SequentialSampler, default_collate

from drurank.data.dataset import GroupedDataset, TrainingPass, check_map_style
from drurank.errors import InputError, check_count
from drurank.networks import Sizes
from drurank.networks.factory import differences
from drurank.run_folder.checkpoint_io import KEY
from drurank.training.batch_norm import last_batch_has_a_variance
from drurank.training.checkpoint import known_as, method_state
from drurank.training.evaluation import key_prefixes
from drurank.training.loaders import as_list, keeps_labels, reads_all, split_of
from drurank.training.losses import BinaryCrossEntropy, CrossEntropy
from drurank.training.nonfinite import broken_entry
from drurank.training.optimization import optimizers_in_words
from drurank.training.resume import waits_for_its_end
from drurank.training.stages import steps_of_epoch, steps_of_run

Check = Callable[[Any, Any, Any], None]
SHARDED = (FSDPStrategy, ModelParallelStrategy, DeepSpeedStrategy)
"""Strategies that leave each process a part of the weights."""
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


RUN: tuple[Check, ...] = (
    whole_accumulation,
    sampler_is_kept,
    group_options_have_groups,
    skipping_knows_the_gradient,
)


def groups_are_named(method: Any, trainer: Any, datamodule: Any) -> None:
    """A method that needs groups has data that names them."""
    if method.needs_groups and not getattr(datamodule, "grouped", True):
        raise InputError(f"{type(method).__name__} needs groups and the data names none; name the group column")


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


FIT: tuple[Check, ...] = (groups_are_named, something_trains, found_rate_is_used, batch_sizes_are_tried_first)


def weights_can_be_replaced(method: Any, trainer: Any, datamodule: Any) -> None:
    """Nothing averages or shards weights that a method replaces whole at the end of a stage, as JTT and DFR do."""
    for callback in trainer.callbacks:
        if isinstance(callback, WeightAveraging | StochasticWeightAveraging):
            raise InputError(
                f"{type(callback).__name__} would average weights from before and after {method.title} replaces them; "
                "leave it out"
            )
    if isinstance(trainer.strategy, SHARDED):
        raise InputError(
            f"{type(trainer.strategy).__name__} splits the weights over processes and {method.title} replaces whole "
            "ones; give strategy='ddp'"
        )


def both_stages_train(method: Any, trainer: Any, datamodule: Any) -> None:
    """A run of two stages ends in the second, and validates at the end of the first."""
    if trainer.fast_dev_run:
        raise InputError(
            "fast_dev_run trains one epoch and JTT two stages; give max_epochs=2 and limit_train_batches=2 in its place"
        )
    epochs, first, every = trainer.max_epochs, method.first_stage_epochs, trainer.check_val_every_n_epoch
    if epochs is not None and 0 <= epochs <= first:
        raise InputError(
            f"max_epochs is {epochs} and first_stage_epochs {first}: max_epochs counts both stages and must be larger"
        )
    if method.accuracy_from == "evaluation" and (every is None or first % every):
        raise InputError(
            f"the errors of epoch {first} would not be known with check_val_every_n_epoch={every}; validate in it, "
            "or set accuracy_from='training'"
        )


def last_epoch_is_known(method: Any, trainer: Any, datamodule: Any) -> None:
    """A method that does its work after the last epoch knows which it is, and has it validated."""
    if trainer.fast_dev_run:
        raise InputError(
            "fast_dev_run ends before DFR fits the last layer; give max_epochs=1 and limit_train_batches=2 in its place"
        )
    if trainer.max_epochs == -1 or trainer.max_steps != -1 or _has(trainer, Timer):
        raise InputError(
            "DFR fits the last layer after the last epoch, which must be known: give max_epochs, no max_steps or "
            "max_time"
        )
    every = trainer.check_val_every_n_epoch
    if every is None or trainer.max_epochs % every or getattr(trainer, "val_check_interval", 0) != 1.0:
        raise InputError(
            f"the last of max_epochs={trainer.max_epochs} is the one to validate; give a check_val_every_n_epoch "
            "that divides it, and no val_check_interval"
        )
    if _has(trainer, EarlyStopping):
        raise InputError("DFR chooses no epoch but the last, so EarlyStopping would have no effect; leave it out")


def fitted_split_chooses_nothing(method: Any, trainer: Any, datamodule: Any) -> None:
    """The split that DFR fits is there, and no checkpoint is chosen by it."""
    split = method.split
    if split == "train":
        return
    splits = datamodule.splits() if hasattr(datamodule, "splits") else []
    if split not in splits:
        have = f"only {', '.join(splits)}" if splits else "no data module of drurank"
        raise InputError(f"DFR is to fit rows of split {split!r} and there is {have}; give split='train'")
    prefix = key_prefixes([name for name in splits if name.endswith("val")], "val")[split]
    keys = [str(getattr(callback, "monitor", None)) for callback in trainer.callbacks]
    if prefix == "val" or any(key.startswith(f"{prefix}_") for key in keys):
        raise InputError(
            f"checkpoints are chosen by split {split!r}, whose rows DFR is to fit; give it another split, as 'train'"
        )


def groups_have_halves(method: Any, trainer: Any, datamodule: Any) -> None:
    """Batches hold two rows or more of each group, as IRM's penalty needs."""
    groups = 2 if getattr(datamodule, "groups_per_batch", None) is None else datamodule.groups_per_batch
    by_group = hasattr(datamodule, "draw_of") and datamodule.draw_of(method) == "groups_per_batch"
    if by_group and datamodule.batch_size < 2 * groups:
        raise InputError(
            f"batch_size={datamodule.batch_size} has fewer than two rows for each of {groups} groups, so IRM would "
            "have no penalty; give larger batches, or fewer groups_per_batch"
        )


# Once the loaders are made.


def training_set_is_grouped(method: Any, trainer: Any, datamodule: Any) -> None:
    """The training loader reads rows that know their groups, and groups to rank where the method ranks them."""
    train = getattr(trainer.train_dataloader, "dataset", None)
    check_map_style(train)
    if not isinstance(train, GroupedDataset):
        raise InputError(
            f"the training set is a {type(train).__name__}; wrap it as GroupedDataset(dataset, groups) and give one "
            "loader of it"
        )
    check_loader(trainer.train_dataloader)
    if method.needs_groups:
        check_groups(train, type(method).__name__, method.without_groups)


def labels_are_classes(method: Any, trainer: Any, datamodule: Any) -> None:
    """No label is below 0, of which torch's cross-entropy silently makes a loss of 0, or an error without a row."""
    label = trainer.train_dataloader.dataset.held_labels()
    if label is None or method.relabels or not isinstance(method.loss, CrossEntropy):
        return
    if keeps_labels(trainer.train_dataloader) and int(label.min()) < 0:
        row = int((label < 0).nonzero()[0])
        raise InputError(
            f"training row {row} has the label {int(label[row])}; classes count from 0: leave such rows out, or give "
            "another loss"
        )


def labels_are_binary(method: Any, trainer: Any, datamodule: Any) -> None:
    """A binary loss of ours has labels 0 and 1."""
    label = trainer.train_dataloader.dataset.held_labels()
    if label is None or method.relabels or not isinstance(method.loss, BinaryCrossEntropy):
        return
    if keeps_labels(trainer.train_dataloader) and not bool(((label == 0) | (label == 1)).all()):
        row = int(((label != 0) & (label != 1)).nonzero()[0])
        raise InputError(f"training row {row} has the label {int(label[row])}; BinaryCrossEntropy takes 0 and 1")


def training_set_is_evaluated(method: Any, trainer: Any, datamodule: Any) -> None:
    """Where an evaluation pass ranks the groups and there is validation, each epoch's last reads the training set."""
    if method.accuracy_from != "evaluation" or trainer.limit_val_batches == 0:
        return
    _validation_in_every_epoch(trainer)
    if trainer.val_dataloaders is not None:  # else they are made before the first epoch that is validated
        check_training_pass(trainer)


def check_training_pass(trainer: Any) -> None:
    """Refuse a fit without the training set among its validation loaders; see ``training_set_is_evaluated``."""
    train = trainer.train_dataloader.dataset
    marked = [loader.dataset for loader in as_list(trainer.val_dataloaders) if split_of(loader) == "train"]
    for found in marked:
        if found.dataset is not train and found.dataset.fingerprint() != train.fingerprint():
            raise InputError(
                f"evaluation_loader reads another dataset ({len(found):,} rows) than the training loader "
                f"({len(train):,} rows); make it of the training loader"
            )
    if not marked:
        raise InputError(
            "the training set is not among the validation loaders, so its errors are not known; append "
            "evaluation_loader(train), or set accuracy_from='training'"
        )


def restored_tables_fit(method: Any, trainer: Any, datamodule: Any) -> None:
    """The tables of a checkpoint are of this training set, and its optimizer's state of this optimizer."""
    saved = method.progress.restored
    if saved is None:
        return
    train = trainer.train_dataloader.dataset
    _refuse_other_data(saved, train, train.fingerprint())
    optimizers = optimizers_in_words(trainer.optimizers)
    if saved.get("optimizers", optimizers) != optimizers:
        raise InputError(
            f"the checkpoint was made with {saved['optimizers']}, this run has {optimizers}; a resumed run keeps its "
            "own: give that, or fit anew what load_from_checkpoint gives"
        )


def search_loses_no_checkpoint(method: Any, trainer: Any, datamodule: Any) -> None:
    """A search at the start of a fit does not precede the training of a checkpoint, which Lightning would forget."""
    if method.searching and method.progress.restored is not None:
        raise InputError(
            "LearningRateFinder and BatchSizeFinder search at the start of a new run, and this one resumes; leave "
            "them out, and give the optimizer and batch_size what they found"
        )


START: tuple[Check, ...] = (
    search_loses_no_checkpoint,
    training_set_is_grouped,
    labels_are_classes,
    labels_are_binary,
    training_set_is_evaluated,
    restored_tables_fit,
    last_batch_has_a_variance,
)


def second_stage_is_reached(method: Any, trainer: Any, datamodule: Any) -> None:
    """The first of two stages ends before ``max_steps``, with its errors known."""
    if method.accuracy_from == "evaluation" and not reads_all(trainer) and not bool(method.state["second_stage"]):
        raise InputError(
            f"limit_val_batches={trainer.limit_val_batches} leaves out training rows whose errors are to be known; "
            "leave it out, or set accuracy_from='training'"
        )
    first = method.first_stage_epochs * steps_of_epoch(trainer)
    if trainer.max_steps != -1 and trainer.max_steps <= first:
        raise InputError(
            f"max_steps is {trainer.max_steps} and the first stage has {first}; give more, or leave it out"
        )


def penalty_comes_into_force(method: Any, trainer: Any, datamodule: Any) -> None:
    """A run with IRM goes on after ``anneal_steps``."""
    steps = steps_of_run(trainer)
    if method.penalty_weight > 1 and steps is not None and steps <= method.anneal_steps:
        raise InputError(
            f"the run has {steps:,} steps and penalty_weight is in force after anneal_steps={method.anneal_steps}; "
            "give fewer, or train longer"
        )


def last_layer_is_unfitted(method: Any, trainer: Any, datamodule: Any) -> None:
    """A resumed run of DFR has not fitted its last layer yet, or has only the end of that epoch left."""
    if method.selectable and not waits_for_its_end(trainer):
        raise InputError(
            "the checkpoint's last layer was fitted by DFR, so its training is over; test it, or start anew with more "
            "max_epochs"
        )


# On a resume.


def check_loaded(checkpoint: dict[str, Any], *, to_train: bool) -> dict[str, Any]:
    """What a checkpoint holds under the key ``drurank``.

    Args:
        checkpoint: the whole of it.
        to_train: whether training is to go on from it.

    Raises:
        InputError: if it was not made by drurank, its weights are broken, or it holds too little to train.
    """
    saved: dict[str, Any] | None = checkpoint.get(KEY)
    if saved is None:
        raise InputError("the checkpoint was not made by drurank; give one that `fit` wrote")
    broken = broken_entry(checkpoint["state_dict"])
    if broken is not None:
        raise InputError(f"the checkpoint's {broken} is nan or inf, so it predicts nothing; give another one")
    if to_train and "optimizer_states" not in checkpoint:
        raise InputError("the checkpoint holds weights only, from which no training goes on; give a whole one")
    return saved


def check_resume(
    method: Any, saved: dict[str, Any], sizes: Sizes | None = None, train: GroupedDataset | None = None
) -> None:
    """Refuse to go on training from a checkpoint of something else.

    Args:
        method: the ``GroupModule`` that is to go on.
        saved: what the checkpoint holds under the key ``drurank``.
        sizes: those of the data, where they are known.
        train: the training set, where it is known; else ``restored_tables_fit`` looks at it.

    Raises:
        InputError: naming what differs.
    """
    now = method_state(method)
    if known_as(saved["method"]) != known_as(now["method"]):
        raise InputError(
            f"the checkpoint was made with {saved['method']}, not {now['method']}; go on with "
            f"model={saved['method'].rpartition('.')[2]}, or start without it"
        )
    for name, value in now["fixed"].items():
        before = saved.get("fixed", {}).get(name, value)
        if before != value:
            raise InputError(
                f"the checkpoint was made with {name}={before!r}, which cannot become {value!r} in it; start anew, "
                "or give the same"
            )
    if saved["network"] != now["network"]:
        before, after = (
            "an object without an import path" if one is None else differences(one, other)
            for one, other in ((saved["network"], now["network"]), (now["network"], saved["network"]))
        )
        raise InputError(f"the checkpoint's network is {before}, this run's {after}")
    if saved["sizes"] is not None and sizes is not None and Sizes(**saved["sizes"]) != sizes:
        raise InputError(
            f"the checkpoint was made with other training data: its network has {Sizes(**saved['sizes'])}, this one "
            f"{sizes}"
        )
    if train is not None and "training" in saved:
        _refuse_other_data(saved["training"], train, train.fingerprint())
    _refuse_other_optimization(saved.get("optimization", {}), now["optimization"])


def _refuse_other_data(saved: dict[str, Any], train: GroupedDataset, fingerprint: str) -> None:
    if saved["fingerprint"] != fingerprint:
        rows = len(saved["record"]["correct"])
        raise InputError(
            f"the checkpoint was made with other training data ({rows:,} rows, now {len(train):,}, or with other "
            "contents); give the data it was made with, or start without ckpt_path"
        )


def _refuse_other_optimization(saved: dict[str, Any], now: dict[str, Any]) -> None:
    # Its state would be replaced by the checkpoint's without a word.
    for name, described in now.items():
        before = saved.get(name)
        if described is not None and before is not None and before != described:
            raise InputError(
                f"the checkpoint was made with {name} {differences(before, described)}, this run's is "
                f"{differences(described, before)}; a resumed run keeps its own: give that, or start without ckpt_path"
            )


# Of what a method is given on the way.


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


def check_groups(train: GroupedDataset, method: str, remedy: str) -> None:
    """Refuse to rank the groups of rows that have none or one.

    Args:
        train: the rows.
        method: name of the method's class.
        remedy: what to do where a row has no group.

    Raises:
        InputError: if a row has no group, or all have the same.
    """
    if bool((train.group < 0).any()):
        raise InputError(f"{method} needs the group of every row it trains on, and some have none; {remedy}")
    if train.num_training_groups == 1:
        raise InputError(f"{method} ranks groups and there is only one; name the group column, or use ERM or Const")


def check_grouped(loaders: Any) -> None:
    """Refuse loaders whose rows cannot be told.

    Raises:
        InputError: naming what to wrap their dataset in.
    """
    for loader in as_list(loaders):
        dataset = getattr(loader, "dataset", None)
        check_map_style(dataset)
        if not isinstance(dataset, GroupedDataset | TrainingPass):
            raise InputError(
                f"an evaluation loader reads a {type(dataset).__name__}; wrap it as GroupedDataset(dataset, groups)"
            )
        check_loader(loader)


def check_loader(loader: Any) -> None:
    """Refuse a loader that leaves out the dataset's own ``collate``, or whose sampler of ours Lightning replaced.

    Raises:
        InputError: naming what to write.
    """
    batched = getattr(loader, "batch_size", None) is not None or getattr(loader, "batch_sampler", None) is not None
    own = getattr(loader.dataset, "collate", None) not in (None, default_collate)
    if batched and own and isinstance(loader.dataset, GroupedDataset) and loader.collate_fn is default_collate:
        raise InputError(
            "the dataset has a collate of its own, which a plain DataLoader does not call; give the loader too "
            "collate_fn=..., or use drurank.data.make_loader(dataset, batch_size)"
        )
    if not batched and isinstance(getattr(loader, "sampler", None), SequentialSampler):
        raise InputError(
            "the loader's sampler gives single rows and not batches, as where overfit_batches replaced it; use "
            "limit_train_batches"
        )


def check_evaluation(loaders: Any) -> None:
    """Refuse evaluation loaders whose rows cannot be told, or the training set among them unless it is marked.

    Raises:
        InputError: naming what to do.
    """
    check_grouped(loaders)
    if any(
        isinstance(loader.dataset, GroupedDataset) and loader.dataset.split == "train" for loader in as_list(loaders)
    ):
        raise InputError("a validation loader reads split 'train'; use evaluation_loader(train) for the training set")


def check_last_layer(owner: Any, parameters: Sequence[nn.Parameter]) -> None:
    """Refuse a network without ``features`` and a last layer ``head`` that DFR can fit.

    Args:
        owner: what should have them.
        parameters: all parameters of the method, those that are shared as often as they are.

    Raises:
        InputError: naming the network.
    """
    head: Any = getattr(owner, "head", None)
    own = dict(head.named_parameters()) if isinstance(head, nn.Linear) else {}
    shared = sum(value is own.get("weight") for value in parameters)
    if own.keys() != {"weight", "bias"} or shared > 1 or not callable(getattr(owner, "features", None)):
        raise InputError(
            "DFR needs a network with features(x) and head, an nn.Linear with a plain weight and bias of its own; "
            f"{type(owner).__name__} lacks one of them"
        )


def _validation_in_every_epoch(trainer: Any) -> None:
    every, batches = trainer.val_check_batch, trainer.num_training_batches
    if trainer.check_val_every_n_epoch is None or not every or every > batches:
        raise InputError(
            f"val_check_interval={getattr(trainer, 'val_check_interval', 'of time')} with check_val_every_n_epoch="
            f"{trainer.check_val_every_n_epoch} may validate no more in an epoch of {batches} batches, in whose last "
            "validation the errors of the training set are looked at; give a share or number of its batches, or set "
            "accuracy_from='training'"
        )
    if batches % every:
        rank_zero_info(
            f"the last validation of an epoch is after batch {batches - batches % every} of {batches}: the weights of "
            "the next one come from the predictions made then"
        )


def _has(trainer: Any, kind: type) -> bool:
    return any(isinstance(callback, kind) for callback in trainer.callbacks)
