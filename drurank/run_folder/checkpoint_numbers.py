"""Numbers that are nan or inf in a checkpoint whose file does not tell whether it is as it was written.

Training would go on from them, and end much later in a loss that is nan, with another reason than the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from drurank.errors import InputError
from drurank.run_folder.checkpoint_checks import KEY, OF_CALLER, REMEDY, WRITTEN

CALLBACKS = "callbacks"
OTHERS = (KEY, CALLBACKS, WRITTEN, *OF_CALLER, "hyper_parameters", "datamodule_hyper_parameters")
"""Parts in which plain numbers may be anything, as a figure that has no value."""
OF_TRAINING = ("state", "losses")
"""What of a method's part is computed with."""
UNSET = ("best", "mode_worse")
"""What a schedule that follows a criterion has as inf before its first value."""


def refuse_nonfinite(of: str, checkpoint: Mapping[str, Any]) -> None:
    """Refuse a checkpoint from which training would go on with numbers that are nan or inf.

    Args:
        of: what it is called in the sentence.
        checkpoint: the whole of it, of the right structure.

    Raises:
        InputError: naming the first entry.
    """
    for place, value in _computed_with(checkpoint):
        if not _is_finite(value):
            raise InputError(f"{of} is damaged: its {place} {_verb(value)} nan or inf; {REMEDY}")
    for place, value in _numbers(checkpoint.get(CALLBACKS), CALLBACKS):
        # A score is inf before there is one.
        if _is_tensor(value) and bool(value.isnan().any()):
            raise InputError(f"{of} is damaged: its {place} {_verb(value)} nan; {REMEDY}")


def _computed_with(checkpoint: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, part in checkpoint.items():
        if name not in OTHERS:
            yield from _numbers(part, name)
    training = checkpoint[KEY].get("training") or {}
    for name in OF_TRAINING:
        yield from _numbers(training.get(name), f"{KEY}.training.{name}")


def _numbers(part: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Each tensor and plain fraction with its place; whole numbers are finite."""
    if isinstance(part, Mapping):
        for name, value in part.items():
            if not (name in UNSET and isinstance(value, float) and math.isinf(value)):
                yield from _numbers(value, f"{place}.{name}")
    elif isinstance(part, list | tuple):
        for number, value in enumerate(part):
            yield from _numbers(value, f"{place}.{number}")
    elif isinstance(part, float) or _is_tensor(part):
        yield place, part


def _verb(value: Any) -> str:
    return "is" if isinstance(value, float) or value.numel() == 1 else "holds"


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) and value.layout == torch.strided


def _is_finite(value: Any) -> bool:
    return bool(value.isfinite().all()) if isinstance(value, Tensor) else math.isfinite(value)
