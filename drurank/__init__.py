"""Train, choose and report classifiers that must serve groups well, above all groups never seen.

After each epoch the training groups are ranked by accuracy and their samples weighted by the rank's discount
(Discounted Rank Upweighting); models are chosen by a discounted cumulative gain over the badly served groups.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drurank.predictor import Predictor

__version__ = "0.1.0"

__all__ = ["Predictor", "callbacks", "criteria", "data", "methods", "metrics", "networks", "ranking", "training"]


def __getattr__(name: str) -> Any:
    # Imported when first used, so that ranking and metrics alone do not wait for Lightning.
    if name == "Predictor":
        return import_module("drurank.predictor").Predictor
    if name in __all__:
        return import_module(f"drurank.{name}")
    raise AttributeError(f"module 'drurank' has no attribute {name!r}")
