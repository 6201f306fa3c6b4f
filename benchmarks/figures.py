"""How often intervals of figures by group hold the truth, and what they say where groups are alike.

python benchmarks/figures.py
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
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
from drurank.figures import FIGURES, MEASURES, SHARES, Outcomes
from drurank.report.counts import SplitCounts
from drurank.report.served import Served
from drurank.report.values import SplitValues
from drurank.terminal import Terminal

NAMES = ("average", "worst", "p10", "gap")
SIZES = ((10, 30), (30, 60))
Draw = Callable[[np.random.Generator, int], np.ndarray]


def _alike(value: float) -> Draw:
    return lambda rng, groups: np.full(groups, value)


def _one_off(value: float, worse: float) -> Draw:
    return lambda rng, groups: np.where(np.arange(groups) < 1, worse, value)


@dataclass(frozen=True)
class Case:
    """A figure, what the groups truly are, their number and their rows."""

    figure: str
    truth: str
    groups: int
    rows: int


TRUTHS: dict[str, dict[str, Draw]] = {
    "fpr": {
        "all .15": _alike(0.15),
        "beta, mean .30, sd .10": lambda rng, groups: rng.beta(6, 14, groups),
        "one at .60, others .15": _one_off(0.15, 0.6),
    },
    "auroc": {
        "all .80": _alike(0.8),
        "mean .80, sd .08": lambda rng, groups: norm.cdf(rng.normal(0.88, 0.3, groups)),
        "one at .55, others .85": _one_off(0.85, 0.55),
    },
    "calibration_error": {
        "all 0": _alike(0.0),
        "uniform 0 to .20": lambda rng, groups: rng.uniform(0, 0.2, groups),
        "one at .25, others 0": _one_off(0.0, 0.25),
    },
}


def drawn(figure: str, true: np.ndarray, rows: int, rng: np.random.Generator) -> Served:
    """Groups with these true values."""
    names, count = [str(g) for g in range(len(true))], rng.poisson(rows, len(true)).clip(4)
    if figure == "fpr":
        well = count - rng.binomial(count, true)
        return SplitCounts("all", names, well, count, figure=SHARES[figure])
    code = np.repeat(np.arange(len(true)), count)
    if figure == "auroc":
        label = np.concatenate([rng.permutation(np.arange(number) % 3 == 0) for number in count])
        score = norm.cdf(rng.standard_normal(len(code)) + label * np.sqrt(2) * norm.ppf(true)[code])
    else:
        # The event is rarer than its probability by so much, whatever that is: for any number of bins.
        score = rng.uniform(0.3, 0.7, len(code))
        label = rng.random(len(code)) < score - true[code]
    outcomes = Outcomes(label.astype(int), label.astype(int), 1, None, 2, score)
    measure = MEASURES[figure]
    return SplitValues.of_rows("all", names, measure, measure.prepare(outcomes), code)


def held(case: Case, simulations: int) -> list[str]:
    """Percent of simulations in which each interval holds the truth, up to half a row, and its mean width."""
    drurank.noise_draws.THREADS = 1
    hits, widths, own, named, differ = [], [], [], [], []
    for run in range(simulations):
        rng = np.random.default_rng([run, case.groups, case.rows])
        true = TRUTHS[case.figure][case.truth](rng, case.groups)
        split = drawn(case.figure, true, case.rows, rng)
        found = split.summary(NAMES)
        low, high = np.array([found["criteria"][name]["interval"] for name in NAMES]).T
        bad = FIGURES[case.figure].higher_is_better
        worst = true.min() if bad else true.max()
        wanted = [true.mean(), worst, np.percentile(true, 10 if bad else 90), np.ptp(true)]
        near = NEAR / case.rows
        hits.append((low - near <= wanted) & (wanted <= high + near))
        widths.append(high - low)
        first, last = split.value_interval
        own.append(np.mean((first <= true + 1e-9) & (true <= last + 1e-9)))
        named.append(found["worse_than_chance"] is not None)
        differ.append(found["spread"]["interval"][0] > 0)
    cells = [f"{100 * hit:.0f} ({wide:.2f})" for hit, wide in zip(np.mean(hits, 0), np.mean(widths, 0), strict=True)]
    told = [f"{100 * np.mean(which):.0f}" for which in (own, named, differ)]
    return [case.figure, f"{case.groups} of {case.rows}", case.truth, *cells, *told]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=60)
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--figures", default=",".join(TRUTHS), help="which, with commas")
    options = parser.parse_args()
    figures = options.figures.split(",")
    cases = [Case(name, truth, *size) for name in figures for size, truth in product(SIZES, TRUTHS[name])]
    table = Table(
        title=f"Percent of {options.simulations} simulations in which the interval holds the truth (its width)"
    )
    for name in ("figure", "groups of rows", "true values", *NAMES, "each group", "one is worse", "they differ"):
        table.add_column(name)
    with ProcessPoolExecutor(options.workers) as pool:
        work = pool.map(partial(held, simulations=options.simulations), cases)
        for row in track(work, "Simulating", total=len(cases), transient=True):
            table.add_row(*row)
    Terminal(width=150).print(table)


if __name__ == "__main__":
    main()
