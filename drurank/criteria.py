"""Criteria of how well groups are served: what runs log, choose by and report.

A criterion is one object in a registry that metrics, checkpoints, reports, pictures and studies read;
``register_criterion`` adds one of your own.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from array_api_compat import array_namespace, device

from drurank.checks import check_counts
from drurank.dcg import RankBy, precise
from drurank.errors import InputError, check_count, nearest
from drurank.groups import Groups, average, error_dcg, error_ratio, gap, percentile_of, ratio, tstat, worst
from drurank.words import as_names

RESERVED = ("loss",)
"""Names that runs log something else under, as ``val_loss``."""
SUM_UNIT = "discounted sum of errors"
"""Unit of the criteria that add up errors, which are from 0 to 1."""


@dataclass(frozen=True)
class Criterion:
    """A criterion, and all that the package needs to know of it.

    Attributes:
        name: as in ``--select qdcg10`` and in the key ``val_qdcg10``.
        function: its value, float ``[...]``, from ``Groups``, of numpy and of torch alike; ``nan`` without groups.
        higher_is_better: which way is up.
        unit: what it measures, for people; pictures draw criteria of one unit together. Its name, if not given.
        in_percent: whether tables of studies show it in percent.
        has_interval: whether reports show its true value, estimated, with an interval.
        has_floor: whether reports show what chance alone would give.
        of_badly_served: whether it is about the badly served groups, so that reports name it where chance alone would
            give such a value.
        of_samples: whether it counts all samples, whatever their group: it needs no groups, and ``min_count`` and
            ``shrink`` do not apply.
        grows_with_groups: whether it grows with the number of groups, so that splits with different numbers are not
            compared by it.
        of_differences: whether it means nothing where groups do not differ (one group, or all of equal accuracy), so
            that reports leave it out there. With ``shrink`` it is given the observed accuracies all the same.
        is_monotone: whether serving one group better never makes it worse, so that it lies between its values with no
            row and with every row right.
        logged: whether every run logs it and every report shows it, also when not asked for.
        of_errors: what it is of a figure of which less is better, as a false positive rate, where the function is given
            the share that went well: ``complement`` (1 minus it, as for ``worst``), ``same``, the name of the criterion
            that it is there, or nothing if it has no meaning.
        metric: class in ``drurank.metrics`` and its options; one made from ``function``, if not given.
    """

    name: str
    function: Callable[[Groups], Any] = field(repr=False)
    higher_is_better: bool
    unit: str = ""
    in_percent: bool = False
    has_interval: bool = True
    has_floor: bool = True
    of_badly_served: bool = True
    of_samples: bool = False
    grows_with_groups: bool = False
    of_differences: bool = False
    is_monotone: bool = False
    logged: bool = True
    of_errors: str = "same"
    metric: tuple[str, Mapping[str, Any]] | None = None

    @property
    def mode(self) -> str:
        """``max`` or ``min``, as ModelCheckpoint and EarlyStopping want it."""
        return "max" if self.higher_is_better else "min"

    @property
    def sign(self) -> int:
        """1 or -1; times it, more is better."""
        return 1 if self.higher_is_better else -1

    @property
    def better(self) -> str:
        """``higher`` or ``lower``, for people."""
        return "higher" if self.higher_is_better else "lower"

    @property
    def scale(self) -> str:
        """What it measures and which way is up."""
        return f"{self.unit or self.name} ({self.better} is better)"

    def shown(self, value: float) -> str:
        """A value as tables of studies show it."""
        return f"{100 * value:.1f}" if self.in_percent else f"{value:.3f}"

    def largest_difference(self, count: Any) -> float:
        """The largest difference that two may have on the same groups; infinite where it is not ``is_monotone``.

        Args:
            count: rows by group, int64 ``[m]``.
        """
        if not self.is_monotone:
            return math.inf
        none, every = (float(self.of(Groups.of_counts(correct, count))) for correct in (0 * count, count))
        return abs(every - none)

    def of(self, groups: Groups) -> Any:
        """Its value, float64 (float32 on MPS) ``[...]``.

        Raises:
            InputError: if the function fails, or gives something of another shape.
        """
        groups = groups.unshrunk if self.of_differences else groups
        xp, like = array_namespace(groups.accuracy), groups.accuracy
        try:
            value = xp.asarray(self.function(groups), dtype=precise(like), device=device(like))
        except Exception as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(f"criterion {self.name!r} failed ({said}); fix its function") from error
        if value.shape != like.shape[:-1]:
            raise InputError(
                f"criterion {self.name!r} gave an array of {list(value.shape)} for accuracies of {list(like.shape)}; "
                f"its function must reduce the last dimension, as groups.mean(groups.accuracy < 0.8)"
            )
        return value


@dataclass(frozen=True)
class CriterionFamily:
    """Criteria with a number in their name, as ``p10`` and ``p25``.

    Attributes:
        name: what stands before the number.
        of: the criterion of a number.
        limit: the highest number; the lowest is 1.
        logged: numbers that every run logs.
    """

    name: str
    of: Callable[[int], Criterion] = field(repr=False)
    limit: int = 100
    logged: tuple[int, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of those that every run logs, or of an example."""
        return tuple(f"{self.name}{number}" for number in self.logged or (min(10, self.limit),))


_ACCURACY: dict[str, Any] = {
    "higher_is_better": True,
    "unit": "accuracy",
    "in_percent": True,
    "is_monotone": True,
    "of_errors": "complement",
}


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
    member = _member(name)
    if member is not None:
        family, _ = member
        raise InputError(f"criterion {name!r}: the number must be from 1 to {family.limit}, e.g. {family.names[0]}")
    own = "" if _close(name) else "; import the file that registers one of your own first (docs/criteria.md)"
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
    found = re.fullmatch(r"(\w*[A-Za-z_])([1-9]\d*|0)", name, re.ASCII)
    family = _registry.get(found[1]) if found else None
    return (family, int(found[2])) if found and isinstance(family, CriterionFamily) else None


def _close(name: str) -> bool:
    return bool(difflib.get_close_matches(name.lower(), known_names(), n=1))
