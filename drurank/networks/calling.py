"""A network called on a batch; one that does not fit the data ends in a sentence."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import Tensor, nn

from drurank.errors import InputError

OF_SHAPES = re.compile(r"\b(mat1|vec|sizes?|shapes?|channels|dimensions?|elements not)\b|input_size", re.IGNORECASE)
"""Words by which torch says that tensors do not go together."""


def call(network: nn.Module, inputs: Tensor | dict[str, Tensor]) -> Any:
    """What a network makes of a tensor, or of keyword arguments.

    Raises:
        InputError: if torch refuses the shapes, naming the network and what it was given.
    """
    try:
        return network(**inputs) if isinstance(inputs, dict) else network(inputs)
    except RuntimeError as error:
        said = " ".join(str(error).split())
        if isinstance(error, torch.OutOfMemoryError) or "overflow" in said or not OF_SHAPES.search(said):
            raise
        raise InputError(
            f"the network {type(network).__name__} cannot take {_given(inputs)}: {said[:300]}; make its layers fit the "
            "data, as by an argument sizes of its constructor, with .in_features and .num_classes"
        ) from error


def _given(inputs: Tensor | dict[str, Tensor]) -> str:
    if isinstance(inputs, Tensor):
        return f"inputs of shape {list(inputs.shape)}"
    shapes = (f"{name} {list(part.shape)}" for name, part in inputs.items() if isinstance(part, Tensor))
    return f"inputs of shapes {', '.join(shapes)}"
