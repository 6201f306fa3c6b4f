"""A network that a checkpoint describes becomes no larger than the weights that the checkpoint holds for it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from drurank.errors import InputError
from drurank.limits import LIFT, are_lifted

MAKES = {
    torch.empty,
    torch.zeros,
    torch.ones,
    torch.full,
    torch.rand,
    torch.randn,
    torch.randint,
    torch.eye,
    torch.arange,
    torch.linspace,
    torch.empty_like,
    torch.zeros_like,
    torch.ones_like,
    torch.full_like,
    torch.rand_like,
    torch.randn_like,
    torch.Tensor.new_empty,
    torch.Tensor.new_zeros,
    torch.Tensor.new_ones,
    torch.Tensor.new_full,
}
"""What a constructor makes its weights and tables with."""
COPIES = {torch.clone, torch.Tensor.clone}
"""What copies them, as ``copy.deepcopy`` does for the layers of a ``Transformer``."""
TIMES, SPARE = 4, 1 << 27
"""Numbers that may be made: so many times those that the checkpoint holds, and so many more, as for tables."""
TENSORS = 10_000
"""Tensors that may be made beside 16 for each that the checkpoint holds."""


class Bounded(TorchFunctionMode):
    """Within this context, refuses to make more than a network with such weights needs.

    Args:
        weights: those that the network is to load.
    """

    def __init__(self, weights: Collection[Tensor]) -> None:
        super().__init__()
        self._numbers = TIMES * sum(weight.numel() for weight in weights) + SPARE
        self._tensors = 16 * len(weights) + TENSORS

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Count what is made before it takes memory."""
        given = kwargs or {}
        if func in MAKES or func in COPIES:
            self._numbers -= args[0].numel() if func in COPIES and args else _numbers_of(func, args, given)
            self._tensors -= 1
            if (self._numbers < 0 or self._tensors < 0) and not are_lifted():
                raise InputError(f"it would be far larger than the weights that the checkpoint holds; {LIFT}")
        return func(*args, **given)


def _numbers_of(func: Callable[..., Any], args: tuple[Any, ...], given: dict[str, Any]) -> int:
    """How many numbers would be made; 0 where that cannot be asked."""
    asked = {name: value for name, value in given.items() if name not in ("generator", "out", "pin_memory")}
    try:
        return int(func(*args, **{**asked, "device": "meta"}).numel())
    except (RuntimeError, TypeError, ValueError):  # what is wrong with it is said when it is made
        return 0
