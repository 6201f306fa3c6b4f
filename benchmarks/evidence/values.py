"""What the kept counts say: criteria, the settings that validation chooses, and differences with their intervals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from scipy.stats import t

from benchmarks.evidence.kept import BY, Kept
from drurank.criteria import compute_criteria, criterion
from drurank.study.differences import differences_from

SHOWN = ("average", "p10", "worst", "qdcg10")
SHARES = ("overall", "average", "p10", "worst")
"""Criteria that are shown in percent."""
LEVEL = 0.05
FEWEST = 3
"""Seeds from which Student's interval is shown: criteria come in steps, so two seeds may agree by chance."""


def in_points(name: str, value: np.ndarray | float) -> np.ndarray | float:
    """A criterion as it is shown."""
    return value * 100 if name in SHARES else value


@cache
def with_values(kept: Kept, names: tuple[str, ...] = SHOWN) -> pd.DataFrame:
    """The rows of an experiment with a column for each criterion, in percent where it is a share."""
    parts = []
    for (piece, split), rows in kept.rows.groupby(["piece", "split"]):
        count = kept.counts[piece, split]
        found = compute_criteria(np.stack(list(rows["correct"])).astype(np.int64), count, names)
        parts.append(rows.assign(**{name: in_points(name, np.asarray(found[name])) for name in names}))
    return pd.concat(parts, ignore_index=True)


def splits_of(rows: pd.DataFrame) -> tuple[str, str]:
    """Validation and test."""
    return ("ood_val", "ood_test") if (rows["split"] == "ood_test").any() else ("id_val", "id_test")


def chosen(rows: pd.DataFrame, by: str = BY) -> pd.DataFrame:
    """Of each variant, method and seed the test row of the setting that is best on validation."""
    validation, test = splits_of(rows)
    key = ["piece", "variant", "method", "seed"]
    valid = rows[rows["split"] == validation].sort_values([by, "setting"], ascending=not criterion(by).higher_is_better)
    best = valid.groupby(key, sort=False).head(1)[[*key, "setting"]]
    return best.merge(rows[rows["split"] == test], on=[*key, "setting"])


def option(rows: pd.DataFrame, name: str) -> pd.Series:
    """An option of each candidate, as ``model.cutoff``; nan where it is not set."""
    return rows["options"].map(lambda text: json.loads(text).get(name, np.nan))


@dataclass(frozen=True)
class Interval:
    """A mean over seeds with its interval.

    Attributes:
        mean: of the seeds.
        low: end of the 95 % interval; nan of too few seeds.
        high: its other end.
        seeds: how many.
        told: whether it excludes 0, corrected for how many methods there are.
    """

    mean: float
    low: float
    high: float
    seeds: int
    told: bool = False

    def excludes(self, value: float) -> bool:
        """Whether a value lies outside."""
        return not np.isnan(self.low) and not self.low <= value <= self.high


def over_seeds(values: Sequence[float] | np.ndarray, comparisons: int = 1) -> Interval:
    """Student's interval of a mean over independent seeds; ``told`` is corrected by Bonferroni."""
    values = np.asarray(values, dtype=float)
    mean, seeds = float(values.mean()), len(values)
    if seeds < FEWEST:
        return Interval(mean, np.nan, np.nan, seeds)
    error = values.std(ddof=1) / np.sqrt(seeds)
    half, wide = (t.ppf(1 - LEVEL / 2 / many, seeds - 1) * error for many in (1, comparisons))
    return Interval(mean, mean - half, mean + half, seeds, bool(abs(mean) > wide))


def differences(kept: Kept, best: pd.DataFrame, name: str, base: str = "ERM") -> dict[str, Interval]:
    """Each method less another in one criterion, in the unit that is shown, on one variant.

    Of generated data each seed has rows of its own, so the seeds are a sample; on real data all seeds have the same
    groups, and the paired bootstrap over seeds and groups of ``drurank.study`` counts both.
    """
    methods = [method for method in best["method"].unique() if method != base]
    if best["is_drawn"].all() or best["seed"].nunique() == 1:
        table = best.pivot(index="seed", columns="method", values=name)
        return {method: over_seeds((table[method] - table[base]).dropna(), len(methods)) for method in methods}
    piece, test = best["piece"].iloc[0], best["split"].iloc[0]
    order = [base, *methods]
    by = best.set_index(["method", "seed"])["correct"]
    seeds = sorted(best["seed"].unique())
    correct = np.stack([[by[method, seed] for seed in seeds] for method in order]).astype(np.int64)
    found = differences_from(correct, kept.counts[piece, test], name, 0)
    return {method: _of(found[place], name, len(seeds)) for place, method in enumerate(order) if place}


def _of(difference, name: str, seeds: int) -> Interval:
    """From ERM less the method to the method less ERM."""
    ends = sorted(float(in_points(name, -end)) for end in difference.interval)
    return Interval(float(in_points(name, -difference.value)), *ends, seeds, difference.is_distinguishable)
