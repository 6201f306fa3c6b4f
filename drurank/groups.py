"""Groups as criteria see them, and what criteria compute from them.

Arrays are those of numpy or torch, ``[..., m]`` for ``m`` groups with any leading dimensions; a group that is left out
is ``nan``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from array_api_compat import array_namespace

from drurank.checks import check_array, check_counts
from drurank.dcg import Array, KUnit, Ordered, RankBy, accuracy_from_counts, float_like
from drurank.errors import check_number
from drurank.spread import shrunk_accuracy

STANDARD_ERROR_FLOOR = 1e-6


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups as a criterion sees them; any leading dimensions.

    Attributes:
        accuracy: accuracy by group, float64 (float32 on MPS) ``[..., m]``, ``nan`` for a group that is left out.
        count: samples by group, int ``[..., m]`` or ``[m]``; ``None`` where only accuracies are known.
        overall: accuracy over all samples, float ``[...]``; ``None`` where only accuracies are known.
        observed: accuracy by group before it was shrunk, as ``accuracy``; ``None`` where it was not.
    """

    accuracy: Any
    count: Any = None
    overall: Any = None
    observed: Any = None

    @classmethod
    def of_counts(cls, correct: Any, count: Any, *, min_count: int = 1, shrink: bool = False) -> Groups:
        """Groups by their counts, which are not checked.

        Args:
            correct: samples classified correctly by group, int64 ``[..., m]``.
            count: samples by group, int64 ``[..., m]``.
            min_count: leave out groups with fewer samples; ``overall`` counts every sample all the same.
            shrink: take as a group's accuracy its posterior mean, see :func:`drurank.spread.shrunk_accuracy`.
        """
        kept = array_namespace(correct, count).where(count >= min_count, count, 0)
        observed, overall = accuracy_from_counts(correct, kept), _overall(correct, count)
        return (
            cls(shrunk_accuracy(correct, kept), count, overall, observed) if shrink else cls(observed, count, overall)
        )

    @property
    def unshrunk(self) -> Groups:
        """The same groups with the accuracies that were observed; shrinking takes away how groups differ."""
        return self if self.observed is None else self._of_observed

    @cached_property
    def _of_observed(self) -> Groups:
        # Groups never keep themselves, so that those of a draw are gone with it.
        return Groups(self.observed, self.count, self.overall)

    @cached_property
    def ordered(self) -> Ordered[Any]:
        """Accuracies in ascending order, sorted once for all criteria."""
        return Ordered.of(self.accuracy)

    def mean(self, value: Any) -> Any:
        """Mean of a value over the groups that are not left out.

        Args:
            value: by group, bool or a number, ``[..., m]``, as ``groups.accuracy < 0.8``.

        Returns:
            Float ``[...]``, ``nan`` where no group is left.
        """
        xp, known = array_namespace(self.accuracy), ~array_namespace(self.accuracy).isnan(self.accuracy)
        number = xp.sum(xp.astype(known, self.accuracy.dtype), axis=-1)
        total = xp.sum(xp.where(known, xp.astype(value, self.accuracy.dtype), 0.0), axis=-1)
        return xp.where(number > 0, total / xp.clip(number, min=1), xp.nan)


# ---- the criteria as functions of groups


def average(groups: Groups) -> Any:
    """Mean of the group accuracies."""
    ordered, xp = groups.ordered, array_namespace(groups.accuracy)
    total = xp.sum(xp.where(ordered.known, ordered.value, 0.0), axis=-1)
    mean = total / xp.clip(xp.astype(ordered.number[..., 0], total.dtype), min=1)
    return xp.where(ordered.number[..., 0] > 0, mean, xp.nan)


def worst(groups: Groups) -> Any:
    """Lowest group accuracy."""
    ordered, xp = groups.ordered, array_namespace(groups.accuracy)
    return xp.where(ordered.number[..., 0] > 0, ordered.value[..., 0], xp.nan)


def percentile_of(groups: Groups, percent: float) -> Any:
    """Percentile of the group accuracies."""
    value = groups.ordered.value
    return groups.ordered.share(array_namespace(value).full_like(value[..., :1], percent / 100))[..., 0]


def gap(groups: Groups) -> Any:
    """Highest group accuracy less the lowest."""
    return percentile_of(groups, 100) - worst(groups)


def ratio(groups: Groups) -> Any:
    """Lowest group accuracy over the highest; 1 where all are 0."""
    return _ratio(worst(groups), percentile_of(groups, 100))


def error_ratio(groups: Groups) -> Any:
    """Lowest group error over the highest; 1 where all are 0."""
    return _ratio(1 - percentile_of(groups, 100), 1 - worst(groups))


def _ratio(low: Any, high: Any) -> Any:
    xp = array_namespace(low)
    return xp.where(high == 0, 1.0, low / xp.where(high == 0, 1.0, high))


def tstat(groups: Groups) -> Any:
    """Mean of the group accuracies over its standard error."""
    xp = array_namespace(groups.accuracy)
    return average(groups) / xp.clip(_standard_error(groups), min=STANDARD_ERROR_FLOOR)


def accuracies_differ(accuracy: Any) -> Any:
    """Whether group accuracies differ, so that ``tstat`` means something.

    Args:
        accuracy: float ``[..., m]``, ``nan`` for a group that is left out.

    Returns:
        Bool ``[...]``; false for a single group, or none.
    """
    return _standard_error(Groups(accuracy)) > STANDARD_ERROR_FLOOR


def _standard_error(groups: Groups) -> Any:
    """Of the mean of the group accuracies, ``[...]``; 0 for a single group."""
    ordered, xp, mean = groups.ordered, array_namespace(groups.accuracy), average(groups)
    m = xp.astype(ordered.number[..., 0], mean.dtype)
    away = xp.where(ordered.known, ordered.value - mean[..., None], 0.0)
    return xp.sqrt(xp.sum(away * away, axis=-1) / xp.clip(m - 1, min=1) / xp.clip(m, min=1))


def error_dcg(
    groups: Groups, k: int, rank_by: RankBy = "quantile", k_unit: KUnit = "percent", normalize: bool = False
) -> Any:
    """Discounted cumulative gain of the errors of the worst groups, see :func:`drurank.dcg.group_dcg`."""
    # The worst accuracy is the highest error, so errors in descending order need no second sort.
    errors = Ordered(1 - groups.ordered.value, groups.ordered.number)
    return errors.dcg(k, rank_by=rank_by, k_unit=k_unit, normalize=normalize)


# ---- the same as functions of accuracies or counts, each the twin of a metric


def overall_accuracy(correct: Array, count: Array) -> Array:
    """Accuracy over samples, ``sum(correct) / sum(count)``; waits for the device.

    Args:
        correct: samples classified correctly by group, int ``[..., m]``.
        count: samples by group, int ``[..., m]``.

    Returns:
        Float64 (float32 on MPS) ``[...]``, ``nan`` without samples.

    Raises:
        InputError: if they are not counts of the same groups.
    """
    check_counts(correct, count)
    return _overall(correct, count)


def average_group_accuracy(accuracy: Array) -> Array:
    """Mean of the group accuracies.

    Args:
        accuracy: ``[..., m]``, ``nan`` for a group to leave out.

    Returns:
        Dtype of ``accuracy`` but at least float32, ``[...]``, ``nan`` where no group has one.

    Raises:
        InputError: if ``accuracy`` is not an array ``[..., m]``.
    """
    return _of_accuracy(average, accuracy)


def worst_group_accuracy(accuracy: Array) -> Array:
    """Lowest group accuracy; takes, gives and refuses what ``average_group_accuracy`` does."""
    return _of_accuracy(worst, accuracy)


def percentile_group_accuracy(accuracy: Array, percentile: float = 10) -> Array:
    """Percentile of the group accuracies with linear interpolation, as ``numpy.percentile``.

    Args:
        accuracy: ``[..., m]``, ``nan`` for a group to leave out.
        percentile: which one, from 0 to 100.

    Returns:
        Dtype of ``accuracy`` but at least float32, ``[...]``, ``nan`` where no group has one.

    Raises:
        InputError: if ``accuracy`` is not an array ``[..., m]``, or ``percentile`` is out of range.
    """
    check_number("percentile", percentile, 0, 100)
    return _of_accuracy(lambda groups: percentile_of(groups, percentile), accuracy)


def group_tstat(accuracy: Array) -> Array:
    r"""Mean of the group accuracies over its standard error, :math:`\bar a \sqrt m / s` with ``s`` of ddof 1.

    The standard error is at least 1e-6, and 1e-6 for a single group, so the value is always finite. Takes, gives and
    refuses what ``average_group_accuracy`` does.
    """
    return _of_accuracy(tstat, accuracy)


def _of_accuracy(function: Callable[[Groups], Any], accuracy: Array) -> Array:
    check_array("accuracy", accuracy)
    return array_namespace(accuracy).astype(function(Groups(accuracy)), float_like(accuracy))  # type: ignore[no-any-return]


def _overall(correct: Array, count: Array) -> Array:
    xp = array_namespace(correct, count)
    return accuracy_from_counts(xp.sum(correct, axis=-1), xp.sum(count, axis=-1))  # type: ignore[no-any-return]
