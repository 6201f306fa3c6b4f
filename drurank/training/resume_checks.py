"""What a checkpoint is refused for, by a run that goes on from it or evaluates it; see ``preflight``."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from lightning.pytorch.utilities.rank_zero import rank_zero_warn

from drurank.data.dataset import GroupedDataset
from drurank.errors import InputError
from drurank.networks import Sizes
from drurank.networks.factory import differences
from drurank.run_folder.checkpoint_checks import KEY, WRITTEN, check_structure
from drurank.run_folder.checkpoint_numbers import refuse_nonfinite
from drurank.training.checkpoint import known_as, method_state
from drurank.training.nonfinite import broken_entry
from drurank.training.optimization import optimizers_in_words


def search_loses_no_checkpoint(method: Any, trainer: Any, datamodule: Any) -> None:
    """A search at the start of a fit does not precede the training of a checkpoint, which Lightning would forget."""
    if method.searching and method.progress.restored is not None:
        raise InputError(
            "LearningRateFinder and BatchSizeFinder search at the start of a new run, and this one resumes; leave "
            "them out, and give the optimizer and batch_size what they found"
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


def check_loaded(checkpoint: dict[str, Any], *, to_train: bool, file: str | Path | None = None) -> dict[str, Any]:
    """What a checkpoint holds under the key ``drurank``.

    Args:
        checkpoint: the whole of it.
        to_train: whether training is to go on from it.
        file: where it was read from, if that is known.

    Raises:
        InputError: if it was not made by drurank, is damaged, its weights are broken, or it holds too little to train.
    """
    of = "the checkpoint" if file is None else str(file)
    saved: dict[str, Any] | None = checkpoint.get(KEY)
    if not isinstance(saved, dict):
        raise InputError(f"{of} was not made by drurank; give one that `fit` wrote")
    if to_train and "optimizer_states" not in checkpoint:
        raise InputError(f"{of} holds weights only, from which no training goes on; give a whole one")
    check_structure(of, checkpoint, to_train=to_train)
    if to_train and WRITTEN not in checkpoint:
        rank_zero_warn(
            f"{of} has no {WRITTEN!r}, as if somebody had changed it: whether the run goes on as it would have is not "
            "known"
        )
    broken = broken_entry(checkpoint["state_dict"])
    if broken is not None:
        raise InputError(f"{of} has nan or inf in {broken}, so it predicts nothing; give another one")
    if to_train and WRITTEN not in checkpoint:
        refuse_nonfinite(of, checkpoint)
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
    before_sizes = None if saved["sizes"] is None else Sizes.from_plain(saved["sizes"])
    if before_sizes is not None and sizes is not None and before_sizes != sizes:
        was, is_now = before_sizes.as_plain(), sizes.as_plain()
        other = [one.name for one in fields(sizes) if one.compare and was[one.name] != is_now[one.name]]
        said = ", ".join(f"{name} {was[name]!r}, and here {is_now[name]!r}" for name in other)
        raise InputError(
            f"the checkpoint was made with other training data: its network has {said}; give the data and the options "
            "that it was made with, or start without ckpt_path"
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
