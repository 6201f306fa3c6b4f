"""One step of the optimizers of a whole stack."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import torch
from torch import Tensor

from drurank.stacked.member import Member

HOW = ("foreach", "fused", "differentiable")
"""Options of torch's optimizers that say how a step is computed."""


class StackedOptimizer:
    """The optimizers of all candidates of a stack: torch's own, over slices of the stacked parameters.

    Candidates with equal options, that have made as many steps, share a slice, so that the fewer settings there are,
    the fewer operations a step takes.

    Args:
        params: the trained parameters, ``[K, ...]`` each.
        members: the candidates; those with equal settings one after the other, see ``settings``.
        names: of the parameters.
    """

    def __init__(self, params: list[Tensor], members: Sequence[Member], names: list[str]) -> None:
        self._params, self._slices, start = params, [], 0
        for _, found in groupby(members, key=settings):
            group = [*found]
            self._slices.append(_Slice(params, group, names, start))
            start += len(group)

    def step(self) -> None:
        """Make a step with the gradients of the stacked parameters, and forget them."""
        for part in self._slices:
            part.step(self._params)
        for value in self._params:
            value.grad = None

    def give_back(self) -> None:
        """Give each candidate's optimizer what it keeps."""
        for part in self._slices:
            part.give_back()


class _Slice:
    def __init__(self, params: list[Tensor], members: list[Member], names: list[str], start: int) -> None:
        self._place = slice(start, start + len(members))
        self._own = [value.detach()[self._place] for value in params]
        self._optimizers = [member.optimizer for member in members]
        known = [dict(member.method.network.named_parameters()) for member in members]
        self._theirs = [[params_of[name] for name in names] for params_of in known]
        first = self._optimizers[0]
        taken = inspect.signature(type(first)).parameters
        options = {name: value for name, value in first.param_groups[0].items() if name in taken and name != "params"}
        if all(name in taken for name in HOW) and not any(map(options.get, HOW)):
            # The same to the bit on a CPU, at less cost. Fused costs less still, but rounds by the size of the stack.
            options["foreach"] = True
        self.optimizer = type(first)(self._own, **options)
        for number, value in enumerate(self._own):
            kept = [
                one.state.get(theirs[number], {}) for one, theirs in zip(self._optimizers, self._theirs, strict=True)
            ]
            if kept[0]:
                self.optimizer.state[value] = {name: _joined(name, [one[name] for one in kept]) for name in kept[0]}

    def step(self, params: list[Tensor]) -> None:
        for own, value in zip(self._own, params, strict=True):
            own.grad = None if value.grad is None else value.grad[self._place]
        self.optimizer.step()

    def give_back(self) -> None:
        for number, value in enumerate(self._own):
            kept = self.optimizer.state[value]
            for k, (one, theirs) in enumerate(zip(self._optimizers, self._theirs, strict=True)):
                one.state[theirs[number]] = {name: _of_one(name, entry, k) for name, entry in kept.items()}


def settings(member: Member) -> str:
    """A text that is equal for candidates whose optimizers make the same step of the same gradient."""
    optimizer = member.optimizer
    (group,) = optimizer.param_groups
    options = {name: value for name, value in group.items() if name != "params"}
    steps = {str(float(state["step"])) for state in optimizer.state.values() if "step" in state}
    return f"{type(optimizer).__name__} {options!r} {sorted(steps)} {len(optimizer.state)}"


def _joined(name: str, values: list[Any]) -> Any:
    if not isinstance(values[0], Tensor):
        return values[0]
    return values[0].clone() if name == "step" else torch.stack(values)


def _of_one(name: str, value: Any, k: int) -> Any:
    if not isinstance(value, Tensor):
        return value
    return value.clone() if name == "step" else value[k].clone()
