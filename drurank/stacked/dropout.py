"""Dropout of a stack: each candidate's is drawn by itself, as where it trains alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import torch
from torch import Generator, Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

RANDOM = "the network draws random numbers by more than torch.nn.functional.dropout"

_GENERATORS: ContextVar[Sequence[Generator]] = ContextVar("generators")
"""Those of the candidates whose dropout is being drawn."""


class OwnDropout(TorchFunctionMode):
    """Within this context, ``dropout`` under ``vmap`` draws for each candidate from its own generator.

    So what a candidate draws does not depend on which others are in its stack. Other random numbers cannot be drawn so.

    Args:
        generators: of the candidates, in their order.
    """

    def __init__(self, generators: Sequence[Generator]) -> None:
        super().__init__()
        self._generators = generators

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Put our own in place of ``dropout``."""
        return func(*args, **kwargs or {}) if func is not functional.dropout else self._dropout(*args, **kwargs or {})

    def _dropout(self, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        if not training or not 0 < p < 1:
            return functional.dropout(input, p, training, inplace)
        _GENERATORS.set(self._generators)  # not as an argument, since vmap walks through lists at each call
        noise = _Noise.apply(input.detach(), 1 - p)  # type: ignore[no-untyped-call]
        return input.mul_(noise) if inplace else input * noise


class _Noise(torch.autograd.Function):
    """What ``dropout`` multiplies its input by."""

    @staticmethod
    def forward(like: Tensor, share: float) -> Tensor:
        raise RuntimeError("this dropout is for candidates under vmap")

    @staticmethod
    def setup_context(*given: Any) -> None:
        pass

    @staticmethod
    def vmap(info: Any, in_dims: Any, like: Tensor, share: float) -> tuple[Tensor, int]:
        noise = torch.empty_like(like.movedim(in_dims[0], 0))
        for own, generator in zip(noise, _GENERATORS.get(), strict=True):
            own.bernoulli_(share, generator=generator)  # as torch does on a CPU
        return noise.div_(share), 0


def generator_of_now(device: torch.device) -> Generator:
    """A generator that draws what torch's own would draw next, or, on another device than a CPU, is seeded by it."""
    made = Generator(device)
    if device.type == "cpu":
        return made.set_state(torch.get_rng_state())
    return made.manual_seed(int(torch.randint(2**31, ())))


def go_on_from(generator: Generator) -> None:
    """Have torch's own generator draw next what this one would; on a CPU only, see ``generator_of_now``."""
    if generator.device.type == "cpu":
        torch.set_rng_state(generator.get_state())
