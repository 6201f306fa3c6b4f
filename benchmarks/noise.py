"""How often intervals hold the truth, and what they cost: python benchmarks/noise.py."""

import argparse
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import numpy as np
from rich.progress import track
from rich.table import Table

import drurank.noise_draws
from drurank.criteria import values_of
from drurank.groups import Groups
from drurank.noise import criteria_noise
from drurank.spread import fit_spread
from drurank.terminal import Terminal

NAMES = ("worst", "p10", "qdcg10", "qdcg50", "gdcg10", "gdcg50", "average")
GROUPS, ROWS = (50, 300, 1300), (10, 25, 75)
NEAR = 0.5
"""Rows of a group by which an end of an interval may miss."""


def mixed(low: float, broken: float, sd: float = 0.0):
    """``broken`` groups (a share below 1, else a number) at ``low``, the others at .85."""

    def draw(rng: np.random.Generator, groups: int) -> np.ndarray:
        number = round(broken * groups) if broken < 1 else int(broken)
        true = np.where(np.arange(groups) < number, low, 0.85)
        return (true + sd * rng.standard_normal(groups)).clip(0, 1)

    return draw


def beta(sd: float):
    """A beta distribution of mean .8."""
    k = 0.16 / sd**2 - 1 if sd else 0
    return lambda rng, groups: rng.beta(0.8 * k, 0.2 * k, groups) if sd else np.full(groups, 0.8)


TRUTHS = {
    "beta, sd 0": beta(0),
    "beta, sd .03": beta(0.03),
    "beta, sd .05": beta(0.05),
    "beta, sd .1": beta(0.1),
    "30 % at .60, sd .02": mixed(0.6, 0.3, 0.02),
    "10 % at .50": mixed(0.5, 0.1),
    "5 groups at .30": mixed(0.3, 5),
    "1 group at 0": mixed(0.0, 1),
    "uniform .5 to 1": lambda rng, groups: rng.uniform(0.5, 1, groups),
    "exponential errors, mean .12": lambda rng, groups: 1 - rng.exponential(0.12, groups).clip(0, 1),
}


def lognormal(rng: np.random.Generator, groups: int) -> np.ndarray:
    """Sizes from 2 to 5,000 rows, half of them below 55."""
    return rng.lognormal(4, 1.5, groups).round().clip(2, 5000).astype(int)


def rising(rng: np.random.Generator, groups: int, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Accuracy that changes with the logarithm of the size, from ``low`` at 2 rows to ``high`` at 5,000."""
    count = lognormal(rng, groups)
    return count, low + (high - low) * np.log(count / 2) / np.log(2500)


def clusters(rows: int, *parts: tuple[int, float]) -> tuple[np.ndarray, np.ndarray]:
    """Groups of so many rows, and the number of them at each accuracy."""
    number, accuracy = zip(*parts, strict=True)
    return np.full(sum(number), rows), np.repeat(accuracy, number)


SIZED = {
    "60 of 40 rows, 30 at .92, 21 at .80, 9 at .62": lambda rng: clusters(40, (30, 0.92), (21, 0.80), (9, 0.62)),
    "60 of 40 rows, 30 at .92, 22 at .80, 8 at .62": lambda rng: clusters(40, (30, 0.92), (22, 0.80), (8, 0.62)),
    "100 of 50 rows, 70 at .92, 30 at .67": lambda rng: clusters(50, (70, 0.92), (30, 0.67)),
    "100 of 50 rows, 70 at .89, 30 at .77": lambda rng: clusters(50, (70, 0.89), (30, 0.77)),
    "sizes unrelated to accuracy, beta, mean .85, sd .08": lambda rng: (lognormal(rng, 150), rng.beta(17, 3, 150)),
    "large groups better, .50 to .95": lambda rng: rising(rng, 150, 0.5, 0.95),
    "large groups worse, .97 to .57": lambda rng: rising(rng, 150, 0.97, 0.57),
    "30 of 200 rows at .85, 30 of 6 at .40": lambda rng: (np.repeat([200, 6], 30), np.repeat([0.85, 0.4], 30)),
    "39 of 200 rows at .90, 1 of 3 at 0": lambda rng: (np.r_[np.full(39, 200), 3], np.r_[np.full(39, 0.9), 0]),
    "20 of 2,000 rows, errors exponential, mean .001": lambda rng: (np.full(20, 2000), 1 - rng.exponential(0.001, 20)),
}


def tolerance(name: str, groups: int, rows: float) -> float:
    """Half a row of a group; for a DCG times the sum of its discounts, its value where all errors are 1."""
    whole = float(values_of(Groups(np.zeros((1, groups))), [name])[name][0]) if "dcg" in name else 1.0
    return NEAR / rows * whole + 1e-9


def sized(truth: str, rng: np.random.Generator, size: tuple[int, int] | None) -> tuple[np.ndarray, np.ndarray]:
    """Sizes and true accuracies of groups."""
    if size is None:
        return SIZED[truth](rng)
    groups, rows = size
    return np.full(groups, rows), TRUTHS[truth](rng, groups)


def one_row(case: tuple[str, tuple[int, int] | None, int]) -> list[str]:
    truth, size, simulations = case
    drurank.noise_draws.THREADS = 1
    missed, width, spread_held = [], [], 0
    for run in range(simulations):
        rng = np.random.default_rng([run, *(size or ())])
        count, true = sized(truth, rng, size)
        near = np.array([tolerance(name, len(count), float(np.median(count))) for name in NAMES])
        correct = rng.binomial(count, true)
        spread = fit_spread(correct, count)
        noise = criteria_noise(correct, count, NAMES, spread=spread, draws=200, seed=run)
        low, high = np.array([(noise[name].low, noise[name].high) for name in NAMES]).T
        value = np.array([float(one) for one in values_of(Groups(true), NAMES).values()])
        missed.append((value < low - near) | (value > high + near))
        width.append(high - low)
        spread_held += spread.low - near[0] <= true.std() <= spread.high + near[0]
    held = 100 * (1 - np.mean(missed, axis=0))
    cells = [f"{share:.0f} ({wide:.2g})" for share, wide in zip(held, np.mean(width, axis=0), strict=True)]
    groups = "{} of {}".format(*size) if size else "as said"
    return [groups, truth, *cells, f"{100 * spread_held / simulations:.0f}"]


def print_rows(title: str, rows: Sequence[Sequence[str]]) -> None:
    table = Table(title=title)
    for name in ("groups", "true accuracies", *NAMES, "spread"):
        table.add_column(name)
    for row in rows:
        table.add_row(*row)
    Terminal(width=180).print(table)


def seconds(groups: int) -> float:
    rng = np.random.default_rng(0)
    count = rng.poisson(75, groups).clip(2)
    correct = rng.binomial(count, beta(0.05)(rng, groups))
    begun = time.perf_counter()
    criteria_noise(correct, count)
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2, help="processes")
    simulations, workers = vars(parser.parse_args()).values()
    cases = [(truth, size, simulations) for size in product(GROUPS, ROWS) for truth in TRUTHS]
    cases += [(truth, None, simulations) for truth in SIZED]
    with ProcessPoolExecutor(workers) as pool:
        rows = list(track(pool.map(one_row, cases), "Simulating", total=len(cases), transient=True))
    print_rows(f"Percent of {simulations} simulations in which the interval holds the truth (its mean width)", rows)
    for groups in (1334, 100_000):
        print(f"nine criteria, interval and floor, {groups:,} groups: {seconds(groups):.2f} s")


if __name__ == "__main__":
    main()
