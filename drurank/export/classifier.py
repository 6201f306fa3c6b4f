"""A trained network as a function of tensors, and the tensors that it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from drurank.methods import GroupModule
from drurank.networks import Sizes
from drurank.networks.calling import call
from drurank.training.contract import as_logits, class_probabilities
from drurank.training.losses import BinaryCrossEntropy

WHOLE = "inputs"
"""What the input is called where a network takes one tensor."""
IDS, MASK = "input_ids", "attention_mask"
CHANNELS = 3
LONGEST = 32
"""Tokens of a text of random ones."""
MOST_VALUES = 1 << 25
"""Random numbers, and probabilities of rows of them, that are made at most."""
FEWEST = 3
"""Rows by which the operations of a network are found."""


@dataclass(frozen=True)
class Input:
    """A tensor that a network takes.

    Attributes:
        name: of the network's argument, or ``inputs`` where it takes one tensor.
        dtype: ``float32``, ``int64`` or ``uint8``.
        width: its second dimension; ``None`` where each batch may have another.
        further: the dimensions behind that.
    """

    name: str
    dtype: str
    width: int | None
    further: tuple[int, ...] = ()

    @property
    def shape(self) -> list[str | int]:
        """Its dimensions in words."""
        return ["rows", "tokens" if self.width is None else self.width, *self.further]


def inputs_of(sizes: Sizes) -> list[Input]:
    """The tensors that a network for data of these sizes takes, in their order."""
    if sizes.vocabulary:
        return [Input(IDS, "int64", None), Input(MASK, "int64", None)]
    if sizes.image_size:
        return [Input(WHOLE, "uint8", CHANNELS, (sizes.image_size, sizes.image_size))]
    if sizes.cardinalities:
        numeric = Input("numeric", "float32", sizes.in_features)
        return [numeric, Input("categorical", "int64", len(sizes.cardinalities))]
    return [Input(WHOLE, "float32", sizes.in_features)]


def as_tensors(batch: Tensor | dict[str, Tensor], inputs: Sequence[Input]) -> tuple[Tensor, ...]:
    """The inputs of a batch in their order; a mask that it lacks, since nothing is padded, is of ones."""
    if isinstance(batch, Tensor):
        return (batch,)
    return tuple(batch[one.name] if one.name in batch else torch.ones_like(batch[IDS]) for one in inputs)


def random_inputs(sizes: Sizes, rows: int) -> tuple[Tensor, ...]:
    """Inputs of no meaning, always the same.

    Args:
        sizes: which ``check_sizes`` has looked at.
        rows: how many; fewer where they are wide.
    """
    rng = np.random.default_rng(0)
    values = CHANNELS * sizes.image_size**2
    rows = max(FEWEST, min(rows, MOST_VALUES // max(1, sizes.in_features, sizes.num_classes, values)))
    if sizes.image_size:
        pixels = rng.integers(0, 256, (rows, CHANNELS, sizes.image_size, sizes.image_size), dtype=np.uint8)
        return (torch.from_numpy(pixels),)
    if sizes.vocabulary:
        most = sizes.vocabulary if sizes.largest_token is None else sizes.largest_token + 1
        longest = min(sizes.max_length, LONGEST)
        length = rng.integers(1, longest + 1, rows)
        made = [rng.integers(0, most, (rows, longest)), (np.arange(longest) < length[:, None]).astype(np.int64)]
    else:
        made = [rng.normal(size=(rows, sizes.in_features)).astype(np.float32)]
        if sizes.cardinalities:
            made.append(np.stack([rng.integers(0, size, rows) for size in sizes.cardinalities], axis=1))
    return tuple(map(torch.from_numpy, made))


class Classifier(nn.Module):
    """Gives the probability of each class, float32 ``[B, C]``, as the method does, from tensors in an order.

    Args:
        method: with its network.
        inputs: what it takes.
    """

    def __init__(self, method: GroupModule, inputs: Sequence[Input]) -> None:
        super().__init__()
        self.network: Any = method if method.forwards_itself else method.network
        self._is_method = method.forwards_itself
        self._is_binary = isinstance(method.loss, BinaryCrossEntropy)
        self._names = [one.name for one in inputs]
        self.eval()

    def forward(self, *inputs: Tensor) -> Tensor:
        """Probabilities from the inputs in their order."""
        given: Any = inputs[0] if self._names == [WHOLE] else dict(zip(self._names, inputs, strict=True))
        if self._is_method:
            return class_probabilities(self.network.logits_of(given))
        output = as_logits(call(self.network, given))
        return class_probabilities(output.unsqueeze(1) if self._is_binary and output.ndim == 1 else output)
