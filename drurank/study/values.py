"""Values of criteria of counts by group, of accuracy and of other figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from drurank.checks import check_counts
from drurank.criteria import compute_criteria
from drurank.figures.selecting import figure_in, selectable_criterion
from drurank.groups import Groups, accuracies_differ


def value_of(name: str, correct: np.ndarray, count: np.ndarray, *, min_count: int = 1) -> np.ndarray:
    """A criterion of accuracy, or of another figure of whose rows ``correct`` went well, float ``[...]``.

    Args:
        name: of the criterion.
        correct: rows by group that went well, int64 ``[..., m]``.
        count: rows by group, int64 ``[m]``.
        min_count: leave out groups with fewer rows.
    """
    if figure_in(name) is None:
        return np.asarray(compute_criteria(correct, count, [name], min_count=min_count)[name])
    check_counts(correct, count)
    return np.asarray(selectable_criterion(name).of(Groups.of_counts(correct, count, min_count=min_count)))


def shown_values(
    correct: np.ndarray, count: np.ndarray, names: Sequence[str], *, min_count: int
) -> dict[str, np.ndarray]:
    """Values of criteria to show.

    Args:
        correct: correct rows by group, int64 ``[..., m]``.
        count: rows by group, int64 ``[m]``.
        names: criteria.
        min_count: leave out groups with fewer rows.

    Returns:
        Criterion to value, float64 ``[...]``; ``nan`` where no group is left, or where a criterion of differences
        between groups (``tstat``) meets groups that do not differ.
    """
    values = {name: value_of(name, correct, count, min_count=min_count) for name in names}
    differ = accuracies_differ(Groups.of_counts(correct, count, min_count=min_count).accuracy)
    return {
        name: np.where(differ, value, np.nan) if selectable_criterion(name).of_differences else value
        for name, value in values.items()
    }
