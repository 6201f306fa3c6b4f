"""How often intervals over seeds hold the true mean: python benchmarks/seeds.py.

Groups have true accuracies that differ; each seed's model has its own, around those; rows are right by chance, the same
chance with every seed in part. What is to be held is the mean over all seeds of the criterion of the true accuracies.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from rich.progress import track

from drurank.criteria import values_of
from drurank.groups import Groups
from drurank.report.counts import SplitCounts
from drurank.report.over_seeds import over_seeds

NAMES = ("average", "worst", "p10", "qdcg10")
GROUPS, ROWS, SEEDS = 60, 40, 5
MANY = 2000
"""Seeds over which the truth is averaged."""
Truth = Callable[[np.random.Generator], np.ndarray]


def beta(rng: np.random.Generator) -> np.ndarray:
    """Groups that differ moderately."""
    return rng.beta(16, 4, GROUPS)


def alike(rng: np.random.Generator) -> np.ndarray:
    """Groups that are served alike."""
    return np.full(GROUPS, 0.8)


def broken(rng: np.random.Generator) -> np.ndarray:
    """A few groups that are served badly."""
    return np.where(np.arange(GROUPS) < 4, 0.4, 0.85)


def models(
    rng: np.random.Generator, true: np.ndarray, seeds: int, of_all: float, of_each: float, failing: float
) -> np.ndarray:
    """True accuracies by seed and group: moved for all groups, for each, and by 15 points in seeds that fail."""
    moved = of_all * rng.standard_normal((seeds, 1)) + of_each * rng.standard_normal((seeds, len(true)))
    failed = 0.15 * (rng.random((seeds, 1)) < failing)
    return np.clip(true + moved - failed, 0.02, 0.98)


def correct_rows(rng: np.random.Generator, accuracy: np.ndarray, shared: float) -> np.ndarray:
    """Correct rows by seed and group; a share of the rows is hard or easy for all seeds alike."""
    easy = rng.random((accuracy.shape[1], ROWS))
    own = rng.random((*accuracy.shape, ROWS))
    is_shared = rng.random((accuracy.shape[1], ROWS)) < shared
    return (np.where(is_shared, easy, own) < accuracy[..., None]).sum(axis=-1)


def hits(rng: np.random.Generator, truth: Truth, shared: float, **moves: float) -> dict[str, bool]:
    """Whether the interval of each criterion holds the truth, once."""
    true = truth(rng)
    count = np.full(GROUPS, ROWS)
    every = models(rng, true, MANY, **moves)
    expected = {name: float(np.mean(value)) for name, value in values_of(Groups(every), NAMES).items()}
    correct = correct_rows(rng, models(rng, true, SEEDS, **moves), shared)
    summaries = [SplitCounts("test", tuple(map(str, range(GROUPS))), one, count).summary(NAMES) for one in correct]
    found = over_seeds(summaries)["criteria"]
    return {name: found[name]["interval"][0] <= expected[name] <= found[name]["interval"][1] for name in NAMES}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=100)
    times = parser.parse_args().times
    cases = {
        "beta, no chance in training": (beta, 0.5, {"of_all": 0.0, "of_each": 0.0, "failing": 0.0}),
        "beta, all groups move by .02": (beta, 0.5, {"of_all": 0.02, "of_each": 0.0, "failing": 0.0}),
        "beta, each group moves by .05": (beta, 0.5, {"of_all": 0.01, "of_each": 0.05, "failing": 0.0}),
        "beta, rows of each seed their own": (beta, 0.0, {"of_all": 0.01, "of_each": 0.02, "failing": 0.0}),
        "beta, rows the same": (beta, 1.0, {"of_all": 0.01, "of_each": 0.02, "failing": 0.0}),
        "alike": (alike, 0.5, {"of_all": 0.01, "of_each": 0.0, "failing": 0.0}),
        "broken": (broken, 0.5, {"of_all": 0.01, "of_each": 0.02, "failing": 0.0}),
        "one seed in five fails": (beta, 0.5, {"of_all": 0.01, "of_each": 0.02, "failing": 0.2}),
    }
    for title, (truth, shared, moves) in cases.items():
        rng = np.random.default_rng(0)
        found = [hits(rng, truth, shared, **moves) for _ in track(range(times), title, transient=True)]
        print(f"{title:40}", *(f"{name} {np.mean([one[name] for one in found]):.2f}" for name in NAMES))


if __name__ == "__main__":
    main()
