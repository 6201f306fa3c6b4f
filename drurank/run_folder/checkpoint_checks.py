"""Whether a checkpoint is as it was written: its bytes, its structure, and the kinds of what is read of it.

Lightning and torch say of a damaged one what they stumble over, as ``KeyError: 'exp_avg'``, and some damage only shows
in other results: without the state of a parameter an optimizer begins anew, and a byte in a weight is another weight.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from pathlib import Path
from types import NoneType
from typing import Any

import torch
from torch import Tensor
from torch.serialization import get_crc32_options

from drurank.errors import InputError
from drurank.limits import LIFT, are_lifted, refuse_growth
from drurank.run_folder.checkpoint_nest import refuse_odd_nest
from drurank.shapes import MANY, check_shape, wrong

KEY = "drurank"
"""What a checkpoint holds of a method, beside what Lightning writes, stands under this key."""
WRITTEN = "drurank_written"
"""Under this key stand digests of each part's structure and of its plain values, and whether the file has checksums."""
OF_CALLER = ("drurank_hyper_parameters", "hparams_name", "hparams_type")
"""Parts to which ``load_from_checkpoint`` adds what it is given, before we see them."""
REMEDY = "give another checkpoint of the run"
BLOCK = 1 << 22
MOST_STEPS = 2**53
"""Up to which epochs and steps of a checkpoint are taken; a logger writes them as fractions."""

PLAIN = (int, float, str, NoneType)
COUNTS = {"ready": int, "completed": int}
STEPS = dict.fromkeys(("total", "current"), COUNTS)
BEGUN = {**COUNTS, "started": int}
ZEROED = dict.fromkeys(("total", "current"), BEGUN)
PROCESSED = {**BEGUN, "processed": int}
PROGRESS = dict.fromkeys(("total", "current"), PROCESSED)
BATCHES = {**PROGRESS, "is_last_batch": bool}
FACTORY = {"class_path": str, "init_args": dict}
TRAINING = {
    "fingerprint": str,
    "record": {"correct": Tensor, "fresh": Tensor, "news": bool},
    "state": {"weight": Tensor},
    "ended_epoch": int | None,
}
OF_TRAINING = {
    "validated_batch": int | None,
    "losses": Tensor,
    "criteria": dict,
    "optimizers": str,
    "unlogged": dict | None,
}
NEEDED = {
    "state_dict": dict,
    "epoch": int,
    "global_step": int,
    KEY: {"method": str, "network": dict | None, "sizes": dict | None},
}
"""What every checkpoint has, and of what kind."""
KNOWN = {
    "loops": {
        "fit_loop": {
            "epoch_progress": PROGRESS,
            "epoch_loop.batch_progress": BATCHES,
            "epoch_loop.val_loop.batch_progress": BATCHES,
            "epoch_loop.state_dict": {"_batches_that_stepped": int},
            "epoch_loop.scheduler_progress": STEPS,
            "epoch_loop.automatic_optimization.optim_progress": {"optimizer": {"step": STEPS, "zero_grad": ZEROED}},
            "epoch_loop.manual_optimization.optim_step_progress": STEPS,
        },
        "validate_loop": {"batch_progress": BATCHES},
        "test_loop": {"batch_progress": BATCHES},
        "predict_loop": {"batch_progress": PROGRESS},
    },
    "optimizer_states": list,
    "lr_schedulers": list,
    "callbacks": dict,
    "drurank_hyper_parameters": dict,
}
"""What may be missing, where nothing is trained."""
TO_TRAIN = ("loops", "callbacks", "optimizer_states", "lr_schedulers")
"""What Lightning goes on without where it is missing, as if it had not been there before."""
OF_METHOD = {"fixed": dict, "class_count": list | None, "rebuild": dict, "optimization": dict, "network": FACTORY}
"""What may be missing of a method's part, or hold nothing."""
BEFORE_FIRST = (f"{KEY}.training.ended_epoch", f"{KEY}.training.validated_batch")
"""What is -1 before the first epoch or batch has ended."""


def note_structure(checkpoint: dict[str, Any]) -> None:
    """Note in a checkpoint that is about to be written what each part of it looks like; nothing if it is not ours."""
    if isinstance(checkpoint.get(KEY), dict):
        parts = {name: _digest(part) for name, part in checkpoint.items() if name not in (WRITTEN, *OF_CALLER)}
        values = {name: _digest(part, values=True) for name, part in checkpoint.items() if name != WRITTEN}
        checkpoint[WRITTEN] = {"parts": parts, "values": values, "checksums": bool(get_crc32_options())}


def check_structure(of: str, checkpoint: Mapping[str, Any], *, to_train: bool = False) -> None:
    """Refuse a checkpoint whose structure is not that which was written, or of which something is of another kind.

    Args:
        of: what it is called in the sentence.
        checkpoint: the whole of it.
        to_train: whether training goes on from it, so that no part may be missing.

    Raises:
        InputError: naming the first part that is damaged.
    """
    refuse_odd_nest(of, checkpoint, REMEDY)
    _check_sizes(of, checkpoint)
    written = checkpoint.get(WRITTEN)
    check_shape(of, checkpoint, {**NEEDED, **({name: KNOWN[name] for name in TO_TRAIN} if to_train else {})}, REMEDY)
    if written is not None:
        check_shape(of, written, {"parts": dict, "checksums": bool}, REMEDY, WRITTEN)
    check_shape(of, checkpoint, {name: kind for name, kind in KNOWN.items() if name in checkpoint}, REMEDY)
    _check_counters(of, checkpoint)
    saved = checkpoint[KEY]
    check_shape(of, saved, {name: kind for name, kind in OF_METHOD.items() if saved.get(name) is not None}, REMEDY, KEY)
    made = {name: FACTORY for name, one in (saved.get("optimization") or {}).items() if one is not None}
    check_shape(of, saved.get("optimization") or {}, made, REMEDY, f"{KEY}.optimization")
    if "training" in saved:
        check_shape(of, saved["training"], TRAINING, REMEDY, f"{KEY}.training")
        kinds = {name: kind for name, kind in OF_TRAINING.items() if name in saved["training"]}
        check_shape(of, saved["training"], kinds, REMEDY, f"{KEY}.training")
        _check_unlogged(of, saved["training"].get("unlogged"))
        _check_tables(of, saved["training"])
    for name, digest in ({} if written is None else written["parts"]).items():
        if name not in checkpoint and not to_train:
            continue  # Whoever passes on a network may leave out what only training needs.
        if name not in checkpoint or _digest(checkpoint[name]) != digest:
            raise _changed(of, name, "is not as it was written" if name in checkpoint else "is missing")


def check_values(of: str, checkpoint: Mapping[str, Any]) -> None:
    """Refuse a checkpoint with other numbers or texts than were written, as it is in its file.

    Raises:
        InputError: naming the first part that is damaged.
    """
    written = checkpoint.get(WRITTEN)
    noted = written.get("values", {}) if isinstance(written, dict) else {}
    check_shape(of, noted, {MANY: str}, REMEDY, f"{WRITTEN}.values")
    for name, digest in noted.items():
        if name in checkpoint and _digest(checkpoint[name], values=True) != digest:
            raise _changed(of, name, "is not as it was written")


def _changed(of: str, name: str, how: str) -> InputError:
    remedy = f"{REMEDY}; if you changed it yourself, delete its key {WRITTEN!r} too"
    return InputError(f"{of} is damaged: its {name} {how}; {remedy}")


def check_bytes(path: str | Path, checkpoint: Mapping[str, Any]) -> None:
    """Refuse a checkpoint file of which a byte has changed, where it has checksums; a file is read once a process.

    Raises:
        InputError: naming the file.
    """
    written = checkpoint.get(WRITTEN)
    if isinstance(written, dict) and written.get("checksums") is True and "://" not in str(path):
        about = os.stat(path)
        _check_sums(str(path), about.st_ino, about.st_mtime_ns, about.st_size)


def refuse_compressed(path: str | Path) -> None:
    """Refuse a checkpoint file that is compressed, as torch writes none: a small one may become as large as it likes.

    Raises:
        InputError: naming the file.
        OSError: if it cannot be opened.
        zipfile.BadZipFile: if it is no file of torch's.
    """
    with zipfile.ZipFile(path) as whole:
        if any(part.compress_type != zipfile.ZIP_STORED for part in whole.infolist()) and not are_lifted():
            raise InputError(f"{path} is compressed, as no checkpoint of torch's is; {LIFT}")


@lru_cache(maxsize=64)
def _check_sums(path: str, *_: int) -> None:
    try:
        with zipfile.ZipFile(path) as whole:
            for name in whole.namelist():
                with whole.open(name) as content:
                    while content.read(BLOCK):
                        pass
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise InputError(f"{path} is damaged ({' '.join(str(error).split())[:100]}); {REMEDY}") from error


def _check_sizes(of: str, checkpoint: Mapping[str, Any]) -> None:
    """Refuse tensors far larger than what is held of them: one number may stand for all of a tensor."""
    tensors = list(_tensors(checkpoint))
    held = {
        tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes()
        for tensor in tensors
        if tensor.layout == torch.strided
    }
    grown = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    refuse_growth(of, sum(held.values()), grown)


def _tensors(part: Any) -> Iterator[Tensor]:
    if isinstance(part, Tensor):
        yield part
    elif isinstance(part, Mapping | list | tuple):
        for value in part.values() if isinstance(part, Mapping) else part:
            yield from _tensors(value)


def _check_tables(of: str, training: Mapping[str, Any]) -> None:
    correct, fresh = training["record"]["correct"], training["record"]["fresh"]
    weight = training["state"]["weight"]
    for name, table in (("record.correct", correct), ("record.fresh", fresh)):
        if table.dtype != torch.int8 or table.ndim != 1 or len(table) != len(correct):
            raise wrong(of, f"{KEY}.training.{name}", table, REMEDY)
    loss = training["record"].get("loss")
    if loss is not None and not (
        isinstance(loss, Tensor) and loss.dtype == torch.float32 and loss.shape == correct.shape
    ):
        raise wrong(of, f"{KEY}.training.record.loss", loss, REMEDY)
    if not weight.is_floating_point() or weight.ndim < 1 or weight.shape[-1] != len(correct):
        raise wrong(of, f"{KEY}.training.state.weight", weight, REMEDY)
    for name, value in training.get("criteria", {}).items():
        if not isinstance(value, Tensor) or value.numel() != 1:
            raise wrong(of, f"{KEY}.training.criteria.{name}", value, REMEDY)


def _check_counters(of: str, checkpoint: Mapping[str, Any]) -> None:
    """Refuse epochs and steps that nobody can have trained: a fit would go on for ever, or count as it likes."""
    training = checkpoint[KEY].get("training")
    more = training if isinstance(training, dict) else {}
    counters = chain(
        _counters(checkpoint, {"epoch": int, "global_step": int, "loops": KNOWN["loops"]}, ""),
        _counters(more, dict.fromkeys(("ended_epoch", "validated_batch"), int), f"{KEY}.training."),
        _counters(more.get("unlogged"), {"step": int, "epoch": int}, f"{KEY}.training.unlogged."),
    )
    for place, value in counters:
        if not (-1 if place in BEFORE_FIRST else 0) <= value <= MOST_STEPS:
            raise InputError(
                f"{of} is damaged: its {place} is {str(value)[:80]}, and no count of epochs or steps; {REMEDY}"
            )


def _counters(found: Any, shape: Mapping[str, Any], where: str) -> Iterator[tuple[str, int]]:
    """Whole numbers of these keys, at any depth, with their places."""
    for name, kind in shape.items() if isinstance(found, Mapping) else ():
        value = found.get(name)
        if isinstance(kind, Mapping):
            yield from _counters(value, kind, f"{where}{name}.")
        elif kind is int and isinstance(value, int) and not isinstance(value, bool):
            yield f"{where}{name}", value


def _check_unlogged(of: str, figures: Mapping[str, Any] | None) -> None:
    if figures is None:
        return
    place = f"{KEY}.training.unlogged"
    check_shape(of, figures, {"step": int, "epoch": int}, REMEDY, place)
    for name, value in figures.items():
        if not isinstance(name, str) or not isinstance(value, int | float):
            raise wrong(of, f"{place}.{name}", value, REMEDY)


def _digest(part: Any, *, values: bool = False) -> str:
    """A digest of keys, kinds, lengths, shapes and dtypes, with ``values`` of whatever is no tensor too."""
    digest = hashlib.sha256()
    for line in _lines(part, values=values):
        digest.update(f"{line}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def _lines(part: Any, place: str = "", *, values: bool) -> Iterator[str]:
    if isinstance(part, Tensor):
        yield f"{place} tensor {part.dtype} {tuple(part.shape)}"
    elif isinstance(part, Mapping):
        yield f"{place} mapping {len(part)}"
        for name, value in part.items():
            # A ModelCheckpoint's state has paths for keys, and a run may be moved.
            name = name.rpartition("/")[2] if isinstance(name, str) else name
            yield from _lines(value, f"{place}/{name!r}", values=values)
    elif isinstance(part, list | tuple):
        plain = all(isinstance(value, PLAIN) for value in part)
        yield f"{place} {type(part).__name__} {len(part)} {sorted({type(value).__name__ for value in part})}"
        if plain and values:
            yield repr(part)
        for number, value in enumerate(() if plain else part):
            yield from _lines(value, f"{place}/{number}", values=values)
    else:
        yield f"{place} {type(part).__name__}"
        if values and isinstance(part, PLAIN):
            yield repr(part)
