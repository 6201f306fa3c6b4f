"""How often intervals of weighted rows hold the truth, with weights that have and have not to do with the outcome.

python benchmarks/weights.py
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from noise import NEAR
from rich.progress import track
from rich.table import Table
from scipy.stats import norm

import drurank.noise_draws
from drurank.report.counts import SplitCounts
from drurank.report.weights import Weights
from drurank.terminal import Terminal

NAMES = ("overall", "average", "worst", "p10", "gap")
SIZES = ((10, 30), (30, 60), (100, 40))
TRUTHS = {
    "all .85": lambda rng, groups: np.full(groups, 0.85),
    "beta, mean .70, sd .10": lambda rng, groups: rng.beta(14, 6, groups),
    "one at .40, others .85": lambda rng, groups: np.where(np.arange(groups) < 1, 0.4, 0.85),
}
WEIGHTS = {
    "1, unrelated": (1.0, 0.0, 1.0),
    "1, heavy rows right": (1.0, 0.7, 1.0),
    "1, heavy rows wrong": (1.0, -0.7, 1.0),
    "1, heavy rows wrong in a third": (1.0, -0.7, 1 / 3),
    "1, heavy rows wrong, much": (1.0, -1.5, 1.0),
    ".5, heavy rows wrong": (0.5, -0.7, 1.0),
}
"""Standard deviation of the logarithm of a row's weight, by how much it shifts the probit of being right, and in what
share of the groups, the last of them, it does."""


@dataclass(frozen=True)
class Case:
    """What the weights are, what the groups truly are, their number and their rows."""

    weights: str
    truth: str
    groups: int
    rows: int


def drawn(case: Case, true: np.ndarray, rng: np.random.Generator) -> SplitCounts:
    """Groups whose weighted shares in their populations are these."""
    sd, by, share = WEIGHTS[case.weights]
    count = rng.poisson(case.rows, case.groups).clip(4)
    code = np.repeat(np.arange(case.groups), count)
    z = rng.standard_normal(len(code))
    shift = np.where(code >= case.groups * (1 - share), by, 0)
    # Weighted by exp(sd z), z is normal about sd: so the weighted mean of the chance below is that of the group.
    probit = np.sqrt(1 + shift**2) * norm.ppf(true)[code] + shift * (z - sd)
    right = rng.random(len(code)) < norm.cdf(probit)
    weights = Weights.of_rows(code, np.exp(sd * z), right, case.groups)
    correct = np.bincount(code[right], minlength=case.groups)
    return SplitCounts("all", [str(g) for g in range(case.groups)], correct, count, weights=weights)


def held(case: Case, simulations: int) -> list[str]:
    """Percent of simulations in which each interval holds the truth, up to half a row, and its mean width."""
    drurank.noise_draws.THREADS = 1
    hits, widths, own, chance, named, differ, lift = [], [], [], [], [], [], []
    for run in range(simulations):
        rng = np.random.default_rng([run, case.groups, case.rows])
        true = TRUTHS[case.truth](rng, case.groups)
        split = drawn(case, true, rng)
        found = split.summary(NAMES)
        noise = split.noise(NAMES)  # of intervals too that the report withholds
        low, high = np.array([[noise[name].low, noise[name].high] for name in NAMES]).T
        share = split.weights.total @ true / split.weights.total.sum()
        wanted = [share, true.mean(), true.min(), np.percentile(true, 10), np.ptp(true)]
        near = NEAR / case.rows
        hits.append((low - near <= wanted) & (wanted <= high + near))
        widths.append(high - low)
        first, last = split.interval
        own.append(np.mean((first <= true + 1e-9) & (true <= last + 1e-9)))
        first, last = split.chance
        chance.append(np.mean((first <= split.accuracy) & (split.accuracy <= last)))
        named.append(found["worse_than_chance"] is not None)
        differ.append(split.spread.low > 0)
        lift.append(split.weights.lift)
    cells = [f"{100 * hit:.0f} ({wide:.2f})" for hit, wide in zip(np.mean(hits, 0), np.mean(widths, 0), strict=True)]
    told = [f"{100 * np.mean(which):.0f}" for which in (own, chance, named, differ)]
    lifts = f"{np.median(lift):.2f}"
    return [case.weights, f"{case.groups} of {case.rows}", case.truth, lifts, *cells, *told]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=40)
    parser.add_argument("--workers", type=int, default=2, help="processes")
    options = parser.parse_args()
    cases = [Case(weights, truth, *size) for weights, size, truth in product(WEIGHTS, SIZES, TRUTHS)]
    table = Table(
        title=f"Percent of {options.simulations} simulations in which the interval holds the truth (its width)"
    )
    columns = (
        "weights",
        "groups of rows",
        "true values",
        "lift",
        *NAMES,
        "each group",
        "in band",
        "one is worse",
        "they differ",
    )
    for name in columns:
        table.add_column(name)
    with ProcessPoolExecutor(options.workers) as pool:
        work = pool.map(partial(held, simulations=options.simulations), cases)
        for row in track(work, "Simulating", total=len(cases), transient=True):
            table.add_row(*row)
            print(" | ".join(row), flush=True)
    Terminal(width=170).print(table)


if __name__ == "__main__":
    main()
