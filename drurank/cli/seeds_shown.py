"""study seeds: one method with all its seeds, in one report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from drurank.criteria import default_criteria
from drurank.errors import InputError, nearest
from drurank.files import write_json
from drurank.report.counts import SplitCounts
from drurank.report.over_seeds import over_seeds, seeds_table
from drurank.run_folder.links import refuse_links
from drurank.splits import TEST
from drurank.study.finished import Study
from drurank.study.folder import SEEDS_FILE
from drurank.study.result import Result
from drurank.terminal import Terminal, say


def show_seeds(folder: str, by: str = "qdcg10", method: str | None = None) -> dict[str, Any]:
    """One method over its seeds on test: mean, standard deviation and interval of each criterion; writes seeds.json.

    Args:
        folder: of a study.
        by: criterion that chose epoch and setting of each seed, on validation.
        method: as qDRU+M; may be left out where the study has one.

    Returns:
        Split to what ``over_seeds`` gives.

    Raises:
        InputError: if the study has no such method, or one seed, or several splits of the data.
    """
    path = Path(folder).expanduser()
    refuse_links(path)
    chosen = Study.load(path).of_repeat(None).chosen(by)
    if method is None and len(chosen) > 1:
        raise InputError(f"{folder} has several methods; give one of {', '.join(chosen)}")
    name = method or next(iter(chosen))
    if name not in chosen:
        raise InputError(f"{folder} has no method {name!r}: {nearest(name, chosen)}")
    report = report_over_seeds(chosen[name], by)
    write_json(path / SEEDS_FILE, {"method": name, "by": by, "splits": report})
    Terminal().print(seeds_table(report))
    say(f"{name}, epochs chosen by {by}; written to {path / SEEDS_FILE}")
    return report


def report_over_seeds(results: list[Result], by: str) -> dict[str, Any]:
    """Split of test to what ``over_seeds`` gives, of the checkpoints that are best by a criterion."""
    names = list(dict.fromkeys([*default_criteria(), by]))
    splits = [split for split in TEST if split in results[0].splits]
    return {split: over_seeds([_summary(result, by, split, names) for result in results]) for split in splits}


def _summary(result: Result, by: str, split: str, names: list[str]) -> dict[str, Any]:
    counts = result.counts(by, split)
    groups = SplitCounts(split, counts.groups, counts.correct, counts.count)
    return groups.summary(names, min_count=result.min_count, shrink=result.shrink)
