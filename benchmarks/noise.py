"""What an interval holds, how near a fitted spread is, and what noise costs: python benchmarks/noise.py."""

import time

import numpy as np
from rich.console import Console
from rich.table import Table

from drurank.criteria import values_of
from drurank.groups import Groups
from drurank.noise import criteria_noise
from drurank.spread import fit_spread

MEAN, SIMULATIONS, NAMES = 0.8, 200, ("worst", "p10", "qdcg10")
CASES = [(9, 300), (50, 30), (160, 75), (500, 75), (1334, 75)]
SPREADS = [0.0, 0.02, 0.05, 0.1]


def draw(rng: np.random.Generator, groups: int, size: int, sd: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    k = MEAN * (1 - MEAN) / sd**2 - 1 if sd else 0
    true = rng.beta(MEAN * k, (1 - MEAN) * k, groups) if sd else np.full(groups, MEAN)
    count = rng.poisson(size, groups).clip(2)
    return rng.binomial(count, true), count, true


def population(rng: np.random.Generator, groups: int, size: int, sd: float) -> dict[str, float]:
    """The criteria of true accuracies of as many new groups, in the median."""
    drawn = np.stack([draw(rng, groups, size, sd)[2] for _ in range(1000)])
    return {name: float(np.median(value)) for name, value in values_of(Groups(drawn), NAMES).items()}


def row(groups: int, size: int, sd: float) -> list[str]:
    rng = np.random.default_rng(groups)
    new = population(rng, groups, size, sd)
    held = {(name, whose): 0 for name in NAMES for whose in ("these", "new")}
    spread_held, sds = 0, []
    for run in range(SIMULATIONS):
        correct, count, true = draw(rng, groups, size, sd)
        fitted = fit_spread(correct, count)
        spread_held += fitted.low <= sd <= fitted.high
        sds.append(fitted.sd)
        noise = criteria_noise(correct, count, NAMES, spread=fitted, draws=200, seed=run)
        these = values_of(Groups(true), NAMES)
        for name in NAMES:
            for whose, value in (("these", these[name]), ("new", new[name])):
                held[name, whose] += noise[name].low - 1e-9 <= value <= noise[name].high + 1e-9
    shares = [f"{held[name, whose] / SIMULATIONS:.0%}" for name in NAMES for whose in ("these", "new")]
    return [f"{groups} of {size}", f"{sd}", f"{np.mean(sds):.3f}", f"{spread_held / SIMULATIONS:.0%}", *shares]


def seconds(groups: int) -> float:
    correct, count, _ = draw(np.random.default_rng(0), groups, 75, 0.05)
    begun = time.perf_counter()
    criteria_noise(correct, count)
    return time.perf_counter() - begun


def main() -> None:
    table = Table(title=f"Share of {SIMULATIONS} simulations in which the 5-95 % interval holds the true value")
    for name in ("groups", "true sd", "mean fitted sd", "its interval"):
        table.add_column(name)
    for name in NAMES:
        table.add_column(f"{name}, these groups")
        table.add_column(f"{name}, new groups")
    for groups, size in CASES:
        for sd in SPREADS:
            table.add_row(*row(groups, size, sd))
    Console(width=150).print(table)
    for groups in (1334, 100_000):
        print(f"nine criteria, 1,000 draws each of interval and floor, {groups:,} groups: {seconds(groups):.2f} s")


if __name__ == "__main__":
    main()
