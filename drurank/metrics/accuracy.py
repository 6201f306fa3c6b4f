"""Accuracy by group, and what every metric of groups shares: how samples are counted."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from drurank.errors import InputError, is_count
from drurank.groups import Groups
from drurank.ranking import add_group_sums_


def predicted_class(preds: Tensor) -> tuple[Tensor, Tensor]:
    """The class with the highest score, int64 ``[...]``, and whether all scores are finite, bool ``[...]``.

    Args:
        preds: scores, ``[..., C]``; with ``C = 1`` the score of class 1 against class 0, cut at 0.
    """
    chosen = (preds[..., 0] > 0).long() if preds.shape[-1] == 1 else preds.argmax(dim=-1)
    return chosen, preds.isfinite().all(dim=-1)


def is_correct(preds: Tensor, target: Tensor) -> Tensor:
    """Whether each sample is classified correctly, bool ``[N]``.

    Args:
        preds: class by sample, integer ``[N]``, or scores, float ``[N, C]``.
        target: right class, integer ``[N]``.

    Raises:
        InputError: if shapes or types do not agree.
    """
    if target.is_floating_point():
        raise InputError(f"target is {target.dtype}; give classes as integers")
    has_scores = preds.ndim == target.ndim + 1
    if (preds.shape[:-1] if has_scores else preds.shape) != target.shape:
        raise InputError(f"preds {list(preds.shape)}, target {list(target.shape)}; give one of each per sample")
    if has_scores:
        chosen, finite = predicted_class(preds)
        return (chosen == target) & finite
    if preds.is_floating_point():
        raise InputError(f"preds is {preds.dtype} {list(preds.shape)}; give classes as integers or scores [N, C]")
    return preds == target


class GroupAccuracy(Metric):
    """Accuracy of each group.

    As input to ``forward`` and ``update`` it takes

    - ``preds``: class by sample, integer ``[N]``, or scores, float ``[N, C]``; a sample with a score that is not finite
      counts as wrong,
    - ``target``: right class, integer ``[N]``,
    - ``group``: group of each sample, integer ``[N]``, in ``[0, num_groups)``; a negative group means none, and the
      sample is left out.

    As output of ``compute``: accuracy, float32 ``[num_groups]``, ``nan`` for a group without (enough) samples.

    Args:
        num_groups: number of groups ``m``.
        min_count: leave out groups with fewer samples.
        shrink: take as a group's accuracy its posterior mean, which is the nearer to that of all groups the fewer
            samples it has, see :func:`drurank.spread.shrunk_accuracy`; ``compute`` then waits for the device.
        **kwargs: those of ``torchmetrics.Metric``.

    Raises:
        InputError: if ``num_groups`` or ``min_count`` is not an int of 1 or more.

    Example:
        >>> import torch
        >>> metric = GroupAccuracy(num_groups=3)
        >>> metric.update(torch.tensor([1, 0, 1]), torch.tensor([1, 1, 1]), torch.tensor([2, 2, 0]))
        >>> metric.compute()
        tensor([1.0000,    nan, 0.5000])
    """

    is_differentiable = False
    higher_is_better: bool | None = True
    full_state_update = False
    plot_lower_bound: float | None = 0.0
    plot_upper_bound: float | None = 1.0

    correct: Tensor
    count: Tensor

    def __init__(self, num_groups: int, *, min_count: int = 1, shrink: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        for name, value in (("num_groups", num_groups), ("min_count", min_count)):
            if not is_count(value):
                raise InputError(f"{name} is {value!r}; give an int of 1 or more")
        self.num_groups = num_groups
        self.min_count = min_count
        self.shrink = shrink
        self.add_state("correct", torch.zeros(num_groups, dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("count", torch.zeros(num_groups, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor, group: Tensor) -> None:
        """Count a batch; see the class for shapes.

        Raises:
            InputError: if shapes or types do not agree, or a group is too high, see ``update_correct``.
        """
        self._count(is_correct(preds, target), group)

    def update_correct(self, correct: Tensor, group: Tensor) -> None:
        """Count a batch of which it is known already what is right.

        Args:
            correct: whether each sample was classified correctly, bool ``[N]``.
            group: group of each sample, integer ``[N]``, negative for none.

        Raises:
            InputError: if shapes or types do not agree, or, on the CPU, a group is not below ``num_groups``. (On
                another device that cannot be known without a wait.)
        """
        self._count(correct, group)
        self._note_update()

    def _note_update(self) -> None:
        # What torchmetrics wraps around ``update``: the last value is stale, and there is something to compute.
        self._computed = None
        self._update_count += 1

    def _count(self, correct: Tensor, group: Tensor) -> None:
        if correct.dtype != torch.bool or group.is_floating_point():
            raise InputError(f"correct is {correct.dtype}, group {group.dtype}; give bool and groups as integers")
        if correct.shape != group.shape:
            raise InputError(f"correct {list(correct.shape)}, group {list(group.shape)}; give one of each per sample")
        if group.device.type == "cpu" and group.numel() and int(group.max()) >= self.num_groups:
            raise InputError(f"group {int(group.max())} is not below num_groups={self.num_groups}")
        if self.correct.is_inference() and not torch.is_inference_mode_enabled():
            # Reset in a validation outside of fit, used on in a fit: such tensors cannot be added to in place.
            self.correct, self.count = self.correct.clone(), self.count.clone()
        add_group_sums_(self.correct, correct, group)
        add_group_sums_(self.count, torch.ones_like(group), group)

    def compute(self) -> Any:
        """The value of what was counted; see the class."""
        return self.of(self.groups())

    def of(self, groups: Groups) -> Any:
        """The value of groups, whoever counted them: accuracy by group, float32 ``[num_groups]``."""
        return groups.accuracy.float()

    def groups(self) -> Groups:
        """What was counted, as criteria see it; accuracies are ``nan`` below ``min_count`` samples."""
        return Groups.of_counts(self.correct, self.count, min_count=self.min_count, shrink=self.shrink)

    def counts(self) -> tuple[Tensor, Tensor]:
        """Correct and seen, int64 ``[num_groups]`` each.

        They are summed over all processes, and every process must call it, unless the metric was made with
        ``sync_on_compute=False``.
        """
        with self.sync_context(should_sync=self.sync_on_compute):
            return self.correct.clone(), self.count.clone()

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Draw ``val`` (or the present value) with matplotlib, as every torchmetrics metric does.

        Args:
            val: a value of ``compute`` or ``forward``, or a list of them to draw over steps.
            ax: matplotlib axis to draw on.

        Returns:
            Figure and axis.
        """
        return self._plot(val, ax)
