"""Criteria of other figures than accuracy, that a run can log and choose by: ``worst-fpr`` is the worst group's."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from drurank.criteria import FIGURE_MARK, SUM_UNIT, Criterion, criterion, find_criterion, known_names
from drurank.errors import InputError, nearest
from drurank.figures import ACCURACY, FIGURES
from drurank.figures.base import COMPLEMENT, Outcomes
from drurank.figures.measures import Measure
from drurank.figures.shares import Share
from drurank.groups import Groups

_ACCURACY_UNIT = criterion("worst").unit
_FIGURES = {name: figure for name, figure in FIGURES.items() if figure is not ACCURACY}


@dataclass(frozen=True, kw_only=True)
class FigureCriterion(Criterion):
    """A criterion of another figure than accuracy; its function takes how good the figure of each group is.

    Attributes:
        figure: which one.
    """

    figure: Share | Measure

    def refuse_shrunk(self) -> None:
        """Refuse to shrink a figure that is no share of rows, whose groups' posterior means take long to find.

        Raises:
            InputError: naming it.
        """
        if not isinstance(self.figure, Share):
            raise InputError(f"shrink=True shrinks shares of rows only, and {self.name!r} is of none; leave one out")

    def of_rows(
        self,
        rows: Outcomes,
        code: np.ndarray,
        groups: int,
        *,
        whole: Outcomes | None = None,
        min_count: int = 1,
        shrink: bool = False,
    ) -> float:
        """Its value for rows that have a group; ``nan`` where no group has enough rows.

        Args:
            rows: what was predicted.
            code: group of each row, int64 ``[n]``, in ``[0, groups)``.
            groups: number of groups.
            whole: each row once, where ``rows`` have it once for each of its groups.
            min_count: leave out groups with fewer rows that the figure is about.
            shrink: take the posterior mean of each group.

        Raises:
            InputError: if a figure that is no share is to be shrunk.
        """
        if isinstance(self.figure, Share):
            about = self.figure.about(rows)
            good = np.bincount(code[about & self.figure.went_well(rows)], minlength=groups)
            count = np.bincount(code[about], minlength=groups)
            of_groups = Groups.of_counts(good, count, min_count=min_count, shrink=shrink)
            if whole is not None:
                of_groups = replace(of_groups, overall=self.figure.went_well(whole)[self.figure.about(whole)].mean())
            return float(self.of(of_groups))
        if shrink:
            self.refuse_shrunk()
        arrays, count = self.figure.prepare(rows), np.bincount(code, minlength=groups)
        value = self.figure.shown(self.figure.of(arrays, code, groups))
        every = arrays if whole is None else self.figure.prepare(whole)
        overall = self.figure.shown(self.figure.of(every, np.zeros(len(every[0]), np.int64), 1))[0]
        return float(self.of(Groups(np.where(count >= min_count, value, np.nan), count, overall)))


def selectable_criterion(name: str) -> Criterion:
    """The criterion of that name, of accuracy or of another figure.

    Args:
        name: as ``qdcg10``, or with a figure, as ``worst-fpr``.

    Raises:
        InputError: if there is none.
    """
    base, between, figure = name.partition(FIGURE_MARK)
    if not between:
        return criterion(name)
    if figure not in _FIGURES:
        raise InputError(f"criterion {name!r}: there is no figure {figure!r}: {nearest(figure, [*_FIGURES])}")
    found = _of_figure(criterion(base), _FIGURES[figure])
    if found is None:
        some = [f"{one}{FIGURE_MARK}{figure}" for one in known_names() if _of_figure(criterion(one), _FIGURES[figure])]
        raise InputError(f"criterion {name!r}: {base} has no meaning for that figure; give one of {', '.join(some)}")
    return found


def figure_in(name: str) -> Share | Measure | None:
    """The figure of a criterion of another one than accuracy; ``None`` for a criterion of accuracy.

    Raises:
        InputError: if there is no such criterion.
    """
    found = selectable_criterion(name)
    return found.figure if isinstance(found, FigureCriterion) else None


def find_selectable(name: str) -> Criterion | None:
    """The criterion of that name, of accuracy or of another figure; ``None`` if there is none."""
    base, between, figure = name.partition(FIGURE_MARK)
    if not between:
        return find_criterion(name)
    of = find_criterion(base)
    return None if of is None or figure not in _FIGURES else _of_figure(of, _FIGURES[figure])


def _of_figure(base: Criterion, figure: Share | Measure) -> FigureCriterion | None:
    made = figure.computed([base.name]).get(base.name)
    if made is None:
        return None
    by = criterion(made)
    is_turned = not figure.higher_is_better and by.of_errors == COMPLEMENT
    units = {_ACCURACY_UNIT: figure.words, SUM_UNIT: f"discounted sum of {figure.summed}"}
    kept = {field.name: getattr(by, field.name) for field in fields(by)}
    return FigureCriterion(
        **{
            **kept,
            "name": f"{base.name}{FIGURE_MARK}{figure.name}",
            "function": (lambda groups: 1 - by.function(groups)) if is_turned else by.function,
            "higher_is_better": by.higher_is_better is not is_turned,
            "unit": units.get(by.unit, f"{by.unit or by.name} ({figure.words})"),
            "in_percent": by.in_percent and figure.is_bounded,
            "logged": False,
            "metric": None,
        },
        figure=figure,
    )
