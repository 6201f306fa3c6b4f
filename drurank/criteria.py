"""Criteria of how well groups are served, computed from group counts: what runs log, choose by and report.

The functions take group accuracies ``[..., m]`` of numpy or torch (``nan`` for a group to leave out), and give
``[...]``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace

from drurank.dcg import Array, Ordered, RankBy, accuracy_from_counts, float_like
from drurank.errors import InputError, is_like, nearest
from drurank.spread import shrunk_accuracy

DEFAULT_CRITERIA = ("overall", "average", "worst", "p10", "gdcg10", "gdcg50", "qdcg10", "qdcg50", "tstat")
STANDARD_ERROR_FLOOR = 1e-6


def overall_accuracy(correct: Array, count: Array) -> Array:
    """Accuracy over samples: ``sum(correct) / sum(count)``, int ``[..., m]`` to ``[...]``, ``nan`` without samples."""
    xp = array_namespace(correct, count)
    return accuracy_from_counts(xp.sum(correct, axis=-1), xp.sum(count, axis=-1))  # type: ignore[no-any-return]


def average_group_accuracy(accuracy: Array) -> Array:
    """Mean of the group accuracies."""
    return _of_accuracy(_average, accuracy)


def worst_group_accuracy(accuracy: Array) -> Array:
    """Lowest group accuracy, ``nan`` where no group has one."""
    return _of_accuracy(_worst, accuracy)


def percentile_group_accuracy(accuracy: Array, percentile: float = 10) -> Array:
    """Percentile of the group accuracies with linear interpolation, as ``numpy.percentile``."""
    return _of_accuracy(lambda ordered: _percentile(ordered, percentile), accuracy)


def group_tstat(accuracy: Array) -> Array:
    r"""Mean of the group accuracies over its standard error, :math:`\bar a \sqrt m / s` with ``s`` of ddof 1.

    The standard error is at least 1e-6, and 1e-6 for a single group, so the value is always finite.
    """
    return _of_accuracy(_tstat, accuracy)


def _of_accuracy(function: Callable[[Ordered[Array]], Array], accuracy: Array) -> Array:
    found = function(Ordered.of(accuracy))
    return array_namespace(accuracy).astype(found, float_like(accuracy))  # type: ignore[no-any-return]


def _average(ordered: Ordered[Any]) -> Any:
    xp = array_namespace(ordered.value)
    total = xp.sum(xp.where(ordered.known, ordered.value, 0.0), axis=-1)
    mean = total / xp.clip(xp.astype(ordered.number[..., 0], total.dtype), min=1)
    return xp.where(ordered.number[..., 0] > 0, mean, xp.nan)


def _worst(ordered: Ordered[Any]) -> Any:
    xp = array_namespace(ordered.value)
    return xp.where(ordered.number[..., 0] > 0, ordered.value[..., 0], xp.nan)


def _percentile(ordered: Ordered[Any], percentile: float) -> Any:
    return ordered.share(array_namespace(ordered.value).full_like(ordered.value[..., :1], percentile / 100))[..., 0]


def _tstat(ordered: Ordered[Any]) -> Any:
    xp, mean = array_namespace(ordered.value), _average(ordered)
    m = xp.astype(ordered.number[..., 0], mean.dtype)
    away = xp.where(ordered.known, ordered.value - mean[..., None], 0.0)
    error = xp.sqrt(xp.sum(away * away, axis=-1) / xp.clip(m - 1, min=1) / xp.clip(m, min=1))
    return mean / xp.clip(error, min=STANDARD_ERROR_FLOOR)


def _dcg(ordered: Ordered[Any], k: int, rank_by: RankBy) -> Any:
    # The worst accuracy is the highest error, so errors in descending order need no second sort.
    return Ordered(1 - ordered.value, ordered.number).dcg(k, rank_by=rank_by)


@dataclass(frozen=True)
class Criterion:
    """A criterion by its name, as in ``val_qdcg10``.

    Attributes:
        name: ``overall``, ``average``, ``worst``, ``tstat``, or ``p``, ``gdcg``, ``qdcg`` with a number.
        higher_is_better: which way is up.
        of: computes it from the group accuracies in ascending order; ``None`` for ``overall``, which looks at samples.
    """

    name: str
    higher_is_better: bool
    of: Callable[[Ordered[Any]], Any] | None

    @property
    def mode(self) -> str:
        """``max`` or ``min``, as ModelCheckpoint and EarlyStopping want it."""
        return "max" if self.higher_is_better else "min"


def criterion(name: str) -> Criterion:
    """The criterion of that name.

    Args:
        name: ``overall``, ``average``, ``worst``, ``tstat``, ``p<k>``, ``gdcg<k>`` or ``qdcg<k>`` with ``k`` from 1 to
            100 (percentiles: 1 to 99).

    Raises:
        InputError: if there is none; it names the nearest.
    """
    plain: dict[str, Callable[[Ordered[Any]], Any] | None] = {
        "overall": None,
        "average": _average,
        "worst": _worst,
        "tstat": _tstat,
    }
    if name in plain:
        return Criterion(name, True, plain[name])
    found = re.fullmatch(r"(p|gdcg|qdcg)([1-9]\d*|0)", name)
    if found is None:
        raise InputError(f"there is no criterion {name!r}: {nearest(name, DEFAULT_CRITERIA)}")
    family, k = found[1], int(found[2])
    limit = 99 if family == "p" else 100
    if not 1 <= k <= limit:
        raise InputError(f"criterion {name!r}: the number must be from 1 to {limit}, e.g. {family}10")
    if family == "p":
        return Criterion(name, True, lambda ordered: _percentile(ordered, k))
    rank_by: RankBy = "quantile" if family == "qdcg" else "index"
    return Criterion(name, False, lambda ordered: _dcg(ordered, k, rank_by))


def criteria_of(accuracy: Array, names: Sequence[str], *, overall: Array) -> dict[str, Array]:
    """Several criteria from one sort of the group accuracies.

    Args:
        accuracy: float ``[..., m]``, ``nan`` for a group to leave out.
        names: criteria by name.
        overall: what the criterion of that name is, float ``[...]``.

    Returns:
        Criterion to value, float64 (float32 on MPS) ``[...]``; ``nan`` where no group is left.
    """
    ordered = Ordered.of(accuracy)
    found = {name: criterion(name).of for name in names}
    return {name: overall if of is None else of(ordered) for name, of in found.items()}


def compute_criteria(
    correct: Array,
    count: Array,
    names: Sequence[str] = DEFAULT_CRITERIA,
    *,
    min_count: int = 1,
    shrink: bool = False,
) -> dict[str, Array]:
    """Several criteria from the counts of groups.

    Args:
        correct: samples classified rightly by group, int64 ``[..., m]``, of numpy or torch.
        count: samples by group, int64 ``[..., m]``.
        names: criteria by name.
        min_count: leave out groups with fewer samples; ``overall`` counts every sample all the same.
        shrink: take as a group's accuracy its posterior mean, see :func:`drurank.spread.shrunk_accuracy`.

    Returns:
        Criterion to value, float64 (float32 on MPS) ``[...]``; ``nan`` where no group is left.
    """
    kept = array_namespace(correct, count).where(count >= min_count, count, 0)
    accuracy = (shrunk_accuracy if shrink else accuracy_from_counts)(correct, kept)
    return criteria_of(accuracy, names, overall=overall_accuracy(correct, count))


def key_of(name: str, prefix: str = "val") -> str:
    """The key a criterion is logged under, as ``val_qdcg10``."""
    return f"{prefix}_{name}"


def criterion_of_key(key: str) -> Criterion | None:
    """The criterion a monitored key stands for; ``None`` if the key is none of ours (``val_auroc``, say).

    Raises:
        InputError: if it names a test part, which must not be used to choose, or nearly a criterion.
    """
    if re.match(r"(id_)?test_", key):
        wanted = key.replace("test_", "val_")
        raise InputError(f"monitoring {key!r} would choose by the test data; monitor {wanted!r}")
    found = re.fullmatch(r"(?:id_)?val_(\w+)", key)
    if found is None:
        return None
    is_near = re.match(r"(p|gdcg|qdcg)\d", found[1]) or is_like(found[1], DEFAULT_CRITERIA)
    return criterion(found[1]) if is_near else None
