"""How often a study's table calls equal methods different, and finds one that is worse: python benchmarks/study.py."""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from rich.progress import track
from rich.table import Table
from scipy.stats import norm

from drurank.criteria import compute_criteria, criterion
from drurank.study.differences import bootstrapped_t, differences_from
from drurank.terminal import Terminal

TABLES, FEWER, SEED, DRAWS, APART = 500, 200, 1, 100, 0.05
NAMES = ("average", "p10", "worst", "qdcg10")


@dataclass(frozen=True)
class Truth:
    """What is true of the methods of a table, which are equals but for ``apart``, by which the last is worse."""

    methods: int
    seeds: int
    what: str = ""
    sd: float = 0.005
    groups: int = 20
    size: int = 50
    apart: float = 0.0

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Correct rows ``[K, S, m]``, and rows by group ``[m]``."""
        true, count = rng.normal(0.8, 0.05, self.groups), np.full(self.groups, self.size)
        if self.what == "skewed groups":
            true = np.where(rng.random(self.groups) < 0.1, 0.4, 0.87)
        if self.what == "equal groups":
            true = np.full(self.groups, 0.8)
        if self.what == "unequal sizes":
            count = np.maximum(self.size * rng.lognormal(-0.3, 0.9, self.groups), 5).astype(int)
        of_method = np.full((self.methods, 1, 1), self.sd)
        if self.what == "one unstable":
            of_method[0] = 0.02
        shifts = rng.normal(0, 1, (self.methods, self.seeds, 1)) * of_method
        shifts[-1] -= self.apart
        own = rng.normal(0, 0.05 if self.what == "own good groups" else 0, (self.methods, 1, self.groups))
        accuracy = np.clip(true + shifts + own, 0.005, 0.995)
        shared = {"same rows hard": (0.7, 0.0), "own hard rows": (0.4, 0.3)}.get(self.what)
        return (rng.binomial(count, accuracy) if shared is None else _rows(rng, accuracy, count, *shared)), count


def _rows(rng: np.random.Generator, accuracy: np.ndarray, count: np.ndarray, by_row: float, by_method: float):
    """Correct rows where some rows are hard for every method, and some for one method with all seeds."""
    methods, seeds, _ = accuracy.shape
    parts = (rng.normal(size=(a, b, count.sum())) for a, b in ((1, 1), (methods, 1), (methods, seeds)))
    weights = (by_row, by_method, 1 - by_row - by_method)
    latent = sum(np.sqrt(weight) * part for weight, part in zip(weights, parts, strict=True))
    right = latent < norm.ppf(accuracy).repeat(count, axis=2)
    return np.add.reduceat(right, np.cumsum(count) - count, axis=2, dtype=int)


def told(test: str, correct: np.ndarray, count: np.ndarray, name: str) -> np.ndarray:
    """Which methods are called different from the one that came out best, bool ``[K]``."""
    values = compute_criteria(correct, count, [name])[name].mean(axis=1)
    best = int(np.argmax(values) if criterion(name).higher_is_better else np.argmin(values))
    if test == "each pair alone":
        pairs = ([best, other] for other in range(len(correct)))
        every = [differences_from(correct[pair], count, name, draws=DRAWS)[1] for pair in pairs]
    else:
        compare = bootstrapped_t if test == "t" else differences_from
        every = compare(correct, count, name, best, draws=DRAWS)
    return np.array([one.is_distinguishable for one in every])


def shares(test: str, truth: Truth, tables: int, seed: int) -> list[str]:
    """By criterion, in percent of tables: some equal is called different, and the one that is worse is found."""
    cells = []
    for name in NAMES:
        rng = np.random.default_rng(seed)
        wrong = [told(test, *truth.draw(rng), name).any() for _ in range(tables)]
        worse = replace(truth, apart=APART)
        found = [told(test, *worse.draw(rng), name)[-1] for _ in range(tables if truth.what == "" else 0)]
        cells.append(f"{100 * np.mean(wrong):.1f}" + (f" / {100 * np.mean(found):.0f}" if found else ""))
    return cells


def rows() -> list[tuple[str, Truth, int]]:
    """Tests, truths and numbers of tables, first those before and after the correction."""
    first = [(test, Truth(k, 3), TABLES) for k in (3, 10) for test in ("each pair alone", "t", "corrected")]
    seeds = [Truth(10, 3, sd=0.0), *(Truth(k, seeds, sd=0.02) for k in (3, 10) for seeds in (1, 2, 3, 5))]
    kinds = ("equal groups", "skewed groups", "unequal sizes", "same rows hard", "own hard rows", "own good groups")
    others = [Truth(k, 3, what) for k in (3, 10) for what in (*kinds, "one unstable")]
    others += [Truth(k, 3, "6 groups", groups=6) for k in (3, 10)]
    others += [Truth(k, seeds, "100 groups of 100", 0.02, 100, 100) for k in (2, 3) for seeds in (2, 3, 5)]
    return [*first, *(("corrected", truth, FEWER) for truth in (*seeds, *others))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, help=f"of each row, {TABLES} or {FEWER} if not given")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--truth", help="show only the rows of this truth, as '100 groups of 100'")
    tables, seed, wanted = vars(parser.parse_args()).values()
    table = Table(title=f"Equals called different / one {APART} worse found, in % of tables; 20 groups of 50 rows")
    for column in ("methods", "seeds", "sd over seeds", "truth", "test", "tables", *NAMES):
        table.add_column(column, justify="right")
    cases = [
        (test, truth, tables or usual, seed) for test, truth, usual in rows() if wanted is None or truth.what == wanted
    ]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(shares, *zip(*cases, strict=True))
        for (test, truth, number, _), cells in track(zip(cases, found, strict=True), total=len(cases)):
            first = (truth.methods, truth.seeds, truth.sd, truth.what, test, number)
            table.add_row(*map(str, first), *cells)
    Terminal(width=140).print(table)


if __name__ == "__main__":
    main()
