"""What two modules must have in common for their tensors to be stacked."""

from __future__ import annotations

import pickle
from typing import Any

from torch import Tensor, nn

TENSORS = ("_parameters", "_buffers", "_modules")


def structure(module: nn.Module) -> tuple[Any, ...]:
    """Equal for modules that do the same but for the values of their parameters and buffers.

    Classes, names and shapes of all tensors, and every other attribute of each module within; what cannot be compared,
    as a function made on the spot, makes them differ.
    """
    tensors = [*module.named_parameters(), *module.named_buffers()]
    shapes = [(name, tuple(value.shape), str(value.dtype), value.requires_grad) for name, value in tensors]
    return tuple(shapes), tuple((name, type(part), *_attributes(part)) for name, part in module.named_modules())


def content(module: nn.Module) -> tuple[Any, ...]:
    """The same, with the values: equal for modules that do the same."""
    return structure(module), tuple(plain(value) for value in (*module.parameters(), *module.buffers()))


def plain(value: Any) -> Any:
    """Equal for equal values; of what cannot be written down only equal to itself."""
    try:
        if isinstance(value, Tensor):
            return str(value.dtype), tuple(value.shape), value.detach().cpu().numpy().tobytes()
        return pickle.dumps(value)
    except Exception:  # each class may refuse in its own way
        return id(value)


def _attributes(module: nn.Module) -> list[tuple[str, Any]]:
    return [(name, plain(value)) for name, value in sorted(vars(module).items()) if name not in TENSORS]
