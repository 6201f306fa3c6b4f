"""A callback that costs nothing at batches where it has nothing to do."""

from __future__ import annotations

from typing import Any

from lightning.pytorch import Callback


class LeanCallback(Callback):
    """Base of our callbacks: has only those hooks of a batch that a class defines.

    Lightning calls a callback's hook if it is callable, and the call of an empty one takes as long as a small tensor
    operation; a training step has six.
    """

    on_train_batch_start: Any = None
    on_before_zero_grad: Any = None
    on_before_backward: Any = None
    on_after_backward: Any = None
    on_before_optimizer_step: Any = None
    on_train_batch_end: Any = None
