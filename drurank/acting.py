"""Modules of others that act as they are made: they load a model from a hub, download data, or ask to run code."""

from __future__ import annotations

from torchmetrics import Metric

from drurank.imports import is_named

ACTING = ("torchmetrics", "transformers", "sentence_transformers", "lightning.pytorch.demos", "pytorch_lightning.demos")
"""Packages, and parts of them, of which some classes do so, and none is what a network of ours is made of."""


def why_acting(class_path: str, found: type) -> str | None:
    """Why a class that only a file names is not made, and what to do; ``None`` if it may be.

    Args:
        class_path: as the file has it.
        found: the class.
    """
    # The parser shortens what was typed.
    if is_named(class_path, found) or is_named(f"{found.__module__}.{found.__qualname__}", found):
        return None
    if issubclass(found, Metric) and not found.__module__.startswith("drurank."):
        what = "that is a metric, and some load models from a hub as they are made"
    elif any(f"{found.__module__}.".startswith(f"{part}.") for part in ACTING):
        what = "classes of that package may load from a hub as they are made"
    else:
        return None
    return f"{what}; if you trust what the file names, add --import {class_path.partition('.')[0]}"
