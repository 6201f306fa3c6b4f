"""Two methods, settings or candidates of a study, found by their names and compared."""

from __future__ import annotations

from collections.abc import Sequence

from drurank.errors import InputError, nearest
from drurank.study.chosen import Chosen
from drurank.study.comparing import Comparison, compare_chosen
from drurank.study.finished import Study
from drurank.study.result import Result
from drurank.study.tables import in_epochs
from drurank.study.tabulating import constant_answers, usual_cells
from drurank.words import counted, joined


def find(study: Study, name: str) -> Result:
    """The candidate of a key, or of a setting and its seed, as ``DRU cutoff=5 seed=0``.

    Raises:
        InputError: if there is none, or several.
    """
    named: dict[str, list[Result]] = {result.manifest["key"]: [result] for result in study}
    for result in study:
        named.setdefault(result.name, []).append(result)
    if name not in named:
        raise InputError(f"{study.folder} has no finished candidate {name!r}: {nearest(name, named)}")
    if len(named[name]) > 1:
        keys = ", ".join(result.manifest["key"] for result in named[name])
        raise InputError(f"{study.folder} has several candidates {name!r}; give the key of one: {keys}")
    return named[name][0]


def compare_in_study(
    study: Study,
    first: str,
    second: str,
    by: str = "qdcg10",
    on: str | None = None,
    cells: Sequence[str] | None = None,
) -> Comparison:
    """Two methods of a study, or two of its settings or candidates.

    Methods, as tables call them, are compared with the settings that a criterion chose and over all seeds: the test is
    that of the table, among all of its methods. Settings are compared over the seeds that both have.

    Args:
        study: finished candidates.
        first: a method, as ``ERM`` or ``qDRU+M`` (or its class, ``DRU``, where the study has one such method), a
            setting, as ``DRU cutoff=5``, or a candidate, as ``DRU cutoff=5 seed=0`` or by its key.
        second: the other one.
        by: criterion that chooses, on validation.
        on: split; that of groups never seen in training, if not given.
        cells: criteria to compare; ``by``, the usual ones and those of the study, if not given.

    Raises:
        InputError: if there are no such two, or they were tested on other groups.
    """
    split, methods = study.split(on), study.chosen(by)
    first, second = study.method_named(first), study.method_named(second)
    if first == second:
        raise InputError(f"first and second are both {first!r}; name two that differ")
    if first in methods and second in methods:
        side, chosen, lacking = study.side_by_side(by, split)
    else:
        chosen, lacking = _settings_side_by_side(study, (first, second), by), []
        side = Chosen.of(chosen, by, split, study.min_count)
    pair = {name: chosen[name] for name in (first, second)}
    remarks = (*constant_answers(study, pair, by, [split]), *lacking, *study.caveats())
    about = [f"{place}: {_which(pair[name], by)}." for place, name in (("First", first), ("Second", second))]
    what = "Settings and epochs" if {first, second} & set(methods) else "Epochs"
    kept = study.results[0].criteria
    others = [name for name in kept if name != by]
    instead = f"; --by takes {joined(others, 'or')} instead" if others else ""
    about.append(f"{what} are chosen by {by} on validation{instead}.")
    return compare_chosen(side, (first, second), split, cells or usual_cells(study, by, [split]), remarks, about, by)


def _which(results: Sequence[Result], by: str) -> str:
    """Settings and epochs of candidates, as tables have them, with their seeds."""
    seeds, splits = list(dict.fromkeys(one.seed for one in results)), len({one.repeat for one in results})
    of = f"{counted(splits, 'split')} of the data, " if splits > 1 else ""
    chosen = in_epochs([one.setting for one in results], [one.epoch(by) for one in results])
    return f"{chosen} ({of}seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))})"


def _settings_side_by_side(study: Study, names: tuple[str, str], by: str) -> dict[str, list[Result]]:
    found = [_named(study, name, by) for name in names]
    common = {one.run for one in found[0]} & {one.run for one in found[1]}
    if len(found[0]) == len(found[1]) == 1:
        # Two candidates, whatever their seeds.
        results = [found[0][0], found[1][0]]
        if results[0].repeat != results[1].repeat:
            raise InputError(f"{names[0]} and {names[1]} are of different splits of the data; compare like with like")
        return {names[0]: results[:1], names[1]: results[1:]}
    if not common:
        raise InputError(f"{names[0]} and {names[1]} have no seed in common; compare two that have")
    return {name: [one for one in some if one.run in common] for name, some in zip(names, found, strict=True)}


def _named(study: Study, name: str, by: str) -> list[Result]:
    """The candidates of a method, of a setting, or the one of a key or name."""
    chosen = study.chosen(by)
    if name in chosen:
        return chosen[name]
    of_setting = [result for result in study if result.setting == name]
    if of_setting:
        return of_setting
    every = dict.fromkeys((*chosen, *(r.setting for r in study), *(r.name for r in study)))
    try:
        return [find(study, name)]
    except InputError as error:
        if name in every:
            raise
        raise InputError(f"{study.folder} has no method or candidate {name!r}: {nearest(name, every)}") from error
