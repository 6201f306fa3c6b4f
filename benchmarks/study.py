"""How often the tests under a study's table call equals different, and find five points: python benchmarks/study.py."""

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from drurank.study.statistics import bootstrapped_t, paired_difference

SIMULATIONS, DRAWS, GROUPS, SIZE, APART = 500, 200, 60, 50, 0.05
NAMES = ("average", "p10", "worst", "qdcg10")
CASES = [(seeds, sd) for seeds in (1, 2, 3, 5) for sd in (0.0, 0.005, 0.02)]
"""Seeds, and standard deviation of a method's accuracy over them."""


def pair(rng: np.random.Generator, seeds: int, sd: float, apart: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """Counts of two methods on the same groups, whose true accuracies have a standard deviation of 0.05."""
    true, size = rng.normal(0.8, 0.05, GROUPS), np.full((seeds, GROUPS), SIZE)
    shifts = rng.normal(0, sd, (2, seeds, 1)) - np.array([0, apart])[:, None, None]
    return [(rng.binomial(size, np.clip(true + shift, 0.05, 0.95)), size) for shift in shifts]


def share(test, name: str, seeds: int, sd: float, apart: float) -> str:
    rng = np.random.default_rng(seeds)
    pairs = (pair(rng, seeds, sd, apart) for _ in range(SIMULATIONS))
    return f"{100 * np.mean([test(*two, name, draws=DRAWS).is_distinguishable for two in pairs]):.1f}"


def main() -> None:
    table = Table(title=f"Called different at 5 %, in % of {SIMULATIONS}; {GROUPS} groups of {SIZE} rows")
    for column in ("test", "seeds", "sd over seeds", *NAMES, f"average, {APART} apart"):
        table.add_column(column, justify="right")
    for test, seeds, sd in track([(test, *case) for test in (paired_difference, bootstrapped_t) for case in CASES]):
        equal = [share(test, name, seeds, sd, 0) for name in NAMES]
        table.add_row(test.__name__, str(seeds), f"{sd}", *equal, share(test, "average", seeds, sd, APART))
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
