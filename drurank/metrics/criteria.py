"""Metrics of criteria by name: one, or several from one count."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from torch import Tensor

from drurank.criteria import criterion, names_of
from drurank.errors import InputError
from drurank.groups import Groups
from drurank.metrics.accuracy import GroupAccuracy


class GroupCriterion(GroupAccuracy):
    """A criterion by name, as one that was registered; input as of ``GroupAccuracy``, a scalar as output.

    Args:
        num_groups: number of groups.
        name: of the criterion.
        **kwargs: those of ``GroupAccuracy``.

    Raises:
        InputError: if there is no such criterion.
    """

    plot_lower_bound = None
    plot_upper_bound = None

    def __init__(self, num_groups: int, name: str, **kwargs: Any) -> None:
        super().__init__(num_groups, **kwargs)
        self.name = criterion(name).name

    @property
    def higher_is_better(self) -> bool:  # type: ignore[override]
        """Which way is up."""
        return criterion(self.name).higher_is_better

    def of(self, groups: Groups) -> Tensor:
        """The criterion, float32 scalar, ``nan`` where no group is left."""
        return criterion(self.name).of(groups).float()  # type: ignore[no-any-return]


def criterion_metric(name: str, num_groups: int, **kwargs: Any) -> GroupAccuracy:
    """The metric of a criterion, as ``GroupDCG(num_groups, k=10)`` of ``qdcg10``.

    Args:
        name: of the criterion.
        num_groups: number of groups.
        **kwargs: those of ``GroupAccuracy``.

    Raises:
        InputError: if there is no such criterion.
    """
    found = criterion(name)
    class_name, options = found.metric or ("GroupCriterion", {"name": found.name})
    made: GroupAccuracy = getattr(import_module("drurank.metrics"), class_name)(num_groups, **options, **kwargs)
    return made


class GroupCriteria(GroupAccuracy):
    """Several criteria by name from one count; input as of ``GroupAccuracy``.

    It holds the metric of each criterion, as ``GroupDCG``, which all look at one count and one sort of the groups.

    As output of ``compute``: criterion to value, each a float32 scalar, ``nan`` where no group is left.

    Args:
        num_groups: number of groups.
        names: criteria by name, a sequence or one string with commas, as ``worst,p10,qdcg25``; those that every run
            logs, if not given.
        **kwargs: those of ``GroupAccuracy``.

    Raises:
        InputError: if there is no such criterion, or ``names`` is empty.
    """

    higher_is_better = None
    plot_lower_bound = None
    plot_upper_bound = None

    def __init__(self, num_groups: int, names: str | Sequence[str] | None = None, **kwargs: Any) -> None:
        super().__init__(num_groups, **kwargs)
        # Of one group, since they count nothing themselves: each looks at the groups that were counted here.
        self.metrics = {name: criterion_metric(name, 1) for name in names_of(names)}
        if not self.metrics:
            raise InputError("names is empty; give at least one criterion, as qdcg10")

    @property
    def names(self) -> tuple[str, ...]:
        """The criteria, in their order."""
        return tuple(self.metrics)

    def of(self, groups: Groups) -> dict[str, Tensor]:
        """Criterion to value."""
        return {name: metric.of(groups) for name, metric in self.metrics.items()}
