"""One number each from the accuracies of groups."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from drurank.errors import check_number
from drurank.groups import Groups, average, percentile_of, tstat, worst
from drurank.metrics.accuracy import GroupAccuracy


class OverallAccuracy(GroupAccuracy):
    """Accuracy over samples, whatever their group; input and arguments as of ``GroupAccuracy``, a scalar as output."""

    def of(self, groups: Groups) -> Tensor:
        """Accuracy, float32 scalar, ``nan`` without samples; ``min_count`` does not apply."""
        return groups.overall.float()  # type: ignore[no-any-return]


class AverageGroupAccuracy(GroupAccuracy):
    """Mean of the group accuracies; input and arguments as of ``GroupAccuracy``, a scalar as output."""

    def of(self, groups: Groups) -> Tensor:
        """Mean, float32 scalar, ``nan`` without groups."""
        return average(groups).float()  # type: ignore[no-any-return]


class WorstGroupAccuracy(GroupAccuracy):
    """Lowest group accuracy; input and arguments as of ``GroupAccuracy``, a scalar as output.

    Example:
        >>> import torch
        >>> metric = WorstGroupAccuracy(num_groups=2)
        >>> metric.update(torch.tensor([1, 0, 1]), torch.tensor([1, 1, 1]), torch.tensor([1, 1, 0]))
        >>> metric.compute()
        tensor(0.5000)
    """

    def of(self, groups: Groups) -> Tensor:
        """Lowest accuracy, float32 scalar, ``nan`` without groups."""
        return worst(groups).float()  # type: ignore[no-any-return]


class PercentileGroupAccuracy(GroupAccuracy):
    """Percentile of the group accuracies with linear interpolation; a scalar as output.

    Args:
        num_groups: number of groups.
        percentile: which one, from 0 (the worst group) to 100.
        **kwargs: those of ``GroupAccuracy``.

    Raises:
        InputError: if ``percentile`` is out of range.
    """

    def __init__(self, num_groups: int, percentile: float = 10, **kwargs: Any) -> None:
        super().__init__(num_groups, **kwargs)
        check_number("percentile", percentile, 0, 100)
        self.percentile = percentile

    def of(self, groups: Groups) -> Tensor:
        """Percentile, float32 scalar, ``nan`` without groups."""
        return percentile_of(groups, self.percentile).float()  # type: ignore[no-any-return]


class GroupTStat(GroupAccuracy):
    """Mean of the group accuracies over its standard error; input as of ``GroupAccuracy``, a scalar as output.

    With ``shrink`` it is that of the observed accuracies all the same: shrinking takes away the differences that it
    measures.
    """

    plot_upper_bound = None

    def of(self, groups: Groups) -> Tensor:
        """The statistic, float32 scalar, finite where there is a group."""
        return tstat(groups.unshrunk).float()  # type: ignore[no-any-return]
