"""What a batch and an output must hold, checked where a person's own code makes them."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from drurank.errors import InputError
from drurank.metrics import predicted_class

ENTRIES = ("inputs", "label", "group", "index")
"""What a batch holds."""
NEEDED = frozenset(ENTRIES)
IGNORED = -100
"""Label of which torch's cross-entropy makes a loss of 0."""
OUT_OF_RANGE = re.compile(r"Target (-?\d+) is out of bounds")
"""What torch says on the CPU of a label that the network has no output for."""


def as_batch(batch: Any) -> dict[str, Any]:
    """A batch as a dict, from a dict or from a tuple of its four entries in their order.

    Raises:
        InputError: if it is neither.
    """
    if isinstance(batch, tuple | list) and len(batch) == len(ENTRIES):
        batch = dict(zip(ENTRIES, batch, strict=True))
    if not isinstance(batch, dict) or not batch.keys() >= NEEDED:
        has = f"dict with {', '.join(map(str, batch))}" if isinstance(batch, dict) else type(batch).__name__
        raise InputError(
            f"a batch is a {has}, not a dict with {', '.join(ENTRIES)}; override unpack(batch) to make one"
        )
    return batch


def as_logits(output: Any) -> Tensor:
    """The scores that a network gave: a tensor, or what an object or a dict holds under ``logits``.

    Raises:
        InputError: if it is none of these.
    """
    found = output.get("logits") if isinstance(output, dict) else getattr(output, "logits", output)
    if not isinstance(found, Tensor):
        raise InputError(
            f"the network gave a {type(output).__name__}; it must give a tensor of scores, or an object or dict with "
            "logits"
        )
    return found


@functools.cache
def takes_keywords(forward: Callable[..., Any], names: tuple[str, ...]) -> bool:
    """Whether a ``forward`` takes the entries of a dict of these names as keywords."""
    parameters = [*inspect.signature(forward).parameters.values()][1:]
    known = {one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)}
    rest = any(one.kind is one.VAR_KEYWORD for one in parameters)
    return bool(known <= {*names} if rest else known >= {*names})


def checked_batch(found: Any) -> dict[str, Any]:
    """A copy of what ``unpack`` gave.

    Raises:
        InputError: if an entry is missing, or ``index`` or ``group`` is not int64 with one entry a sample.
    """
    rows = len(found["label"]) if isinstance(found, dict) and found.keys() >= NEEDED else None
    for name in ("index", "group"):
        value = found[name] if rows is not None else None
        if not isinstance(value, Tensor) or value.dtype != torch.int64 or value.shape != (rows,):
            what = f"{value.dtype} {list(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
            raise InputError(
                f"unpack gave {what} as {name}; it must give a dict with {', '.join(ENTRIES)}, where index and group "
                "are int64 with one entry a sample"
            )
    return dict(found)


def check_classes(output: Tensor, label: Tensor) -> None:
    """Refuse classes that the network has no output for, where a loss would end the device's process; waits for it.

    Args:
        output: of the network, ``[B, ...]``.
        label: labels, ``[B, ...]``; others than one class a sample are passed.

    Raises:
        InputError: naming the first.
    """
    if output.ndim != 2 or output.shape[1] < 2 or label.ndim != 1 or label.is_floating_point():
        return
    wrong = label[(label >= output.shape[1]) | ((label < 0) & (label != IGNORED))]
    if len(wrong):
        raise out_of_range(f"the label {int(wrong[0])}", output)


def out_of_range(what: str, output: Tensor) -> InputError:
    """What to say of a label that the network has no output for."""
    classes = output.shape[1] if output.ndim > 1 else 1
    return InputError(
        f"a training row has {what}, and the network has {classes} outputs, for classes 0 to {classes - 1}; give it an "
        "output for each class, or number the classes from 0 on"
    )


def checked_losses(losses: Any, label: Tensor, of: str = "the loss") -> Tensor:
    """What a loss gave, float ``[B]``.

    Args:
        losses: what it gave.
        label: labels, ``[B, ...]``.
        of: what it is called.

    Raises:
        InputError: if it is not one float a sample.
    """
    if not isinstance(losses, Tensor) or not losses.is_floating_point():
        found = losses.dtype if isinstance(losses, Tensor) else type(losses).__name__
        raise InputError(f"{of} gave a {found}; it must give a tensor of one float per sample")
    if losses.shape != label.shape[:1]:
        raise InputError(
            f"{of} gave {list(losses.shape)} for labels {list(label.shape)}; it must give one value per sample "
            "(reduction='none')"
        )
    return losses


def checked_correct(correct: Tensor, output: Tensor, *, drop_nan: bool = True) -> Tensor:
    """What ``is_correct`` gave, bool ``[B]``.

    Args:
        correct: what it gave.
        output: of the network, ``[B, ...]``.
        drop_nan: whether a sample with a score of nan is never correct.

    Raises:
        InputError: if it is not one bool a sample.
    """
    if correct.dtype != torch.bool or correct.shape != output.shape[:1]:
        raise InputError(
            f"is_correct gave {correct.dtype} {list(correct.shape)} for {len(output)} samples; it must give one bool "
            "a sample"
        )
    return correct & ~output.isnan().flatten(1).any(dim=1) if drop_nan else correct


def checked_weights(weight: Any, rows: int, method: str) -> Tensor:
    """What ``reweight`` gave, as float32 ``[..., n]``.

    Raises:
        InputError: if it is not one finite weight a training sample.
    """
    if not isinstance(weight, Tensor) or weight.shape[-1:] != (rows,):
        found = list(weight.shape) if isinstance(weight, Tensor) else type(weight).__name__
        raise InputError(f"{method}.reweight gave {found}; it must give a tensor of {rows} weights")
    checked: Tensor = weight.to(torch.float32)
    if not bool(checked.isfinite().all()):
        raise InputError(f"{method}.reweight gave weights that are nan or inf")
    return checked


def are_plain_scores(output: Tensor, label: Tensor) -> bool:
    """Whether output and label are scores by class ``[B, C]`` and classes ``[B]``, on the CPU."""
    return output.is_cpu and label.is_cpu and output.ndim == 2 and label.ndim == 1 and not label.is_floating_point()


def class_correct(logits: Tensor, label: Tensor) -> Tensor:
    """Whether the class with the highest score is the label and all scores are finite, bool ``[...]``.

    Raises:
        InputError: if labels are floats, or the network gives no score by class.
    """
    if logits.ndim <= label.ndim:
        raise InputError(
            f"the network gave {list(logits.shape)} for labels {list(label.shape)}; it must give one score a class, "
            "[B, C], or with a single output [B, 1]"
        )
    if label.is_floating_point():
        raise InputError("labels are floats, which no class can equal; override is_correct to say what is correct")
    chosen, finite = predicted_class(logits, threshold=0)
    correct: Tensor = (chosen == label) & finite
    return correct


def class_probabilities(logits: Tensor) -> Tensor:
    """Probability of each class, float32 ``[..., C]``; a single score is that of class 1 of two."""
    if logits.shape[-1] == 1:
        positive = logits.float().sigmoid()
        return torch.cat([1 - positive, positive], dim=-1)
    return logits.float().softmax(dim=-1)
