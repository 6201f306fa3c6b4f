"""What a batch must hold to be counted, and which class was predicted."""

from __future__ import annotations

import math
from numbers import Real

import torch
from torch import Tensor

from drurank.checks import check_group_range, check_tensor, on_host
from drurank.errors import InputError


def check_threshold(threshold: object) -> None:
    """Refuse a threshold that is neither ``None`` nor a finite number.

    Raises:
        InputError: naming the usual ones.
    """
    if threshold is None or (
        isinstance(threshold, Real) and not isinstance(threshold, bool) and math.isfinite(threshold)
    ):
        return
    raise InputError(f"threshold is {threshold!r}; give threshold=0 for logits or threshold=0.5 for probabilities")


def predicted_class(preds: Tensor, *, threshold: float | None = None) -> tuple[Tensor, Tensor]:
    """The class with the highest score, int64 ``[...]``, and whether all scores are finite, bool ``[...]``.

    Args:
        preds: scores, float ``[..., C]``.
        threshold: with ``C = 1``, the score above which a sample is of class 1, else of class 0: 0 for logits, 0.5 for
            probabilities. It must be given then, since scores do not tell which they are.

    Raises:
        InputError: if ``threshold`` is missing with one score a sample, or there is none.
    """
    if preds.shape[-1] == 0:
        raise InputError(f"preds {list(preds.shape)} hold no score; give one for each class")
    if preds.shape[-1] > 1:
        return preds.argmax(dim=-1), preds.isfinite().all(dim=-1)
    if threshold is None:
        raise InputError(
            f"preds {list(preds.shape)} are one score a sample; give threshold=0 if they are logits, threshold=0.5 if "
            "they are probabilities"
        )
    return (preds[..., 0] > threshold).long(), preds[..., 0].isfinite()


def is_correct(preds: Tensor, target: Tensor, *, threshold: float | None = None) -> Tensor:
    """Whether each sample is classified correctly, bool ``[N]``; a sample with a score that is not finite is not.

    Args:
        preds: class by sample, integer or bool ``[N]``; or scores, float ``[N, C]``; or, with a threshold, one score a
            sample, float ``[N]`` or ``[N, 1]``.
        target: right class, integer or bool ``[N]``; true is class 1.
        threshold: see ``predicted_class``.

    Raises:
        InputError: if shapes or types do not agree, or, where it is known without a wait, on the CPU, a class is
            negative or a target is a class that ``preds`` has no score for.
    """
    check_threshold(threshold)
    for name, value in (("preds", preds), ("target", target)):
        check_tensor(name, value)
    if target.is_floating_point():
        raise InputError(f"target is {target.dtype}; give classes as integers")
    if threshold is not None and preds.is_floating_point() and preds.ndim == target.ndim:
        preds = preds[..., None]
    has_scores = preds.ndim == target.ndim + 1
    if (preds.shape[:-1] if has_scores else preds.shape) != target.shape:
        raise InputError(f"preds {list(preds.shape)}, target {list(target.shape)}; give one of each per sample")
    if has_scores != preds.is_floating_point():
        raise InputError(
            f"preds is {preds.dtype} {list(preds.shape)}; give classes as integers [N], scores as floats [N, C], or, "
            "with threshold=0 for logits or threshold=0.5 for probabilities, one score a sample"
        )
    if has_scores and preds.shape[-1] > 1 and threshold is not None:
        raise InputError(f"threshold={threshold!r} is for one score a sample, and preds are {list(preds.shape)}")
    if on_host(target):
        check_extremes(extremes(preds=preds, target=target).tolist())
    if not has_scores:
        return preds == target
    chosen, finite = predicted_class(preds, threshold=threshold)
    return (chosen == target) & finite


# ---- values that cannot be right, found without a wait for the device


def extremes(*, group: Tensor | None = None, preds: Tensor | None = None, target: Tensor | None = None) -> Tensor:
    """What tells whether a value is out of range: int64 ``[4]``, to be combined by maximum; zeros where all is well.

    Its entries are the lowest group, negated; the highest group; the lowest class, negated; and the highest target
    that ``preds`` has no score for.
    """
    given = next(value for value in (group, target) if value is not None)
    zero = torch.zeros((), dtype=torch.int64, device=given.device)
    found = [zero] * 4
    if group is not None and group.numel():
        low, high = group.aminmax() if on_host(group) else (group.min(), group.max())  # one pass where it is there
        found[:2] = -low.long(), high.long()
    if target is not None and target.numel():
        found[2] = -target.long().min()
        if preds is not None and preds.is_floating_point():
            classes = max(preds.shape[-1], 2)
            found[3] = torch.where(target.long() >= classes, target.long(), 0).max()
        elif preds is not None:
            found[2] = torch.maximum(found[2], -preds.long().min())
    return torch.stack(found).clamp(min=0)


def check_extremes(found: list[int], num_groups: int | None = None) -> None:
    """Refuse what ``extremes`` found.

    Args:
        found: its four numbers.
        num_groups: number of groups, if groups are among what it looked at.

    Raises:
        InputError: naming the value.
    """
    low_group, high_group, low_class, no_class = found
    if num_groups is not None:
        check_group_range(-low_group, high_group, num_groups)
    if low_class > 0:
        raise InputError(f"preds or target holds class {-low_class}; classes count from 0, so leave such rows out")
    if no_class > 0:
        raise InputError(f"target holds class {no_class}, and preds has no score for it")
