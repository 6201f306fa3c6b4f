"""The steps of an epoch for a whole stack: one forward and one backward for all its candidates."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import torch
from lightning.fabric.utilities import move_data_to_device
from lightning.pytorch.utilities import GradClipAlgorithmType
from torch import Tensor
from torch.func import functional_call, stack_module_state

from drurank.errors import InputError
from drurank.stacked.dropout import OTHERWISE, RANDOM, OwnDropout
from drurank.stacked.member import Member
from drurank.stacked.optimizers import StackedOptimizer
from drurank.training import contract
from drurank.training.global_batch import GlobalBatch
from drurank.training.record import UNKNOWN

Inputs = Tensor | dict[str, Tensor]
State = dict[str, Tensor]
Reduced = tuple[Tensor, dict[str, Tensor]]


class Epoch:
    """An epoch of training for candidates whose networks, data and batches are alike.

    Parameters, states and tables are stacked along a first dimension ``K`` when it begins, and given back when it ends,
    so that between epochs each candidate is a fit like any other.

    Args:
        members: the candidates; those with equal settings of the optimizer one after the other.
    """

    def __init__(self, members: Sequence[Member]) -> None:
        self.members, self.first = members, members[0]
        methods = [member.method for member in members]
        self._networks = [method.network for method in methods]
        self._base = copy.deepcopy(self._networks[0]).to("meta")
        self._params, self._buffers = stack_module_state(self._networks)
        trained = [name for name, value in self._params.items() if value.requires_grad]
        self._trained = [self._params[name] for name in trained]
        self._forward = torch.vmap(self._of_one, randomness="error")
        self._dropout = OwnDropout([member.generator for member in members])
        self._optimizer = StackedOptimizer(self._trained, members, trained)
        self._parts = [Part(members, places) for places in _alike_in_reduce(methods)]
        lead, rows = len(members), len(methods[0].record.correct)
        self._device = device = methods[0].device
        self._loss, self._mark, self._zero = (torch.zeros(size, device=device) for size in (lead, lead, ()))
        self._rows = 0
        looks = [k for k, method in enumerate(methods) if method.accuracy_from == "training"]
        self._looks = torch.tensor(looks, dtype=torch.int64, device=device)
        self._seen = torch.full((len(looks), rows), UNKNOWN, dtype=torch.int8, device=device)

    def train(self) -> None:
        """Train it, and give every candidate what is its own.

        Raises:
            InputError: if random numbers are drawn that would not be those of each candidate alone.
        """
        order = np.stack([member.loader.sampler.order().numpy() for member in self.members])
        sampler, state = self.first.loader.sampler, torch.get_rng_state()
        for number in range(len(sampler)):
            self._step(order[:, number * sampler.batch_size : (number + 1) * sampler.batch_size])
        if not torch.equal(state, torch.get_rng_state()):
            raise InputError("random numbers are drawn where the rows of a batch are made")
        self._give_back()

    def _of_one(self, params: State, buffers: State, inputs: Inputs, noise: list[Tensor] | None) -> Tensor:
        given: Any = ((), inputs) if isinstance(inputs, dict) else (inputs,)
        if noise is not None:
            self._dropout.use(noise)
        return contract.as_logits(functional_call(self._base, (params, buffers), *given))

    def _logits(self, inputs: Inputs) -> Tensor:
        noise = self._dropout.draw(_shape(inputs), lambda: self._of_first(inputs))
        try:
            with self._dropout:
                found = self._forward(self._params, self._buffers, inputs, noise)
        except RuntimeError as error:
            if "called random operation" in str(error):
                raise InputError(RANDOM) from error
            raise
        if not self._dropout.all_used():
            raise InputError(OTHERWISE)
        return found

    @torch.no_grad()
    def _of_first(self, inputs: Inputs) -> None:
        """A forward of the first candidate that changes nothing."""
        given = {name: value[0] for name, value in inputs.items()} if isinstance(inputs, dict) else inputs[0]
        buffers = {name: value[0].clone() for name, value in self._buffers.items()}
        self._of_one({name: value[0] for name, value in self._params.items()}, buffers, given, None)

    def _step(self, places: Any) -> None:
        lead, rows = places.shape
        batch = self.first.loader.dataset[np.ascontiguousarray(places).reshape(-1)]
        batch = move_data_to_device(batch, self._device)
        output = self._logits(_by_candidate(batch["inputs"], lead))
        if output.ndim < 3:
            raise InputError("the network gives one number a row")
        flat = output.flatten(0, 1)
        losses = self.first.method._losses(flat, batch["label"]).view(lead, rows)
        of_rows = {name: batch[name].view(lead, rows) for name in ("index", "group", "label")}
        objective = torch.zeros(lead, device=self._device) if len(self._parts) > 1 else None
        for part in self._parts:
            value = part.reduce(losses, of_rows, self.first.loader.sampler.batch_size)
            objective = value if objective is None else objective.index_add(0, part.where, value)
        assert objective is not None
        objective.sum().backward()  # type: ignore[no-untyped-call]
        with torch.no_grad():
            self._mark.addcmul_(objective.detach(), self._zero)
            self._loss += losses.detach().sum(-1)
            self._rows += rows
            if len(self._looks):
                correct = self.first.method._correct(flat.detach(), batch["label"]).view(lead, rows).to(torch.int8)
                index = of_rows["index"]
                if len(self._looks) < lead:
                    correct, index = correct[self._looks], index[self._looks]
                self._seen.scatter_(1, index, correct)
            self._clip()
        self._optimizer.step()

    def _clip(self) -> None:
        trainer = self.first.trainer
        limit = trainer.gradient_clip_val
        if not limit:
            return
        gradients = [value.grad for value in self._trained if value.grad is not None]
        if trainer.gradient_clip_algorithm == GradClipAlgorithmType.VALUE:
            for grad in gradients:
                grad.clamp_(-limit, limit)
            return
        norms = torch.stack([grad.flatten(1).norm(dim=1) for grad in gradients]).norm(dim=0)
        factor = (limit / (norms + 1e-6)).clamp(max=1)  # as torch.nn.utils.clip_grad_norm_
        for grad in gradients:
            grad.mul_(factor.view(-1, *[1] * (grad.ndim - 1)))

    @torch.no_grad()
    def _give_back(self) -> None:
        for k, (member, network) in enumerate(zip(self.members, self._networks, strict=True)):
            for own, stacked in ((network.named_parameters(), self._params), (network.named_buffers(), self._buffers)):
                for name, value in own:
                    value.copy_(stacked[name][k])
            member.method.watch.take_epoch(self._loss[k], self._mark[k], self._rows)
        for row, k in enumerate(self._looks.tolist()):
            index = (self._seen[row] != UNKNOWN).nonzero().flatten()
            self.members[k].method.record.write(index, self._seen[row][index])
        for part in self._parts:
            part.give_back()
        self._optimizer.give_back()


class Part:
    """The candidates of a stack whose objective is the same function of losses and state.

    Args:
        members: all candidates of the stack.
        places: which of them.
    """

    def __init__(self, members: Sequence[Member], places: list[int]) -> None:
        self.where = torch.tensor(places, device=members[0].method.device)
        self._all = len(places) == len(members)
        self._methods = [members[k].method for k in places]
        names = [*self._methods[0].state] if _has_own_reduce(self._methods[0]) else ["weight"]
        self._state = {name: torch.stack([method.state[name] for method in self._methods]) for name in names}
        self._reduce: Callable[..., Reduced] = torch.vmap(self._of_one, in_dims=(0, 0, 0, None))

    def reduce(self, losses: Tensor, batch: dict[str, Tensor], largest: int) -> Tensor:
        """Objective of each of these candidates, ``[k]``, from losses ``[K, B]``."""
        if not self._all:
            losses = losses.index_select(0, self.where)
            batch = {name: value.index_select(0, self.where) for name, value in batch.items()}
        objective, self._state = self._reduce(losses, batch, self._state, largest)
        return objective

    def _of_one(self, losses: Tensor, batch: dict[str, Tensor], state: dict[str, Tensor], largest: int) -> Reduced:
        state = dict(state)
        whole = GlobalBatch(batch, losses.shape[-1], largest, losses.device)
        return self._methods[0].reduce(losses, whole, state), state

    def give_back(self) -> None:
        """Give each candidate its state."""
        for k, method in enumerate(self._methods):
            changed = {name: value for name, value in self._state.items() if not name.startswith(method.constant_state)}
            method.state |= {name: value[k].clone() for name, value in changed.items()}


def _by_candidate(inputs: Inputs, lead: int) -> Inputs:
    """The rows of all candidates, ``[K * B, ...]``, as ``[K, B, ...]``."""
    if isinstance(inputs, Tensor):
        return inputs.reshape(lead, len(inputs) // lead, *inputs.shape[1:])
    return {name: value.reshape(lead, len(value) // lead, *value.shape[1:]) for name, value in inputs.items()}


def _shape(inputs: Inputs) -> Any:
    if isinstance(inputs, Tensor):
        return inputs.shape
    return tuple((name, value.shape) for name, value in sorted(inputs.items()))


def _has_own_reduce(method: Any) -> bool:
    from drurank.methods.group_module import GroupModule  # here, since it imports this package

    return type(method).reduce is not GroupModule.reduce


def _alike_in_reduce(methods: list[Any]) -> list[list[int]]:
    """Places of the methods whose ``reduce`` is one function: ours looks at nothing of the method."""

    def kind(k: int) -> str:
        method = methods[k]
        if not _has_own_reduce(method):
            return ""
        # What a method of ours is made of stands in its hyperparameters; one of a person's own may hold more.
        is_ours = type(method).__module__.startswith("drurank.")
        return f"{type(method).__qualname__} {dict(method.hparams)!r} {'' if is_ours else k}"

    places = sorted(range(len(methods)), key=kind)
    return [list(found) for _, found in groupby(places, key=kind)]
