"""What the package needs to know of a criterion, and of a family of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from array_api_compat import array_namespace, device

from drurank.dcg import precise
from drurank.errors import InputError
from drurank.groups import Groups


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

    def shown(self, value: float, more: int = 0) -> str:
        """A value as tables of studies show it, with so many more digits."""
        return f"{100 * value:.{1 + more}f}" if self.in_percent else f"{value:.{3 + more}f}"

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
