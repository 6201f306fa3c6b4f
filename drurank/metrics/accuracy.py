"""Accuracy by group, and what every metric of groups shares: how samples are counted."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from drurank.checks import NONE, check_group_of, check_tensor, on_host
from drurank.errors import InputError, check_count
from drurank.groups import Groups
from drurank.metrics.inputs import check_extremes, check_threshold, extremes, is_correct
from drurank.ranking import add_group_sums_


class GroupAccuracy(Metric):
    """Accuracy of each group.

    As input to ``forward`` and ``update`` it takes

    - ``preds``: class by sample, integer or bool ``[N]``; or scores (logits or probabilities), float ``[N, C]``; or,
      with ``threshold``, one score a sample, float ``[N]`` or ``[N, 1]``. A sample with a score that is nan or infinite
      counts as wrong,
    - ``target``: right class, integer or bool ``[N]``,
    - ``group``: group of each sample, integer ``[N]``, in ``[0, num_groups)``, or -1 to leave the sample out.

    A batch may be empty. As output of ``compute``: accuracy, float32 ``[num_groups]``, ``nan`` for a group without
    (enough) samples. A group or class out of range is an error: at once on the CPU; elsewhere ``update`` does not wait
    for the device, the sample is not counted, and ``compute`` raises the error.

    Args:
        num_groups: number of groups ``m``.
        min_count: leave out groups with fewer samples.
        shrink: take as a group's accuracy its posterior mean, which is the closer to that of all groups the fewer
            samples it has, see :func:`drurank.spread.shrunk_accuracy`.
        threshold: with one score a sample, the score above which it is of class 1: 0 for logits, 0.5 for probabilities.
            Such scores are refused without it, since a batch of logits can look like probabilities.
        **kwargs: those of ``torchmetrics.Metric``.

    Raises:
        InputError: if ``num_groups`` or ``min_count`` is not an int of 1 or more, or ``threshold`` is not a number.

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
    extremes: Tensor
    cut: Tensor

    def __init__(
        self,
        num_groups: int,
        *,
        min_count: int = 1,
        shrink: bool = False,
        threshold: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_count("num_groups", num_groups)
        check_count("min_count", min_count)
        check_threshold(threshold)
        self.min_count, self.shrink, self.threshold = min_count, shrink, threshold
        self._in_step = False
        self.add_state("correct", torch.zeros(num_groups, dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("count", torch.zeros(num_groups, dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("extremes", torch.zeros(4, dtype=torch.int64), dist_reduce_fx="max")
        if threshold is not None:
            # A MetricCollection counts once for metrics of equal states: those that cut elsewhere must not be equal.
            self.add_state("cut", torch.tensor(float(threshold)), dist_reduce_fx="max")

    @property
    def num_groups(self) -> int:
        """Number of groups; another number needs another metric."""
        return len(self.count)

    def update(self, preds: Tensor, target: Tensor, group: Tensor) -> None:
        """Count a batch; see the class for shapes.

        Raises:
            InputError: if shapes or types do not agree, or, on the CPU, a group or class is out of range.
        """
        self._count(is_correct(preds, target, threshold=self.threshold), group, preds, target)

    def update_correct(self, correct: Tensor, group: Tensor) -> None:
        """Count a batch of which it is known already what is right.

        Args:
            correct: whether each sample was classified correctly, bool ``[N]``.
            group: group of each sample, integer ``[N]``, -1 for none.

        Raises:
            InputError: if shapes or types do not agree, or, on the CPU, a group is out of range.
        """
        self._count(correct, group)
        self._note_update()

    def _note_update(self) -> None:
        # What torchmetrics wraps around ``update``: the last value is stale, and there is something to compute.
        self._computed = None
        self._update_count += 1

    def _count(self, correct: Tensor, group: Tensor, preds: Tensor | None = None, target: Tensor | None = None) -> None:
        check_tensor("correct", correct)
        if correct.dtype != torch.bool:
            raise InputError(f"correct is {correct.dtype}; give bool")
        check_group_of("correct", correct, group)
        if correct.ndim != 1:
            raise InputError(f"correct {list(correct.shape)}, group {list(group.shape)}; give one of each, [N]")
        all_grouped = False
        if on_host(group):
            found = extremes(group=group).tolist()
            check_extremes(found, self.num_groups)
            all_grouped = found[0] == 0
        else:
            self.extremes = torch.maximum(self.extremes, extremes(group=group, preds=preds, target=target))
            group = self._in_range(group)
        if self.correct.is_inference() and not torch.is_inference_mode_enabled():
            # Reset in a validation outside of fit, used on in a fit: such tensors cannot be added to in place.
            self.correct, self.count = self.correct.clone(), self.count.clone()
        add_group_sums_(self.correct, correct, group, all_grouped=all_grouped)
        add_group_sums_(self.count, torch.ones_like(group), group, all_grouped=all_grouped)

    def _in_range(self, group: Tensor) -> Tensor:
        """Groups, int64 ``[N]``, those too high as none: such an index would end the process on some devices."""
        group = group.long()
        return torch.where(group < self.num_groups, group, NONE)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Count a batch and give the value of this batch alone; input as of ``update``."""
        self._in_step = True
        try:
            return super().forward(*args, **kwargs)
        finally:
            self._in_step = False

    def compute(self) -> Any:
        """The value of what was counted; see the class.

        Waits for the device, except within ``forward``. With ``shrink=True`` every value, also that of ``forward``, is
        computed on the CPU.

        Raises:
            InputError: if a group or class was out of range.
        """
        if self._may_read:
            check_extremes(self.extremes.tolist(), self.num_groups)
        return self.of(self.groups())

    @property
    def _may_read(self) -> bool:
        """Whether values may be read: not where a step would wait for the device."""
        return on_host(self.count) or not self._in_step

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

    def set_dtype(self, dst_type: str | torch.dtype) -> GroupAccuracy:
        """Do nothing: counts are exact only as int64, and values are float32, whatever the precision of scores."""
        return self

    def merge_state(self, incoming_state: dict[str, Any] | Metric) -> None:
        """Add what another metric of the same groups has counted.

        Args:
            incoming_state: the other metric, or its states by name.

        Raises:
            InputError: if it counts another number of groups, by another threshold, or lacks what this one counts.
        """
        self._check_other(incoming_state if isinstance(incoming_state, dict) else vars(incoming_state))
        super().merge_state(incoming_state)

    def _check_other(self, state: dict[str, Any], prefix: str = "") -> None:
        state = {name: state[prefix + name] for name in ("cut", *self._defaults) if prefix + name in state}
        count = state.get("count")
        if isinstance(count, Tensor) and count.shape != self.count.shape:
            raise InputError(f"the other metric has num_groups={len(count)}, this one num_groups={self.num_groups}")
        self._check_cut(state.get("cut"))
        missing = [name for name in self._defaults if name not in state]
        if missing:
            raise InputError(f"the other metric has not counted {', '.join(missing)}; make both with the same options")

    def _check_cut(self, other: Any) -> None:
        before, now = None if other is None else float(other), None if self.threshold is None else float(self.cut)
        if before != now:
            raise InputError(
                f"the other metric has threshold={before}, this one threshold={self.threshold}; give both one"
            )

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        if f"{prefix}count" in state_dict:
            self._check_other(state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, *args)

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Draw ``val`` (or the present value) with matplotlib, as every torchmetrics metric does.

        Args:
            val: a value of ``compute`` or ``forward``, or a list of them to draw over steps.
            ax: matplotlib axis to draw on.

        Returns:
            Figure and axis.
        """
        return self._plot(val, ax)
