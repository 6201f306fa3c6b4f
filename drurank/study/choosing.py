"""Which criterion chooses well: the paper's experiment on the candidates of any study."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace

import numpy as np

from drurank.criteria import compute_criteria, criterion
from drurank.errors import InputError, nearest
from drurank.study.results import Study, stacked
from drurank.study.statistics import Concordance, concordance

DRAWS = 500
ENDS = (5, 95)
VALIDATION = ("ood_val", "val", "id_val")


@dataclass(frozen=True)
class CriterionConcordance:
    """How well one criterion chooses.

    Attributes:
        criterion: its name.
        value: of the candidates as they are.
        low: end of the interval of each figure, 5 %.
        high: its other end, 95 %.
    """

    criterion: str
    value: Concordance
    low: Concordance
    high: Concordance


def criteria_concordance(
    study: Study,
    names: Sequence[str] | None = None,
    *,
    on: str | None = None,
    against: str | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> list[CriterionConcordance]:
    """Compare each criterion's order of all candidates, on validation, with that by the worst group on test.

    For each criterion a candidate stands for its best checkpoint by that criterion; the regret is counted from the best
    of all these checkpoints. Each seed of a setting is a candidate of its own. The intervals are over draws of
    candidates, and of groups of both splits, the same groups for all candidates. Accuracies of groups are taken as they
    are: the chance in them lowers the figures of a criterion that orders well, and no interval shows that.

    Args:
        study: finished candidates, of all seeds.
        names: criteria; all by which checkpoints were kept, if not given.
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
    before = next((name for name in VALIDATION if name in results[0].splits), None)
    if before is None:
        raise InputError(f"{results[0].folder} has no counts on validation, only on {', '.join(results[0].splits)}")
    names = list(names or results[0].criteria)
    if against is not None and against not in names:
        raise InputError(f"against is {against!r}, which is not among the criteria: {nearest(against, names)}")
    validated = {name: stacked(results, name, before) for name in names}
    tested = {name: stacked(results, name, split) for name in names}
    sizes = len(results), *(next(iter(counts.values()))[0].shape[1] for counts in (validated, tested))
    as_they_are = _compared(validated, tested, *(np.arange(size) for size in sizes))
    rng = np.random.default_rng(seed)
    drawn = [_compared(validated, tested, *(rng.integers(size, size=size) for size in sizes)) for _ in range(draws)]
    if against is not None:
        as_they_are, *drawn = (_less(found, against) for found in (as_they_are, *drawn))
    return [
        CriterionConcordance(name, found, *_ends([one[name] for one in drawn])) for name, found in as_they_are.items()
    ]


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
    with warnings.catch_warnings():
        # Where a criterion ties all candidates there is no tau in any draw.
        warnings.simplefilter("ignore", RuntimeWarning)
        low, high = (
            Concordance(**{key: float(np.nanpercentile(values, end)) for key, values in table.items()}) for end in ENDS
        )
    return low, high


def _compared(
    validated: Mapping[str, tuple[np.ndarray, ...]],
    tested: Mapping[str, tuple[np.ndarray, ...]],
    some: np.ndarray,
    of_val: np.ndarray,
    of_test: np.ndarray,
) -> dict[str, Concordance]:
    """Each criterion on some candidates and groups, by their places."""
    worst = {name: _value("worst", counts, some, of_test) for name, counts in tested.items()}
    best, found = max(float(values.max()) for values in worst.values()), {}
    # A candidate that is drawn twice is no tie with itself.
    once = np.unique(some, return_index=True)[1]
    for name, counts in validated.items():
        chosen, is_high = _value(name, counts, some, of_val), criterion(name).mode == "max"
        one = concordance(chosen, worst[name], higher_is_better=is_high, best=best)
        if 1 < len(once) < len(some):
            ties = concordance(chosen[once], worst[name][once], higher_is_better=is_high).ties
            one = replace(one, ties=ties)
        found[name] = one
    return found


def _value(name: str, counts: tuple[np.ndarray, ...], some: np.ndarray, groups: np.ndarray) -> np.ndarray:
    correct, count = (array[some][:, groups] for array in counts)
    return np.asarray(compute_criteria(correct, count, [name])[name])
