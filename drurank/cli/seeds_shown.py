"""study seeds: one method with all its seeds, in one report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from drurank.errors import InputError, nearest
from drurank.files import refuse_existing, write_json
from drurank.report.over_seeds import seeds_table
from drurank.study.constant import answers_of, unbeaten
from drurank.study.finished import Study
from drurank.study.folder import SEEDS_FILE, files_read
from drurank.study.seeds import report_over_seeds
from drurank.study.shipping import to_try
from drurank.study.tabulating import constant_answers, still_erm
from drurank.terminal import Terminal, say
from drurank.words import counted, in_digits


def show_seeds(folder: str, by: str = "qdcg10", method: str | None = None) -> dict[str, Any]:
    """One method over its seeds on test: mean, standard deviation and interval of each criterion; writes seeds.json.

    Args:
        folder: of a study.
        by: criterion that chose epoch and setting of each seed, on validation.
        method: as qDRU+M, or its class, as DRU; may be left out where the study has one.

    Returns:
        Split to what ``over_seeds`` gives.

    Raises:
        InputError: if the study has no such method, or one seed, or several splits of the data.
    """
    path = Path(folder).expanduser()
    study = Study.load(path).of_repeat(None)
    chosen = study.chosen(by)
    if method is None and len(chosen) > 1:
        raise InputError(f"{folder} has several methods; give one of {', '.join(chosen)}")
    name = next(iter(chosen)) if method is None else study.method_named(method)
    if name not in chosen:
        raise InputError(f"{folder} has no method {name!r}: {nearest(name, chosen)}")
    refuse_existing([path / SEEDS_FILE], overwrite=True, inputs=files_read(path), of=path)
    report = report_over_seeds(chosen[name], by)
    write_json(path / SEEDS_FILE, {"method": name, "by": by, "splits": report})
    Terminal().print_table(seeds_table(report))
    answers = [one for split in report for one in answers_of(chosen[name], by, split)]
    like = list(constant_answers(study, {name: chosen[name]}, by, list(report), in_digits))
    first = sum(one.epoch(by) == 0 for one in chosen[name])
    at_first = [f"Best on validation at epoch 0, the first: {first} of {counted(len(chosen[name]), 'seed')}."]
    for sentence in (*like, *still_erm(study, {name: chosen[name]}, by), *(at_first if first else ())):
        say(sentence)
    if first or any(map(unbeaten, answers)):
        say(to_try(study, chosen[name], by))
    say(f"{name}, epochs chosen by {by}; written to {path / SEEDS_FILE}")
    return report
