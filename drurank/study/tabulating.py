"""Methods side by side: settings chosen on validation, values on test, and what chance does to their differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from drurank.criteria import criterion
from drurank.errors import InputError, check_choice
from drurank.groups import STANDARD_ERROR_FLOOR
from drurank.noise import noise_floor
from drurank.study.differences import Compare, bootstrapped_t, differences_from
from drurank.study.finished import Study
from drurank.study.result import Result, shown_values, stacked
from drurank.study.tables import Cell, Column, Row, StudyTable

CELLS = ("average", "p10", "worst")
TESTS: dict[str, tuple[Compare, str]] = {
    "paired": (differences_from, "paired bootstrap of seeds and groups, 5 % for all methods of a column together"),
    "t": (bootstrapped_t, "bootstrapped t-test over groups, 5 % for each pair, not corrected for their number"),
}
"""What tells the best from the others, and how a table names it."""
Test = Literal["paired", "t"]


def study_table(
    study: Study,
    by: str = "qdcg10",
    *,
    on: str | Sequence[str] | None = None,
    cells: Sequence[str] = CELLS,
    test: Test = "paired",
) -> StudyTable:
    """Compare the methods of a study, each with the settings and epochs that a criterion chose.

    Args:
        study: finished candidates.
        by: criterion that chooses setting and epoch of each method and seed, on validation.
        on: split that is shown, or several; that of groups never seen in training, if not given.
        cells: criteria that are shown.
        test: what tells the best from the others: ``paired`` for ``differences_from``, ``t`` for ``bootstrapped_t``.

    Raises:
        InputError: if the methods have no seed in common, or were tested on other groups.
    """
    check_choice("test", test, Test)
    splits = tuple(on) if on is not None and not isinstance(on, str) else (study.split(on),)
    chosen, seeds, lacking = _of_common_seeds(study.chosen(by))
    found: dict[str, dict[Column, Cell]] = {method: {} for method in chosen}
    floors, alike = [], []
    for split in splits:
        correct, count = _counts(chosen, by, split)
        kept = count >= study.min_count
        for name, values in shown_values(correct, count, cells, min_count=study.min_count).items():
            of_method = {method: tuple(map(float, one)) for method, one in zip(chosen, values, strict=True)}
            counted = kept | criterion(name).of_samples
            for method, cell in column_cells(name, of_method, correct[:, :, counted], count[counted], test).items():
                found[method][split, name] = cell
            alike += _undecided((split, name), found, of_several=len(splits) > 1)
        best = min(found, key=lambda method: found[method][split, cells[0]].rank)
        floors.extend(_floor(correct[list(found).index(best)][:, kept], count[kept], cells, best, split))
    remarks = [*lacking, *study.caveats()]
    if any(np.isnan(cell.mean) for of_method in found.values() for cell in of_method.values()):
        remarks.append("A dash: with some seed the groups do not differ, or none is left, so there is nothing to show.")
    if alike and len(seeds) == 1:
        remarks.append(
            "Nothing is bold: with one seed, chance in training cannot be told from a difference between methods."
        )
    elif alike:
        remarks.append(f"Not distinguishable from the best ({TESTS[test][1]}): {'; '.join(alike)}.")
    rows = tuple(_row(method, results, by, found[method]) for method, results in chosen.items())
    return StudyTable(by, splits, tuple(cells), seeds, rows, (*remarks, *floors))


def _row(method: str, results: Sequence[Result], by: str, cells: dict[Column, Cell]) -> Row:
    epochs = tuple(int(result.manifest["selection"][by]["epoch"]) for result in results)
    return Row(method, tuple(result.setting for result in results), epochs, cells)


def _of_common_seeds(
    chosen: dict[str, list[Result]],
) -> tuple[dict[str, list[Result]], tuple[int, ...], list[str]]:
    """The chosen results of those seeds that all methods have, these seeds, and sentences about the others."""
    of_method = {method: {result.seed for result in results} for method, results in chosen.items()}
    every, common = set().union(*of_method.values()), set.intersection(*of_method.values())
    lacking = [
        f"Left out: seed {seed}, with which {', '.join(m for m, seeds in of_method.items() if seed not in seeds)} "
        "is not finished."
        for seed in sorted(every - common)
    ]
    if not common:
        raise InputError(f"no seed is finished with every method: {' '.join(lacking)} Run the study to its end")
    kept = {method: [result for result in results if result.seed in common] for method, results in chosen.items()}
    return kept, tuple(sorted(common)), lacking


def _counts(chosen: dict[str, list[Result]], by: str, split: str) -> tuple[np.ndarray, np.ndarray]:
    """Correct rows by method, seed and group, int64 ``[K, S, m]``, and rows by group, ``[m]``."""
    correct, count = stacked([result for results in chosen.values() for result in results], by, split)
    return correct.reshape(len(chosen), -1, len(count)), count


def column_cells(
    name: str,
    values: dict[str, tuple[float, ...]],
    correct: np.ndarray,
    count: np.ndarray,
    test: Test,
) -> dict[str, Cell]:
    """The cells of one column.

    Args:
        name: criterion.
        values: its value by method and seed; a method of which one is ``nan`` is not compared.
        correct: correct rows by method, seed and group, int64 ``[K, S, m]``.
        count: rows by group, int64 ``[m]``.
        test: what tells the best from the others.

    Returns:
        Cell by method.
    """
    means = {method: float(np.mean(one)) for method, one in values.items()}
    known = [method for method, mean in means.items() if not np.isnan(mean)]
    ranked = sorted(known, key=means.__getitem__, reverse=criterion(name).higher_is_better)
    order = [*ranked, *(method for method in values if method not in known)]
    like = set(known)
    if len(known) > 1 and len(values[ranked[0]]) > 1:
        of_known = correct[[method in known for method in values]]
        found = TESTS[test][0](of_known, count, name, known.index(ranked[0]))
        like = {method for method, one in zip(known, found, strict=True) if not one.is_distinguishable}
    is_alone = len(known) == len(values) > 1 and like == {ranked[0]}
    return {
        m: Cell(values[m], order.index(m) + 1, m in like, is_alone and m == order[0], is_alone and m == order[1])
        for m in values
    }


def _undecided(column: Column, found: dict[str, dict[Column, Cell]], *, of_several: bool) -> list[str]:
    """The others that may be as good as the best of a column, the better first; nothing if there are none."""
    _, *others = sorted(found, key=lambda method: found[method][column].rank)
    like = [method for method in others if found[method][column].is_like_best]
    return [f"{' '.join(column) if of_several else column[1]}: {', '.join(like)}"] if like else []


def _floor(correct: np.ndarray, count: np.ndarray, names: Sequence[str], method: str, split: str) -> list[str]:
    """What the criteria would be, averaged over seeds too, if one method served all groups equally well."""
    names = [name for name in names if criterion(name).has_floor]
    if not names:
        return []
    floors = []
    for one in correct:
        overall = one.sum() / count.sum()
        drawn = noise_floor(count, overall, names)
        floors.append({name: _median(name, values, overall) for name, values in drawn.items()})
    means = {name: float(np.mean([floor[name] for floor in floors])) for name in names}
    values = ", ".join(f"{name} {criterion(name).shown(mean)}" for name, mean in means.items() if not np.isnan(mean))
    return [f"By chance alone, if {method} served every group of {split} alike: {values}."] if values else []


def _median(name: str, drawn: np.ndarray, overall: float) -> float:
    """Median of what chance alone gives; ``nan`` for a criterion of differences where chance mostly makes none."""
    median = float(np.median(drawn))
    is_limit = criterion(name).of_differences and median >= overall / STANDARD_ERROR_FLOOR / 2
    return np.nan if is_limit else median
