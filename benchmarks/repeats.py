"""How often equal methods are called different over repeats of the split: python benchmarks/repeats.py."""

import argparse
from collections.abc import Iterator

import numpy as np
from rich.table import Table

from drurank.criteria import compute_criteria, criterion
from drurank.study.repeats import differences_over_repeats
from drurank.terminal import Terminal

TABLES, SEED, APART = 300, 1, 0.05
GROUPS, TESTED, VALIDATED = 60, 9, 9
NAMES = ("average", "p10", "worst", "qdcg10")
CASES = (
    ("own good groups (sd .05)", 2, 5),
    ("own good groups (sd .05)", 2, 3),
    ("own good groups (sd .05)", 2, 10),
    ("own good groups (sd .05)", 5, 5),
    ("one group in ten 30 points better or worse", 2, 5),
    ("one group in ten 30 points better or worse", 5, 5),
    ("one group in ten at .40", 2, 5),
    ("groups of 5 to about 300 rows", 2, 5),
    ("one method with sd .05 over runs", 5, 5),
    ("what is trained on decides (sd .06)", 2, 5),
    ("what is trained on decides (sd .06)", 5, 10),
)


def draw(rng: np.random.Generator, what: str, methods: int, repeats: int, apart: float) -> dict[str, np.ndarray]:
    """Criteria on test, each by method and repeat ``[K, R]``, of methods that are equal but for ``apart``.

    A method has groups that it is good at, whatever it is trained on, and is helped or hurt by each group in training.
    Repeats draw both anew from the same groups, and a group's rows are right or wrong in all of them alike.
    """
    base, size = rng.normal(0.8, 0.05, GROUPS), np.full(GROUPS, 50)
    own = rng.normal(0, 0.05, (methods, GROUPS))
    if what == "one group in ten 30 points better or worse":
        own = np.where(rng.random(own.shape) < 0.1, rng.choice([-0.3, 0.3], own.shape), 0)
    if what == "one group in ten at .40":
        base = np.where(rng.random(GROUPS) < 0.1, 0.4, 0.87)
    if what == "groups of 5 to about 300 rows":
        size = np.maximum(50 * rng.lognormal(-0.3, 0.9, GROUPS), 5).astype(int)
    by_run = np.full(methods, 0.01)
    if what == "one method with sd .05 over runs":
        by_run[0] = 0.05
    of_training = rng.normal(0, 0.06 if what.startswith("what is trained on") else 0.02, (methods, GROUPS))
    true = rng.binomial(size, np.clip(base + own, 0.02, 0.98)) / size
    found = []
    for _ in range(repeats):
        order = rng.permutation(GROUPS)
        tested, trained = order[:TESTED], order[TESTED + VALIDATED :]
        shift = of_training[:, trained].sum(axis=1) / np.sqrt(len(trained)) + rng.normal(0, 1, methods) * by_run
        shift[-1] -= apart
        right = rng.binomial(size[tested], np.clip(true[:, tested] + shift[:, None], 0.005, 0.995))
        found.append(compute_criteria(right, size[tested], NAMES))
    return {name: np.stack([np.asarray(one[name]) for one in found], axis=1) for name in NAMES}


def told(values: np.ndarray, name: str, share: float) -> np.ndarray:
    """Which methods are called different from the one that came out best, bool ``[K]``."""
    mean = values.mean(axis=1)
    best = int(mean.argmax() if criterion(name).higher_is_better else mean.argmin())
    return np.array([one.is_distinguishable for one in differences_over_repeats(values, share, best)])


def cells(what: str, methods: int, repeats: int, tables: int, share: float) -> Iterator[str]:
    """By criterion, in percent of tables: some equal is called different, and one that is worse is found."""
    rng = np.random.default_rng(SEED)
    equal = [draw(rng, what, methods, repeats, 0.0) for _ in range(tables)]
    worse = [draw(rng, what, methods, repeats, APART) for _ in range(tables)]
    for name in NAMES:
        wrong = np.mean([told(one[name], name, share).any() for one in equal])
        found = np.mean([told(one[name], name, share)[-1] for one in worse])
        yield f"{100 * wrong:.1f} / {100 * found:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=TABLES)
    tables = parser.parse_args().tables
    table = Table(title=f"Equals called different / one {APART} worse found, in % of tables; {GROUPS} groups")
    for column in ("truth", "methods", "splits", "corrected", *NAMES):
        table.add_column(column)
    held_out = (TESTED + VALIDATED) / (GROUPS - TESTED - VALIDATED)
    for what, methods, repeats in CASES:
        for share, word in ((held_out, "yes"), (0.0, "no")):
            found = cells(what, methods, repeats, tables, share)
            table.add_row(what, str(methods), str(repeats), word, *found)
    Terminal(width=140).print(table)


if __name__ == "__main__":
    main()
