"""Dropout of a stack: each candidate's is drawn by itself, as where it trains alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from drurank.errors import InputError

RANDOM = "the network draws random numbers by more than torch.nn.functional.dropout"
OTHERWISE = "the network calls dropout otherwise at one step than at another"
FRACTION = 2**53
"""Of the 64 bits of a random number, torch makes a fraction of this many steps."""


class Call(NamedTuple):
    """A call of ``dropout`` for one candidate: shape and dtype of its input, and the share that is kept."""

    shape: torch.Size
    dtype: torch.dtype
    share: float


class OwnDropout(TorchFunctionMode):
    """Within this context, ``dropout`` multiplies by what was drawn for it before, for each candidate by itself.

    So what a candidate draws does not depend on which others are in its stack, and under ``vmap`` nothing is drawn.
    Other random numbers cannot be drawn so.

    Args:
        generators: of the candidates, in their order.
    """

    def __init__(self, generators: Sequence[Generator]) -> None:
        super().__init__()
        self._generators = generators
        self._calls: dict[Any, list[Call]] = {}
        self._found: list[Call] = []
        self._now: list[Call] = []
        self._noise: Iterator[tuple[Call, Tensor]] | None = None

    def draw(self, shape: Any, forward: Callable[[], object]) -> list[Tensor]:
        """What is to be given to ``use`` for a forward of all candidates.

        Args:
            shape: of the inputs; forwards of one shape call ``dropout`` alike.
            forward: that of one candidate, by which the calls are found where the shape is new.

        Returns:
            A tensor for each call, with the candidates along its first dimension.
        """
        if shape not in self._calls:
            self._found, self._noise = [], None
            with self:
                forward()
            self._calls[shape] = self._found
        self._now = self._calls[shape]
        return _noise(self._now, self._generators)

    def use(self, noise: Sequence[Tensor]) -> None:
        """Take these from now on, one for each call."""
        self._noise = zip(self._now, noise, strict=True)

    def all_used(self) -> bool:
        """Whether no more is left."""
        return self._noise is None or next(self._noise, None) is None

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Put our own in place of ``dropout``."""
        return func(*args, **kwargs or {}) if func is not functional.dropout else self._dropout(*args, **kwargs or {})

    def _dropout(self, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        if not training or not 0 < p < 1:
            return functional.dropout(input, p, training, inplace)
        call = Call(input.shape, input.dtype, 1 - p)
        if self._noise is None:
            self._found.append(call)
            return input
        known, noise = next(self._noise, (None, input))
        if known != call:
            raise InputError(OTHERWISE)
        return input.mul_(noise) if inplace else input * noise


def _noise(calls: Sequence[Call], generators: Sequence[Generator]) -> list[Tensor]:
    """What each call of ``dropout`` multiplies its input by, ``[K, ...]``."""
    device = generators[0].device
    if device.type == "cpu" and not _draws_by_64_bits():
        return [_by_torch(call, generators) for call in calls]
    sizes = [call.shape.numel() for call in calls]
    bits = torch.empty(len(generators), sum(sizes), dtype=torch.int64, device=device)
    for own, generator in zip(bits, generators, strict=True):
        own.random_(-(2**63), None, generator=generator)
    bits &= FRACTION - 1
    return [
        (part < math.ceil(call.share * FRACTION)).to(call.dtype).div_(call.share).view(-1, *call.shape)
        for call, part in zip(calls, torch.split(bits, sizes, dim=1), strict=True)
    ]


def _by_torch(call: Call, generators: Sequence[Generator]) -> Tensor:
    noise = torch.empty(len(generators), *call.shape, dtype=call.dtype)
    for own, generator in zip(noise, generators, strict=True):
        own.bernoulli_(call.share, generator=generator)
    return noise.div_(call.share)


@cache
def _draws_by_64_bits() -> bool:
    """Whether torch's own dropout compares 64 bits a number on this CPU, which is cheaper to do for many at once.

    Where it has Intel's library draw them it does not.
    """
    one, other = (Generator().manual_seed(1) for _ in range(2))
    bits = torch.empty(1000, dtype=torch.int64).random_(-(2**63), None, generator=one) & (FRACTION - 1)
    return torch.equal(bits < math.ceil(0.3 * FRACTION), torch.empty(1000).bernoulli_(0.3, generator=other).bool())


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
