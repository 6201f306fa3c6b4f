"""A network that a checkpoint describes becomes no larger than the weights that the checkpoint holds for it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from drurank.errors import InputError

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
}
"""What a constructor makes its weights and tables with."""
TIMES, SPARE = 4, 1 << 24
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
        if func in MAKES:
            self._numbers -= func(*args, **{**_plain(given), "device": "meta"}).numel()
            self._tensors -= 1
            if self._numbers < 0 or self._tensors < 0:
                raise InputError("it would be far larger than the weights that the checkpoint holds")
        return func(*args, **given)


def _plain(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in ("generator", "out", "pin_memory")}
