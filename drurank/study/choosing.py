"""Which criterion chooses well: the paper's experiment on the candidates of any study."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import Literal

import numpy as np

from drurank.criteria import compute_criteria, criterion, default_criteria
from drurank.errors import InputError, check_choice, nearest
from drurank.figures.selecting import figure_in
from drurank.study.concordance import Concordance, concordance
from drurank.study.finished import Study
from drurank.study.result import stacked

DRAWS = 500
ENDS = (5, 95)
TIES = ("tied_pairs", "tied_models")
"""Figures without an interval: groups that are drawn anew break exact ties."""
Checkpoints = Literal["same", "own"]


@dataclass(frozen=True)
class CriterionConcordance:
    """How well one criterion chooses.

    Attributes:
        criterion: its name.
        value: of the candidates as they are.
        low: end of the interval of each figure, 5 %; ``nan`` for ties, since redrawing groups breaks them.
        high: its other end, 95 %, or ``nan``.
    """

    criterion: str
    value: Concordance
    low: Concordance
    high: Concordance


def criteria_concordance(
    study: Study,
    names: Sequence[str] | None = None,
    *,
    checkpoints: Checkpoints = "same",
    by: str | None = None,
    on: str | None = None,
    against: str | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> list[CriterionConcordance]:
    """Compare each criterion's order of all candidates, on validation, with that by the worst group on test.

    As in the paper, every criterion orders the same models: of each candidate the checkpoint that is best by ``by``
    (the paper does not say which epoch its models are of). With ``checkpoints="own"`` each criterion orders its own
    best checkpoints, which is what choosing by it would give. The regret is counted from the best of all checkpoints
    that are compared. Each seed of a setting is a candidate of its own. The intervals are over draws of candidates, and
    of groups of both splits, the same groups for all candidates. Accuracies of groups are taken as they are: the chance
    in them lowers the figures of a criterion that orders well, and no interval shows that.

    Args:
        study: finished candidates, of all seeds.
        names: criteria; all by which checkpoints were kept, if not given. With ``same`` it may be any.
        checkpoints: ``same`` or ``own``.
        by: criterion whose best checkpoint a candidate stands for with ``same``; see ``standing_for``, if not given.
        on: split of the worst group; that of groups never seen in training, if not given.
        against: one of the criteria; the figures of the others are then differences from its own, in the same draws
            (two intervals that overlap do not show that two criteria are alike).
        draws: number of bootstrap draws.
        seed: of the random draws.

    Raises:
        InputError: if there are fewer than three candidates, or they were tested on other groups.
    """
    results, split = list(study), study.split(on)
    if len(results) < 3:
        raise InputError(f"{study.folder} has {len(results)} finished candidates; an order is compared from 3 on")
    kept = [name for name in results[0].criteria if figure_in(name) is None] or default_criteria()
    of_figures = [name for name in names or () if figure_in(name) is not None]
    if of_figures:
        raise InputError(
            f"criteria has {', '.join(of_figures)}, and of other figures than accuracy studies keep no counts by group "
            f"of validation, from which an order could be made; give criteria of accuracy, as {','.join(kept)}"
        )
    names = [criterion(name).name for name in names or kept]
    if against is not None and against not in names:
        raise InputError(f"against is {against!r}, which is not among the criteria: {nearest(against, names)}")
    kept_by = _checkpoint_of(study, names, checkpoints, by)
    validated, tested = (
        {kept: stacked(results, kept, one) for kept in dict.fromkeys(kept_by.values())}
        for one in (study.validation_split, split)
    )
    sizes = len(results), *(len(next(iter(counts.values()))[1]) for counts in (validated, tested))
    compared = partial(_compared, kept_by, validated, tested, study.min_count)
    as_they_are = compared(*(np.arange(size) for size in sizes))
    rng = np.random.default_rng(seed)
    drawn = [compared(*(rng.integers(size, size=size) for size in sizes)) for _ in range(draws)]
    if against is not None:
        as_they_are, *drawn = (_less(found, against) for found in (as_they_are, *drawn))
    return [
        CriterionConcordance(name, found, *_ends([one[name] for one in drawn])) for name, found in as_they_are.items()
    ]


def standing_for(study: Study, by: str | None = None) -> str:
    """The criterion whose best checkpoint a candidate stands for: the given one, else ``qdcg10``, else the first."""
    known = study.results[0].criteria
    return by or ("qdcg10" if "qdcg10" in known else known[0])


def _checkpoint_of(study: Study, names: Sequence[str], checkpoints: Checkpoints, by: str | None) -> dict[str, str]:
    """Criterion to the one whose best checkpoints it orders."""
    check_choice("checkpoints", checkpoints, Checkpoints)
    if checkpoints == "same":
        return dict.fromkeys(names, standing_for(study, by))
    if by is not None:
        raise InputError(f"by={by!r} goes with checkpoints='same'; leave it out")
    return {name: name for name in names}


def _less(found: dict[str, Concordance], against: str) -> dict[str, Concordance]:
    """Figures of all other criteria less those of one."""
    base = asdict(found[against])
    return {
        name: Concordance(**{key: value - base[key] for key, value in asdict(one).items()})
        for name, one in found.items()
        if name != against
    }


def _ends(drawn: list[Concordance]) -> tuple[Concordance, Concordance]:
    table = {field.name: [getattr(one, field.name) for one in drawn] for field in fields(Concordance)}
    table |= {name: [np.nan] for name in TIES}
    with warnings.catch_warnings():
        # Ties have no interval, and a criterion that ties all candidates has no tau in any draw.
        warnings.simplefilter("ignore", RuntimeWarning)
        low, high = (
            Concordance(**{key: float(np.nanpercentile(values, end)) for key, values in table.items()}) for end in ENDS
        )
    return low, high


def _compared(
    kept_by: Mapping[str, str],
    validated: Mapping[str, tuple[np.ndarray, np.ndarray]],
    tested: Mapping[str, tuple[np.ndarray, np.ndarray]],
    min_count: int,
    some: np.ndarray,
    of_val: np.ndarray,
    of_test: np.ndarray,
) -> dict[str, Concordance]:
    """Each criterion on some candidates and groups, by their places, of the checkpoints that it orders."""
    worst = {kept: _value("worst", counts, min_count, some, of_test) for kept, counts in tested.items()}
    best, found = max(float(values.max()) for values in worst.values()), {}
    for name, kept in kept_by.items():
        chosen, is_high = _value(name, validated[kept], min_count, some, of_val), criterion(name).higher_is_better
        found[name] = concordance(chosen, worst[kept], higher_is_better=is_high, best=best)
    return found


def _value(
    name: str, counts: tuple[np.ndarray, np.ndarray], min_count: int, some: np.ndarray, groups: np.ndarray
) -> np.ndarray:
    correct, count = counts[0][some][:, groups], counts[1][groups]
    return np.asarray(compute_criteria(correct, count, [name], min_count=min_count)[name])
