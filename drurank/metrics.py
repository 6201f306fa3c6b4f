"""torchmetrics modules of the group criteria; each counts the same and computes its functional twin.

In a ``MetricCollection`` they share one state. Counts are int64 of fixed size, so they add up exactly over batches and
processes, in any order and precision, and a batch may lack any group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor
from torchmetrics import Metric

from drurank.criteria import (
    DEFAULT_CRITERIA,
    average_group_accuracy,
    compute_criteria,
    criterion,
    group_tstat,
    overall_accuracy,
    percentile_group_accuracy,
    worst_group_accuracy,
)
from drurank.dcg import KUnit, RankBy, accuracy_from_counts, check_k, group_dcg, precise
from drurank.errors import InputError, check_choice, is_count
from drurank.ranking import add_group_sums_
from drurank.spread import shrunk_accuracy

Score = Literal["error", "loss"]
LOSS_UNIT = 2.0**-22
LOSS_LIMIT = 2.0**13


def predicted_class(preds: Tensor) -> tuple[Tensor, Tensor]:
    """The class with the highest score, int64 ``[...]``, and whether all scores are finite, bool ``[...]``.

    Args:
        preds: scores, ``[..., C]``; with ``C = 1`` the score of class 1 against class 0, cut at 0.
    """
    chosen = (preds[..., 0] > 0).long() if preds.shape[-1] == 1 else preds.argmax(dim=-1)
    return chosen, preds.isfinite().all(dim=-1)


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
            InputError: if shapes do not agree, or, on the CPU, a group is not below ``num_groups``. (On another device
                that cannot be known without a wait.)
        """
        right = self._right(preds, target)
        if group.is_floating_point() or target.is_floating_point():
            raise InputError(f"target is {target.dtype}, group {group.dtype}; give classes and groups as integers")
        if not target.shape == group.shape:
            raise InputError(f"target {list(target.shape)}, group {list(group.shape)}; give one of each per sample")
        if group.device.type == "cpu" and group.numel() and int(group.max()) >= self.num_groups:
            raise InputError(f"group {int(group.max())} is not below num_groups={self.num_groups}")
        self.update_correct(right, group)

    def _right(self, preds: Tensor, target: Tensor) -> Tensor:
        scores = preds.ndim == target.ndim + 1
        if (preds.shape[:-1] if scores else preds.shape) != target.shape:
            raise InputError(f"preds {list(preds.shape)}, target {list(target.shape)}; give one of each per sample")
        if scores:
            chosen, finite = predicted_class(preds)
            return (chosen == target) & finite
        if preds.is_floating_point():
            raise InputError(f"preds is {preds.dtype} {list(preds.shape)}; give classes as integers or scores [N, C]")
        return preds == target

    def update_correct(self, right: Tensor, group: Tensor) -> None:
        """Count a batch of which it is known what is correct."""
        if self.correct.is_inference() and not torch.is_inference_mode_enabled():
            # Reset in a validation outside of fit, used on in a fit: such tensors cannot be added to in place.
            self.correct, self.count = self.correct.clone(), self.count.clone()
        add_group_sums_(self.correct, right, group)
        add_group_sums_(self.count, torch.ones_like(group), group)

    def compute(self) -> Any:
        """Accuracy by group; see the class."""
        return self.group_accuracy().float()

    def group_accuracy(self) -> Tensor:
        """Accuracy in full precision, ``[num_groups]``, ``nan`` for groups with fewer than ``min_count`` samples."""
        kept = torch.where(self.count >= self.min_count, self.count, 0)
        return (shrunk_accuracy if self.shrink else accuracy_from_counts)(self.correct, kept)

    def counts(self) -> tuple[Tensor, Tensor]:
        """Correct and seen over all processes, int64 ``[num_groups]`` each; every process must call it."""
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


class OverallAccuracy(GroupAccuracy):
    """Accuracy over samples, whatever their group; input and arguments as of ``GroupAccuracy``, a scalar as output."""

    def compute(self) -> Tensor:
        """Accuracy, float32 scalar, ``nan`` without samples; ``min_count`` does not apply."""
        return overall_accuracy(self.correct, self.count).float()


class AverageGroupAccuracy(GroupAccuracy):
    """Mean of the group accuracies; input and arguments as of ``GroupAccuracy``, a scalar as output."""

    def compute(self) -> Tensor:
        """Mean, float32 scalar, ``nan`` without groups."""
        return average_group_accuracy(self.group_accuracy()).float()


class WorstGroupAccuracy(GroupAccuracy):
    """Lowest group accuracy; input and arguments as of ``GroupAccuracy``, a scalar as output.

    Example:
        >>> import torch
        >>> metric = WorstGroupAccuracy(num_groups=2)
        >>> metric.update(torch.tensor([1, 0, 1]), torch.tensor([1, 1, 1]), torch.tensor([1, 1, 0]))
        >>> metric.compute()
        tensor(0.5000)
    """

    def compute(self) -> Tensor:
        """Lowest accuracy, float32 scalar, ``nan`` without groups."""
        return worst_group_accuracy(self.group_accuracy()).float()


class PercentileGroupAccuracy(GroupAccuracy):
    """Percentile of the group accuracies with linear interpolation; a scalar as output.

    Args:
        num_groups: number of groups.
        percentile: which one, from 0 (the worst group) to 100.
        **kwargs: those of ``GroupAccuracy``.
    """

    def __init__(self, num_groups: int, percentile: float = 10, **kwargs: Any) -> None:
        super().__init__(num_groups, **kwargs)
        if not 0 <= percentile <= 100:
            raise InputError(f"percentile is {percentile!r}; give a number from 0 to 100")
        self.percentile = percentile

    def compute(self) -> Tensor:
        """Percentile, float32 scalar, ``nan`` without groups."""
        return percentile_group_accuracy(self.group_accuracy(), self.percentile).float()


class GroupTStat(GroupAccuracy):
    """Mean of the group accuracies over its standard error; input as of ``GroupAccuracy``, a scalar as output."""

    plot_upper_bound = None

    def compute(self) -> Tensor:
        """The statistic, float32 scalar, finite where there is a group."""
        return group_tstat(self.group_accuracy()).float()


class GroupDCG(GroupAccuracy):
    """Discounted cumulative gain of the worst groups' errors or losses; lower is better.

    Input as of ``GroupAccuracy``; with ``score="loss"`` also ``loss``, float ``[N]``. As output a float32 scalar,
    ``nan`` before any sample was seen. The equation stands at :func:`drurank.ranking.group_dcg`.

    Args:
        num_groups: number of groups.
        k: how far down the list to go.
        rank_by: ``quantile`` (qDCG) or ``index`` (gDCG).
        k_unit: what ``k`` counts, ``percent`` or ``groups``.
        score: ``error``, one minus accuracy, or ``loss``, the group's mean loss. Losses are summed in units of 2**-22,
            so that sums do not depend on their order, for up to 2**28 samples a group; a loss beyond +-8192 counts as
            that, and ``nan`` as 8192.
        normalize: divide by the sum of the discounts, which makes it a weighted mean.
        **kwargs: those of ``GroupAccuracy``.

    Raises:
        InputError: if ``k`` is out of range or the options do not go together.

    Example:
        >>> import torch
        >>> metric = GroupDCG(num_groups=3, k=2, rank_by="index", k_unit="groups")
        >>> metric.update(torch.tensor([1, 0, 1, 1]), torch.tensor([1, 1, 1, 0]), torch.tensor([0, 0, 1, 2]))
        >>> metric.compute()
        tensor(1.3155)
    """

    higher_is_better = False
    plot_upper_bound = None
    loss_sum: Tensor

    def __init__(
        self,
        num_groups: int,
        k: int = 10,
        *,
        rank_by: RankBy = "quantile",
        k_unit: KUnit = "percent",
        score: Score = "error",
        normalize: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_groups, **kwargs)
        check_k(k, rank_by=rank_by, k_unit=k_unit)
        check_choice("score", score, Score)
        if score == "loss" and self.shrink:
            raise InputError("shrink=True shrinks accuracies, and score='loss' looks at losses; give one of them")
        self.k, self.rank_by, self.k_unit, self.score, self.normalize = k, rank_by, k_unit, score, normalize
        if score == "loss":
            self.add_state("loss_sum", torch.zeros(num_groups, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor, group: Tensor, loss: Tensor | None = None) -> None:
        """Count a batch; see the class for shapes.

        Raises:
            InputError: if ``score="loss"`` and there is no loss, or as of ``GroupAccuracy``.
        """
        if self.score == "loss" and (loss is None or loss.shape != group.shape):
            shape = None if loss is None else list(loss.shape)
            raise InputError(f"loss is {shape}; score='loss' needs one per sample, {list(group.shape)}")
        super().update(preds, target, group)
        if self.score == "loss" and loss is not None:
            bounded = loss.float().nan_to_num(nan=LOSS_LIMIT).clamp(-LOSS_LIMIT, LOSS_LIMIT)
            units = (bounded.to(precise(loss)) / LOSS_UNIT).round()
            # Not in place, for a state that was made in inference mode.
            self.loss_sum = self.loss_sum + add_group_sums_(torch.zeros_like(self.loss_sum), units, group)

    def compute(self) -> Tensor:
        """The discounted cumulative gain, float32 scalar."""
        accuracy = self.group_accuracy()
        score = 1 - accuracy
        if self.score == "loss":
            mean = self.loss_sum.to(accuracy.dtype) * LOSS_UNIT / self.count.clamp(min=1)
            score = torch.where(accuracy.isnan(), accuracy, mean)
        value = group_dcg(score, self.k, rank_by=self.rank_by, k_unit=self.k_unit, normalize=self.normalize)
        return value.float()


class GroupCriteria(GroupAccuracy):
    """Several criteria by name from one count; input as of ``GroupAccuracy``.

    As output of ``compute``: criterion to value, each a float32 scalar, ``nan`` where no group is left.

    Args:
        num_groups: number of groups.
        names: criteria by name, a sequence or one string with commas, as ``worst,p10,qdcg25``.
        **kwargs: those of ``GroupAccuracy``.

    Raises:
        InputError: if there is no such criterion.
    """

    higher_is_better = None
    plot_upper_bound = None

    def __init__(self, num_groups: int, names: str | Sequence[str] = DEFAULT_CRITERIA, **kwargs: Any) -> None:
        super().__init__(num_groups, **kwargs)
        listed = names.split(",") if isinstance(names, str) else names
        self.names = tuple(criterion(name).name for name in listed)
        if not self.names:
            raise InputError("names is empty; name at least one criterion, as qdcg10")

    def compute(self) -> dict[str, Tensor]:
        """Criterion to value."""
        values = compute_criteria(self.correct, self.count, self.names, min_count=self.min_count, shrink=self.shrink)
        return {name: value.float() for name, value in values.items()}
