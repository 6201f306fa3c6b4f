"""One method of a study over its seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from drurank.criteria import default_criteria
from drurank.figures.selecting import figure_in, selectable_criterion
from drurank.report.counts import SplitCounts
from drurank.report.over_seeds import over_seeds
from drurank.splits import TEST
from drurank.study.result import Result


def report_over_seeds(results: Sequence[Result], by: str) -> dict[str, Any]:
    """Criteria of candidates that differ by their seeds.

    Args:
        results: one a seed, on the same split of the data.
        by: criterion whose checkpoint is taken of each.

    Returns:
        Split of test to what ``over_seeds`` gives.

    Raises:
        InputError: if there is one seed, or they were tested on other rows.
    """
    names = list(dict.fromkeys([*default_criteria(), *([by] if figure_in(by) is None else [])]))
    splits = [split for split in TEST if split in results[0].splits]
    found = {split: over_seeds([_summary(result, by, split, names) for result in results]) for split in splits}
    for split, report in found.items():
        report["criteria"] |= _of_figure(results, by, split)
    return found


def _of_figure(results: Sequence[Result], by: str, split: str) -> dict[str, Any]:
    """The criterion that chose, as observed, where it is of another figure that was counted; else nothing."""
    figure = figure_in(by)
    if figure is None or any(figure.name not in result.figures_on(split) for result in results):
        return {}
    values = [result.counts(by, split, figure.name).value(by) for result in results]
    better = selectable_criterion(by).mode
    mean_sd = {"mean": float(np.mean(values)), "sd": float(np.std(values, ddof=1))}
    return {by: {"values": values, **mean_sd, "better": better, "estimate": None, "interval": None, "floor": None}}


def true_intervals(results: Sequence[Result], by: str, split: str, names: list[str]) -> dict[str, list[float] | None]:
    """Where criteria of the true accuracies are, 5 to 95 %; ``None`` for those that have no estimate.

    Those of other figures are left out: reports of a test have their intervals.

    Args:
        results: candidates that differ by their seeds, or one.
        by: criterion whose checkpoint is taken of each.
        split: of the groups.
        names: criteria.
    """
    names = [name for name in names if figure_in(name) is None]
    summaries = [_summary(result, by, split, names) for result in results]
    entries = over_seeds(summaries)["criteria"] if len(summaries) > 1 else summaries[0]["criteria"]
    return {name: entries[name]["interval"] for name in names}


def _summary(result: Result, by: str, split: str, names: list[str]) -> dict[str, Any]:
    counts = result.counts(by, split)
    groups = SplitCounts(split, counts.groups, counts.correct, counts.count)
    return groups.summary(names, min_count=result.min_count, shrink=result.shrink)
