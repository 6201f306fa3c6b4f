"""How often intervals of error rates by group hold the truth: python benchmarks/figures.py.

Rates such as false positive rates: low, of few rows in some groups, and of few groups.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product

import numpy as np
from noise import NEAR
from rich.progress import track
from rich.table import Table

import drurank.noise_draws
from drurank.figures import FIGURES
from drurank.report.counts import SplitCounts
from drurank.terminal import Terminal

FPR = FIGURES["fpr"]
NAMES = ("average", "worst", "p10", "gap", "ratio")
GROUPS, ROWS = (5, 20, 100), (20, 100)
TRUTHS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "all .15": lambda rng, groups: np.full(groups, 0.15),
    "beta, mean .10, sd .05": lambda rng, groups: rng.beta(3.5, 31.5, groups),
    "beta, mean .30, sd .10": lambda rng, groups: rng.beta(6, 14, groups),
    "one at .60, others .15": lambda rng, groups: np.where(np.arange(groups) < 1, 0.6, 0.15),
    "a fifth at .45, others .23": lambda rng, groups: np.where(np.arange(groups) < groups / 5, 0.45, 0.23),
    "uniform .02 to .60": lambda rng, groups: rng.uniform(0.02, 0.6, groups),
}


def held(case: tuple[str, int, int], simulations: int) -> list[str]:
    """Percent of simulations in which each interval holds the truth, up to half a row, and its mean width."""
    truth, groups, rows = case
    drurank.noise_draws.THREADS = 1
    hits, widths = [], []
    for run in range(simulations):
        rng = np.random.default_rng([run, groups, rows])
        rate, count = TRUTHS[truth](rng, groups), rng.poisson(rows, groups).clip(2)
        well = count - rng.binomial(count, rate)
        found = SplitCounts("all", [str(g) for g in range(groups)], well, count, figure=FPR).summary(NAMES)["criteria"]
        low, high = np.array([found[name]["interval"] for name in NAMES]).T
        true = [rate.mean(), rate.max(), np.percentile(rate, 90), np.ptp(rate), rate.min() / rate.max()]
        near = NEAR / rows * np.array([1, 1, 1, 1, 1 / rate.max()])
        hits.append((low - near <= true) & (true <= high + near))
        widths.append(high - low)
    cells = [f"{100 * hit:.0f} ({wide:.2f})" for hit, wide in zip(np.mean(hits, 0), np.mean(widths, 0), strict=True)]
    return [f"{groups} of {rows}", truth, *cells]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2, help="processes")
    options = parser.parse_args()
    cases = [(truth, *size) for size in product(GROUPS, ROWS) for truth in TRUTHS]
    table = Table(
        title=f"Percent of {options.simulations} simulations in which the interval holds the truth (its width)"
    )
    for name in ("groups of rows", "true rates", *NAMES):
        table.add_column(name)
    with ProcessPoolExecutor(options.workers) as pool:
        work = pool.map(partial(held, simulations=options.simulations), cases)
        for row in track(work, "Simulating", total=len(cases), transient=True):
            table.add_row(*row)
    Terminal(width=120).print(table)


if __name__ == "__main__":
    main()
