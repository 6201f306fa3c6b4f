"""Methods side by side: settings chosen on validation, values on test, and what chance does to their differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from drurank.errors import check_choice
from drurank.figures.selecting import figure_in, selectable_criterion
from drurank.groups import STANDARD_ERROR_FLOOR
from drurank.noise import noise_floor
from drurank.study.chosen import OVER_REPEATS, TESTS, Chosen, Test
from drurank.study.constant import answers_of, no_better
from drurank.study.finished import Study
from drurank.study.result import Result
from drurank.study.shipping import recommend
from drurank.study.tables import Cell, Column, Row, StudyTable
from drurank.words import counted, in_percent, joined

CELLS = ("average", "p10", "worst")


def default_cells(by: str, kept: Sequence[str] = ()) -> tuple[str, ...]:
    """The criteria to show if none are named: the one that chooses, the usual ones, and those of the study.

    Args:
        by: criterion that chooses.
        kept: criteria by which the study kept checkpoints.
    """
    return tuple(dict.fromkeys((by, *CELLS, *kept)))


def usual_cells(study: Study, by: str, splits: Sequence[str]) -> tuple[str, ...]:
    """The criteria of a study to show if none are named, without those of which it has no counts on these splits.

    Args:
        study: finished candidates.
        by: criterion that chooses.
        splits: that are shown.
    """
    figures = {name: figure_in(name) for name in default_cells(by, study.results[0].criteria)}
    counted_on = [result.figures_on(split) for result in study for split in splits]
    return tuple(name for name, one in figures.items() if one is None or all(one.name in some for some in counted_on))


def study_table(
    study: Study,
    by: str = "qdcg10",
    *,
    on: str | Sequence[str] | None = None,
    cells: Sequence[str] | None = None,
    test: Test = "paired",
) -> StudyTable:
    """Compare the methods of a study, each with the settings and epochs that a criterion chose.

    Args:
        study: finished candidates.
        by: criterion that chooses setting and epoch of each method, repeat and seed, on validation.
        on: split that is shown, or several; that of groups never seen in training, if not given.
        cells: criteria that are shown; ``by``, the usual ones and those of the study, if not given.
        test: what tells the best from the others on one split: ``paired`` for ``differences_from``, ``t`` for
            ``bootstrapped_t``. Over several repeats of the split it is ``differences_over_repeats``.

    Raises:
        InputError: if the methods have no seed in common, or were tested on other groups.
    """
    check_choice("test", test, Test)
    splits = tuple(on) if on is not None and not isinstance(on, str) else (study.split(on),)
    names = usual_cells(study, by, splits) if cells is None else tuple(cells)
    found: dict[str, dict[Column, Cell]] = {}
    taken = recommend(study, by, study.split(None) if study.split(None) in splits else splits[0])
    floors: list[str] = []
    alike: list[str] = []
    for split in splits:
        side, chosen, lacking = study.side_by_side(by, split)
        for name in names:
            for method, cell in column_cells(side, name, test).items():
                found.setdefault(method, {})[split, name] = cell
            alike += _undecided((split, name), found, of_several=len(splits) > 1)
        floors.extend(_floor(side, taken.method, names, split))
    remarks = [*constant_answers(study, chosen, by, splits), *still_erm(study, chosen, by), *lacking, *study.caveats()]
    if any(np.isnan(cell.mean) for of_method in found.values() for cell in of_method.values()):
        remarks.append("A dash: with some seed the groups do not differ, or none is left, so there is nothing to show.")
    if alike and not side.can_tell:
        remarks.append(
            "Nothing is bold: with one seed, chance in training cannot be told from a difference between methods."
        )
    elif alike:
        how = TESTS[test][1] if side.repeats == 1 else OVER_REPEATS
        remarks.append(f"Not distinguishable from the best ({how}): {'; '.join(alike)}.")
    rows = tuple(_row(method, results, by, found[method]) for method, results in chosen.items())
    said = (*remarks, *floors, *taken.sentences())
    return StudyTable(by, splits, names, side.runs, rows, said, taken.copying, (taken.why, *taken.warnings))


def constant_answers(
    study: Study,
    shown: Mapping[str, Sequence[Result]],
    by: str,
    splits: Sequence[str],
    share: Callable[[float], str] = in_percent,
) -> Iterator[str]:
    """Sentences on which of those that are shown are no better than always answering the commonest class."""
    run = "seed" if len(study.repeats) == 1 else "run"
    for split in dict.fromkeys(map(study.tested, splits)):
        answers = {name: answers_of(results, by, split) for name, results in shown.items()}
        yield from no_better(answers, split, run, share)


def still_erm(study: Study, chosen: Mapping[str, Sequence[Result]], by: str) -> Iterator[str]:
    """A sentence on methods that were chosen at epochs before they reweighted anything."""
    run = "seed" if len(study.repeats) == 1 else "run"
    number = {name: sum(one.has_equal_weights(by) for one in results) for name, results in chosen.items()}
    like = [f"{name} with {n} of {counted(len(chosen[name]), run)}" for name, n in number.items() if n]
    if like:
        how = "Chosen at an epoch at which all weights were still equal, so trained as ERM is up to it"
        yield f"{how}: {joined(like)}."


def _row(method: str, results: Sequence[Result], by: str, cells: dict[Column, Cell]) -> Row:
    epochs = tuple(result.epoch(by) for result in results)
    return Row(method, tuple(result.setting for result in results), epochs, cells)


def column_cells(side: Chosen, name: str, test: Test = "paired") -> dict[str, Cell]:
    """The cells of one column.

    Args:
        side: the chosen candidates of the methods; one with a value that is ``nan`` is not compared.
        name: criterion.
        test: what tells the best from the others.

    Returns:
        Cell by method.
    """
    values = dict(zip(side.methods, side.values(name).tolist(), strict=True))
    means = {method: float(np.mean(one)) for method, one in values.items()}
    known = [method for method, mean in means.items() if not np.isnan(mean)]
    ranked = sorted(known, key=means.__getitem__, reverse=selectable_criterion(name).higher_is_better)
    order = [*ranked, *(method for method in values if method not in known)]
    like = set(known)
    if len(known) > 1 and side.can_tell:
        places = [side.methods.index(method) for method in known]
        found = side.differences(name, known.index(ranked[0]), test, only=places)
        like = {method for method, one in zip(known, found, strict=True) if not one.is_distinguishable}
    is_alone = len(known) == len(values) > 1 and like == {ranked[0]}
    return {
        m: Cell(tuple(values[m]), order.index(m) + 1, m in like, is_alone and m == order[0], is_alone and m == order[1])
        for m in values
    }


def _undecided(column: Column, found: dict[str, dict[Column, Cell]], *, of_several: bool) -> list[str]:
    """The others that may be as good as the best of a column, the better first; nothing if there are none."""
    _, *others = sorted(found, key=lambda method: found[method][column].rank)
    like = [method for method in others if found[method][column].is_like_best]
    return [f"{' '.join(column) if of_several else column[1]}: {', '.join(like)}"] if like else []


def _floor(side: Chosen, method: str, names: Sequence[str], split: str) -> list[str]:
    """What the criteria would be, averaged over runs too, if a method served all groups equally well."""
    names = [name for name in names if figure_in(name) is None and selectable_criterion(name).has_floor]
    if not names:
        return []
    floors = []
    for one, count in side.counted_runs(side.methods.index(method)):
        overall = one.sum() / count.sum()
        drawn = noise_floor(count, overall, names)
        floors.append({name: _median(name, values, overall) for name, values in drawn.items()})
    means = {name: float(np.mean([floor[name] for floor in floors])) for name in names}
    values = ", ".join(
        f"{name} {selectable_criterion(name).shown(mean)}" for name, mean in means.items() if not np.isnan(mean)
    )
    return [f"By chance alone, if {method} served every group of {split} alike: {values}."] if values else []


def _median(name: str, drawn: np.ndarray, overall: float) -> float:
    """Median of what chance alone gives; ``nan`` for a criterion of differences where chance mostly makes none."""
    median = float(np.median(drawn))
    is_limit = selectable_criterion(name).of_differences and median >= overall / STANDARD_ERROR_FLOOR / 2
    return np.nan if is_limit else median
