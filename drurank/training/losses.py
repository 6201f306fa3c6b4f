"""Losses by sample, with arguments that can be typed. Any other module that gives one value per sample does as well."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from drurank.errors import InputError, check_number


class BinaryCrossEntropy(nn.Module):
    """Binary cross-entropy of each sample, from one logit: ``-y w log p - (1 - y) log(1 - p)`` with ``p`` its sigmoid.

    The network has one output and no sigmoid after it; class 1 is predicted where the logit is above 0.

    Args:
        positive_weight: weight ``w`` of the samples of class 1, above 0.

    Raises:
        InputError: if ``positive_weight`` is out of range.
    """

    def __init__(self, positive_weight: float = 1.0) -> None:
        super().__init__()
        check_number("positive_weight", positive_weight, above=True)
        self.positive_weight = positive_weight

    def forward(self, logits: Tensor, label: Tensor) -> Tensor:
        """Losses, float ``[B]``, of logits ``[B]`` or ``[B, 1]`` and labels 0 and 1, ``[B]`` or ``[B, 1]``.

        Raises:
            InputError: if there is not one logit a sample.
        """
        if logits.shape[1:] not in ((), (1,)) or label.shape[1:] not in ((), (1,)):
            raise InputError(
                f"the network gave {list(logits.shape)} for labels {list(label.shape)}; BinaryCrossEntropy takes one "
                "logit and one label a sample, [B] or [B, 1]: give a network with one output"
            )
        logits = logits.reshape(-1)
        target = label.reshape(-1).to(logits.dtype)
        weight = torch.where(target > 0, self.positive_weight, 1.0)
        return functional.binary_cross_entropy_with_logits(logits, target, weight=weight, reduction="none")


class CrossEntropy(nn.Module):
    """Cross-entropy of each sample, ``-c_y log p_y`` with class weights ``c``.

    In evaluation a label that the network has no output for has the probability 0 and so the loss inf.

    Args:
        class_weight: weight of each class, in the order of the labels; 1, if not given.
        label_smoothing: share of the target that is spread over all classes, in [0, 1].

    Raises:
        InputError: if a weight is negative or ``label_smoothing`` out of range.
    """

    class_weight: Tensor | None

    def __init__(self, class_weight: list[float] | None = None, label_smoothing: float = 0.0) -> None:
        super().__init__()
        check_number("label_smoothing", label_smoothing, high=1)
        if class_weight is not None and min(class_weight, default=-1) < 0:
            raise InputError(f"class_weight is {class_weight!r}; give one number of 0 or more a class")
        weight = None if class_weight is None else torch.tensor(class_weight, dtype=torch.float32)
        self.register_buffer("class_weight", weight, persistent=False)
        self.label_smoothing = label_smoothing

    def forward(self, logits: Tensor, label: Tensor) -> Tensor:
        """Losses, float ``[B]``, of logits ``[B, C]`` and labels ``[B]``.

        Raises:
            InputError: if there is not one logit for each of two classes or more, or not one class a sample.
        """
        if logits.ndim < 2 or logits.shape[-1] < 2:
            raise InputError(
                f"the network gave {list(logits.shape)}, of which CrossEntropy makes no loss; give it an output for "
                "each of two classes or more, [B, C], or another loss"
            )
        if self.class_weight is not None and len(self.class_weight) != logits.shape[-1]:
            raise InputError(f"class_weight has {len(self.class_weight)} numbers for {logits.shape[-1]} classes")
        if label.shape != logits.shape[:1] or label.is_floating_point():
            raise InputError(
                f"labels are {label.dtype} {list(label.shape)}, of which CrossEntropy makes no loss; give it one class "
                "a sample, or another loss"
            )
        known = (label >= 0) & (label < logits.shape[-1]) if not self.training else None
        losses = functional.cross_entropy(
            logits,
            label if known is None else torch.where(known, label, 0),
            weight=self.class_weight,
            label_smoothing=self.label_smoothing,
            reduction="none",
        )
        return losses if known is None else torch.where(known, losses, torch.inf)
