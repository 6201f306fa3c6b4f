"""Criteria of how well groups are served: what runs log, choose by and report.

A criterion is one object in a registry that metrics, checkpoints, reports, pictures and studies read;
``register_criterion`` adds one of your own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from drurank.checks import check_counts
from drurank.criterion import Criterion, CriterionFamily
from drurank.dcg import RankBy
from drurank.errors import InputError, check_count, nearest
from drurank.groups import Groups, average, error_dcg, error_ratio, gap, percentile_of, ratio, tstat, worst
from drurank.words import as_names

__all__ = [
    "Criterion",
    "CriterionFamily",
    "compute_criteria",
    "criterion",
    "default_criteria",
    "describe_criteria",
    "find_criterion",
    "known_names",
    "names_of",
    "register_criterion",
    "values_of",
]

RESERVED = ("loss",)
"""Names that runs log something else under, as ``val_loss``."""
FIGURE_MARK = "-"
"""Stands between the name of a criterion and another figure than accuracy, as in ``worst-fpr``; no name has it."""
SUM_UNIT = "discounted sum of errors"
"""Unit of the criteria that add up errors, which are from 0 to 1."""

_ACCURACY: dict[str, Any] = {
    "higher_is_better": True,
    "unit": "accuracy",
    "in_percent": True,
    "is_monotone": True,
    "of_errors": "complement",
}
DIGITS = 18
"""Of the number in a criterion's name, beside the first, at the most: no machine counts further."""
_RATIO = "ratio of the lowest and the highest group"


def _percentile_of_groups(k: int) -> Criterion:
    metric = ("PercentileGroupAccuracy", {"percentile": k})
    return Criterion(f"p{k}", partial(percentile_of, percent=k), metric=metric, **_ACCURACY)


def _dcg(name: str, rank_by: RankBy, k: int) -> Criterion:
    return Criterion(
        f"{name}{k}",
        partial(error_dcg, k=k, rank_by=rank_by),
        higher_is_better=False,
        unit=SUM_UNIT,
        grows_with_groups=rank_by == "index",
        is_monotone=True,
        metric=("GroupDCG", {"k": k, "rank_by": rank_by}),
    )


_BUILT_IN: tuple[Criterion | CriterionFamily, ...] = (
    Criterion(
        "overall",
        lambda groups: groups.overall,
        of_badly_served=False,
        of_samples=True,
        metric=("OverallAccuracy", {}),
        **_ACCURACY,
    ),
    Criterion("average", average, of_badly_served=False, metric=("AverageGroupAccuracy", {}), **_ACCURACY),
    Criterion("worst", worst, metric=("WorstGroupAccuracy", {}), **_ACCURACY),
    CriterionFamily("p", _percentile_of_groups, limit=99, logged=(10,)),
    CriterionFamily("gdcg", partial(_dcg, "gdcg", "index"), logged=(10, 50)),
    CriterionFamily("qdcg", partial(_dcg, "qdcg", "quantile"), logged=(10, 50)),
    Criterion(
        "tstat",
        tstat,
        higher_is_better=True,
        unit="mean over standard error",
        # The standard error of true accuracies is 0 where groups do not differ, so the true value may be any.
        has_interval=False,
        of_badly_served=False,
        of_differences=True,
        of_errors="",
        metric=("GroupTStat", {}),
    ),
    Criterion(
        "gap",
        gap,
        higher_is_better=False,
        unit="difference of the best and the worst group",
        in_percent=True,
        grows_with_groups=True,
        logged=False,
    ),
    Criterion("ratio", ratio, higher_is_better=True, unit=_RATIO, logged=False, of_errors="error_ratio"),
    Criterion("error_ratio", error_ratio, higher_is_better=True, unit=_RATIO, logged=False, of_errors="ratio"),
)
_registry: dict[str, Criterion | CriterionFamily] = {entry.name: entry for entry in _BUILT_IN}
"""Every criterion and family of criteria by name."""


def register_criterion(entry: Criterion | CriterionFamily) -> None:
    """Add a criterion, or a family of them, that then works wherever those of the package do.

    One of your own that is registered again replaces the former, as when a notebook's cell is run twice.

    Args:
        entry: what to add.

    Raises:
        InputError: if its name is taken or cannot be one.

    Example:
        >>> register_criterion(Criterion("below80", lambda g: g.mean(g.accuracy < 0.8), higher_is_better=False))
    """
    is_family, name = isinstance(entry, CriterionFamily), entry.name
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) or (is_family and name[-1].isdigit()):
        last = ", the last no digit" if is_family else ""
        raise InputError(f"name is {name!r}; give letters, digits and underscores, the first a letter{last}")
    if _member(name) or name in (*RESERVED, *(known.name for known in _BUILT_IN)):
        raise InputError(f"the name {name!r} is taken; give another one")
    if isinstance(entry, CriterionFamily) and (made := entry.of(entry.limit).name) != f"{name}{entry.limit}":
        raise InputError(f"of({entry.limit}) made a criterion {made!r}; its name must be '{name}{entry.limit}'")
    _registry[name] = entry


def criterion(name: str) -> Criterion:
    """The criterion of that name.

    Args:
        name: as ``worst``, or of a family with a number, as ``qdcg25``.

    Raises:
        InputError: if it is not found; it names the nearest.
    """
    found = find_criterion(name)
    if found is not None:
        return found
    base, of_figure, figure = name.partition(FIGURE_MARK)
    if of_figure and find_criterion(base) is not None:
        raise InputError(
            f"criterion {name!r} is of {figure}, and here only those of accuracy are taken: give {base!r} (a fit's "
            "select, a study and a monitored key take others, and reports take figure=...)"
        )
    member = _member(name)
    if member is not None:
        family, _ = member
        raise InputError(f"criterion {name!r}: the number must be from 1 to {family.limit}, e.g. {family.names[0]}")
    own = "; if it is your own, import the file that registers it first (--import FILE; docs/criteria.md)"
    raise InputError(f"there is no criterion {name!r}: {nearest(name, known_names())}{own}")


def find_criterion(name: str) -> Criterion | None:
    """The criterion of that name; ``None`` if there is none."""
    found, member = _registry.get(name), _member(name)
    if isinstance(found, Criterion):
        return found
    return member[0].of(member[1]) if member is not None and 1 <= member[1] <= member[0].limit else None


def known_names() -> tuple[str, ...]:
    """Names of all criteria; of a family, those that every run logs, or of an example."""
    return tuple(
        name
        for entry in _registry.values()
        for name in (entry.names if isinstance(entry, CriterionFamily) else (entry.name,))
    )


def default_criteria(*, grouped: bool = True) -> tuple[str, ...]:
    """Names of the criteria that every run logs.

    Args:
        grouped: whether the data has groups; without, only those that need none.
    """
    names: list[str] = []
    for entry in _registry.values():
        if isinstance(entry, CriterionFamily):
            names += [f"{entry.name}{number}" for number in entry.logged]
        elif entry.logged:
            names.append(entry.name)
    return tuple(name for name in names if grouped or criterion(name).of_samples)


def describe_criteria() -> str:
    """All criteria in a line, for a help text."""
    *families, last = (entry.name for entry in _registry.values() if isinstance(entry, CriterionFamily))
    return f"{', '.join(known_names())}; {', '.join(families)} and {last} take any number, e.g. p25"


def values_of(groups: Groups, names: Sequence[str]) -> dict[str, Any]:
    """Several criteria from one sort of the group accuracies.

    Args:
        groups: the groups.
        names: criteria by name.

    Returns:
        Criterion to value, float64 (float32 on MPS) ``[...]``; ``nan`` where no group is left.
    """
    return {name: criterion(name).of(groups) for name in names}


def compute_criteria(
    correct: Any, count: Any, names: str | Sequence[str] | None = None, *, min_count: int = 1, shrink: bool = False
) -> dict[str, Any]:
    """Several criteria from the counts of groups; waits for the device.

    Args:
        correct: samples classified correctly by group, int64 ``[..., m]``, of numpy or torch.
        count: samples by group, int64 ``[..., m]``.
        names: criteria by name, a sequence or one string with commas; those that every run logs, if not given.
        min_count: leave out groups with fewer samples; ``overall`` counts every sample all the same.
        shrink: take as a group's accuracy its posterior mean, see :func:`drurank.spread.shrunk_accuracy`; ``tstat``
            does not, since it measures how groups differ.

    Returns:
        Criterion to value, float64 (float32 on MPS) ``[...]``; ``nan`` where no group is left.

    Raises:
        InputError: if there is no such criterion, ``min_count`` is not an int of 1 or more, or ``correct`` and
            ``count`` are not counts of the same groups.
    """
    check_counts(correct, count)
    check_count("min_count", min_count)
    return values_of(Groups.of_counts(correct, count, min_count=min_count, shrink=shrink), names_of(names))


def names_of(names: str | Sequence[str] | None) -> tuple[str, ...]:
    """Names of criteria as a tuple.

    Args:
        names: a sequence, or one string with commas, as ``worst,p10``; those that every run logs, if ``None``.
    """
    return default_criteria() if names is None else tuple(as_names(names))


def _member(name: str) -> tuple[CriterionFamily, int] | None:
    """Family and number that a name is made of."""
    found = re.fullmatch(rf"(\w*[A-Za-z_])([1-9]\d{{0,{DIGITS}}}|0)", name, re.ASCII)
    family = _registry.get(found[1]) if found else None
    return (family, int(found[2])) if found and isinstance(family, CriterionFamily) else None
