"""Criteria of how well groups are served, computed from group counts: what runs log, choose by and report.

The functions take group accuracies ``[..., m]`` (``nan`` for a group to leave out) and give ``[...]``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from drurank.errors import InputError, is_like, nearest
from drurank.ranking import RankBy, accuracy_from_counts, group_dcg, group_percentile

DEFAULT_CRITERIA = ("overall", "average", "worst", "p10", "gdcg10", "gdcg50", "qdcg10", "qdcg50", "tstat")
STANDARD_ERROR_FLOOR = 1e-6


def overall_accuracy(correct: Tensor, count: Tensor) -> Tensor:
    """Accuracy over samples: ``sum(correct) / sum(count)``, int ``[..., m]`` to ``[...]``, ``nan`` without samples."""
    return accuracy_from_counts(correct.sum(dim=-1), count.sum(dim=-1))


def average_group_accuracy(accuracy: Tensor) -> Tensor:
    """Mean of the group accuracies."""
    return accuracy.nanmean(dim=-1)


def worst_group_accuracy(accuracy: Tensor) -> Tensor:
    """Lowest group accuracy, ``nan`` where no group has one."""
    lowest = torch.where(accuracy.isnan(), torch.inf, accuracy).amin(dim=-1)
    return torch.where(lowest.isinf(), torch.nan, lowest)


def percentile_group_accuracy(accuracy: Tensor, percentile: float = 10) -> Tensor:
    """Percentile of the group accuracies with linear interpolation, as ``numpy.percentile``."""
    percent = torch.tensor([percentile], device=accuracy.device, dtype=accuracy.dtype)
    return group_percentile(accuracy, percent).squeeze(-1)


def group_tstat(accuracy: Tensor) -> Tensor:
    r"""Mean of the group accuracies over its standard error, :math:`\bar a \sqrt m / s` with ``s`` of ddof 1.

    The standard error is at least 1e-6, and 1e-6 for a single group, so the value is always finite.
    """
    m = (~accuracy.isnan()).sum(dim=-1)
    mean = accuracy.nanmean(dim=-1)
    squares = (accuracy - mean.unsqueeze(-1)).square().nansum(dim=-1)
    error = (squares / (m - 1).clamp(min=1) / m.clamp(min=1)).sqrt()
    return mean / error.clamp(min=STANDARD_ERROR_FLOOR)


@dataclass(frozen=True)
class Criterion:
    """A criterion by its name, as in ``val_qdcg10``.

    Attributes:
        name: ``overall``, ``average``, ``worst``, ``tstat``, or ``p``, ``gdcg``, ``qdcg`` with a number.
        higher_is_better: which way is up.
        of: computes it from correct and count, int64 ``[..., m]``, as float64 ``[...]``.
    """

    name: str
    higher_is_better: bool
    of: Callable[[Tensor, Tensor], Tensor]

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
    plain: dict[str, Callable[[Tensor], Tensor]] = {
        "average": average_group_accuracy,
        "worst": worst_group_accuracy,
        "tstat": group_tstat,
    }
    if name == "overall":
        return Criterion(name, True, overall_accuracy)
    if name in plain:
        return Criterion(name, True, _of_accuracy(plain[name]))
    found = re.fullmatch(r"(p|gdcg|qdcg)([1-9]\d*|0)", name)
    if found is None:
        raise InputError(f"there is no criterion {name!r}: {nearest(name, DEFAULT_CRITERIA)}")
    family, k = found[1], int(found[2])
    limit = 99 if family == "p" else 100
    if not 1 <= k <= limit:
        raise InputError(f"criterion {name!r}: the number must be from 1 to {limit}, e.g. {family}10")
    if family == "p":
        return Criterion(name, True, _of_accuracy(lambda accuracy: percentile_group_accuracy(accuracy, k)))
    rank_by: RankBy = "quantile" if family == "qdcg" else "index"
    return Criterion(name, False, _of_accuracy(lambda accuracy: group_dcg(1 - accuracy, k, rank_by=rank_by)))


def _of_accuracy(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda correct, count: function(accuracy_from_counts(correct, count))


def compute_criteria(
    correct: Tensor, count: Tensor, names: Sequence[str] = DEFAULT_CRITERIA, *, min_count: int = 1
) -> dict[str, Tensor]:
    """Several criteria from the counts of groups.

    Args:
        correct: samples classified rightly by group, int64 ``[..., m]``.
        count: samples by group, int64 ``[..., m]``.
        names: criteria by name.
        min_count: leave out groups with fewer samples; ``overall`` counts every sample all the same.

    Returns:
        Criterion to value, float64 (float32 on MPS) ``[...]``; ``nan`` where no group is left.
    """
    kept = torch.where(count >= min_count, count, 0)
    return {name: criterion(name).of(correct, count if name == "overall" else kept) for name in names}


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
