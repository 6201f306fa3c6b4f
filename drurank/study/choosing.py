"""Which criterion chooses well: the paper's experiment on the candidates of any study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from drurank.criteria import compute_criteria, criterion
from drurank.errors import InputError
from drurank.study.results import Result, Study
from drurank.study.statistics import Concordance, concordance

DRAWS = 500
ENDS = (5, 95)
VALIDATION = ("ood_val", "val", "id_val")


@dataclass(frozen=True)
class Choice:
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


def choices(
    study: Study, names: Sequence[str] | None = None, *, on: str = "ood_test", draws: int = DRAWS, seed: int = 0
) -> list[Choice]:
    """Compare each criterion's order of all candidates, on validation, with that by the worst group on test.

    A candidate is, for each criterion, the checkpoint that it kept by that criterion. The intervals are over draws of
    candidates, and of groups of both splits, the same groups for all candidates.

    Args:
        study: its candidates, seeds included.
        names: criteria; all that kept checkpoints, if not given.
        on: split of the worst group.
        draws: of the bootstrap.
        seed: of the draws.

    Raises:
        InputError: if there are fewer than three candidates, or they were tested on other groups.
    """
    results = list(study)
    if len(results) < 3:
        raise InputError(f"{study.folder} has {len(results)} finished candidates; an order is compared from 3 on")
    return [_choice(results, name, on, draws, seed) for name in names or results[0].criteria]


def _choice(results: list[Result], name: str, on: str, draws: int, seed: int) -> Choice:
    validated, tested = _counts(results, name, None), _counts(results, name, on)
    rng, found = np.random.default_rng(seed), []
    groups = validated[0].shape[1], tested[0].shape[1]
    for _ in range(draws):
        some, of_val, of_test = (rng.integers(size, size=size) for size in (len(results), *groups))
        if len(np.unique(some)) > 1:
            found.append(_compared(name, validated, tested, some, of_val, of_test))
    as_they_are = _compared(name, validated, tested, *(np.arange(size) for size in (len(results), *groups)))
    table = {key: [asdict(one)[key] for one in found] for key in asdict(found[0])}
    low, high = (
        Concordance(**{key: float(np.nanpercentile(values, end)) for key, values in table.items()}) for end in ENDS
    )
    return Choice(name, as_they_are, low, high)


def _compared(
    name: str,
    validated: tuple[np.ndarray, np.ndarray],
    tested: tuple[np.ndarray, np.ndarray],
    some: np.ndarray,
    of_val: np.ndarray,
    of_test: np.ndarray,
) -> Concordance:
    correct, count = (part[some][:, of_val] for part in validated)
    chosen = np.asarray(compute_criteria(correct, count, [name])[name])
    correct, count = (part[some][:, of_test] for part in tested)
    worst = np.asarray(compute_criteria(correct, count, ["worst"])["worst"])
    found = concordance(chosen, worst, better=criterion(name).mode)
    # A candidate that is drawn twice is no tie with itself.
    once = np.unique(some, return_index=True)[1]
    return replace(found, ties=concordance(chosen[once], worst[once], better=criterion(name).mode).ties)


def _counts(results: list[Result], by: str, split: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Correct and seen by candidate and group, int64 ``[n, m]`` each; of validation, if no split is named."""
    splits = [split] if split else [name for name in VALIDATION if name in results[0].splits]
    counts = [result.counts(by, splits[0]) for result in results]
    for one, result in zip(counts, results, strict=True):
        if one.groups != counts[0].groups:
            raise InputError(f"{result.folder} has other groups of {splits[0]} than others; compare like with like")
    return np.stack([one.correct for one in counts]), np.stack([one.count for one in counts])
