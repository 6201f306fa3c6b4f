"""Which criterion, on how many validation groups of how many rows, picks what serves unseen groups best.

python -m benchmarks.evidence.choosing draws it from what is kept, some ten minutes, and keeps the draws for the page.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from rich.progress import track
from scipy.stats import kendalltau

from benchmarks.evidence.kept import Kept, results_of
from benchmarks.evidence.markdown import table
from benchmarks.evidence.values import splits_of
from drurank.criteria import compute_criteria, criterion

CRITERIA = ("overall", "average", "worst", "p10", "gdcg10", "gdcg50", "qdcg10", "qdcg50", "tstat")
TARGETS = ("worst", "p10", "qdcg10")
DRAWS = 60
EVERY = 5
GROUPS, ROWS = (None, 20), (None, 10)
OF_PAGE = ("shortcut", "insteval", "hotel_reviews", "synthetic_short")
PERCENT = (5, 95)


def draws_of_experiment(results: Path, name: str) -> Path:
    """Where the draws of an experiment are kept."""
    return results / f"{name}.choosing.parquet"


@dataclass(frozen=True)
class Pool:
    """Candidates of one data set and seed.

    Attributes:
        valid: correct rows by candidate and group of validation, int64 ``[n, m]``.
        valid_count: rows by group, ``[m]``.
        test: the same of test, ``[n, k]``.
        test_count: rows by group, ``[k]``.
    """

    valid: np.ndarray
    valid_count: np.ndarray
    test: np.ndarray
    test_count: np.ndarray

    @classmethod
    def of(cls, kept: Kept, piece: str, method: str | None = None) -> Pool:
        """All candidates of a piece, or those of one method."""
        rows = kept.rows[(kept.rows["piece"] == piece) & ((kept.rows["method"] == method) | (method is None))]
        names = splits_of(rows)
        found = [rows[rows["split"] == name].sort_values(["setting", "seed"]) for name in names]
        correct = [np.stack(list(part["correct"])).astype(np.int64) for part in found]
        counts = [kept.counts[piece, name] for name in names]
        return cls(correct[0], counts[0], correct[1], counts[1])

    def thinned(self, every: int) -> Pool:
        """Every so many candidates."""
        return Pool(self.valid[::every], self.valid_count, self.test[::every], self.test_count)

    def drawn(self, rng: np.random.Generator, groups: int | None, rows: int | None) -> Pool:
        """Validation of so many groups, drawn without replacement, and rows of each; test groups drawn anew.

        Rows are drawn for each candidate by itself: counts do not say which rows two candidates have both right, so
        chance is somewhat larger here than with the same rows for all.
        """
        place = rng.choice(len(self.valid_count), min(groups or len(self.valid_count), len(self.valid_count)), False)
        valid, count = self.valid[:, place], self.valid_count[place]
        if rows is not None:
            fewer = np.minimum(count, rows)
            valid = rng.hypergeometric(valid, count - valid, np.broadcast_to(fewer, valid.shape))
            count = fewer
        again = rng.integers(0, len(self.test_count), len(self.test_count))
        return Pool(valid, count, self.test[:, again], self.test_count[again])


def outcomes(
    pool: Pool, names: Sequence[str] = CRITERIA, shrink: bool = False
) -> dict[tuple[str, str], tuple[float, float]]:
    """Criterion and target to Kendall's tau and the regret: the target of the best candidate less the picked one's."""
    picks = compute_criteria(pool.valid, pool.valid_count, names, shrink=shrink)
    truths = compute_criteria(pool.test, pool.test_count, TARGETS)
    found = {}
    for target in TARGETS:
        good = np.asarray(truths[target]) * (1 if criterion(target).higher_is_better else -1)
        for name in names:
            value = np.round(np.asarray(picks[name]) * (1 if criterion(name).higher_is_better else -1), 9)
            value = np.where(np.isfinite(value), value, -np.inf)
            regret = good.max() - good[value == value.max()].mean()
            found[name, target] = (float(kendalltau(value, good).statistic), float(regret))
    return found


def draws_of(pools: Sequence[Pool], draws: int, groups: int | None, rows: int | None, shrink: bool) -> pd.DataFrame:
    """Tau and regret of every criterion and target in each draw, means over the pools; the same draws each time."""
    rng = np.random.default_rng(0)
    names = [name for name in CRITERIA if not (shrink and name in ("overall", "tstat"))]
    lines = []
    for draw in range(draws):
        each = [outcomes(pool.drawn(rng, groups, rows), names, shrink) for pool in pools]
        for criterion_name, target in each[0]:
            tau, regret = np.nanmean([one[criterion_name, target] for one in each], axis=0)
            lines.append((draw, criterion_name, target, tau, regret))
    found = pd.DataFrame(lines, columns=["draw", "criterion", "target", "tau", "regret"])
    return found.assign(groups=groups or 0, rows=rows or 0, shrink=shrink)


def draw_all(kept: Kept, draws: int) -> pd.DataFrame:
    """Everything that the page says of one experiment: all models on all of validation, and some on less of it.

    Shrunk accuracies take a tenth of a second a model, so the second is of every fifth model and a third of the draws.
    """
    whole = [Pool.of(kept, piece) for piece in kept.rows["piece"].unique()]
    some = [pool.thinned(EVERY) for pool in whole[:1]]
    sizes = [(groups, rows, shrink) for groups in GROUPS for rows in ROWS for shrink in (False, True)]
    parts = [draws_of(whole, draws, None, None, False).assign(pool="all")]
    for size in track(sizes, "Choosing", transient=True):
        parts.append(draws_of(some, max(draws // 3, 1), *size).assign(pool="some"))
    return pd.concat(parts, ignore_index=True)


def ends(values: pd.Series, unit: float = 1.0, digits: int = 2) -> str:
    """Mean, and 5 to 95 % of draws."""
    low, high = np.percentile(values * unit, PERCENT)
    return f"{values.mean() * unit:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def criteria_table(found: pd.DataFrame, target: str) -> str:
    """Each criterion on all validation groups; the regret also less that of ``worst``, in the same draws."""
    found = found[(found["pool"] == "all") & (found["target"] == target)].pivot(index="draw", columns="criterion")
    shown = (1.0, 2) if target == "qdcg10" else (100.0, 1)
    rows = []
    for name in CRITERIA:
        less = found["regret"][name] - found["regret"]["worst"]
        cells = [ends(found["tau"][name]), ends(found["regret"][name], *shown)]
        rows.append([f"`{name}`", *cells, "" if name == "worst" else ends(less, *shown)])
    return table(["criterion", "tau", "regret", "regret less that of `worst`"], rows)


def claim_table(found: Mapping[str, pd.DataFrame]) -> str:
    """Whether ``qdcg10`` picks better than ``worst``: a row a data set, a column a target.

    A cell is the regret of the first less that of the second in the same draws; where its 5 to 95 % range excludes 0,
    it confirms or refutes the claim.
    """
    rows = []
    for title, draws in found.items():
        cells = [title]
        for target in TARGETS:
            some = draws[(draws["pool"] == "all") & (draws["target"] == target)]
            by = some.pivot(index="draw", columns="criterion", values="regret")
            less = (by["qdcg10"] - by["worst"]) * (1 if target == "qdcg10" else 100)
            low, high = np.percentile(less, PERCENT)
            said = "confirmed" if high < 0 else "refuted" if low > 0 else "open"
            cells.append(f"{ends(less, digits=2 if target == 'qdcg10' else 1)}: {said}")
        rows.append(cells)
    return table(["data", *(f"target {target}" for target in TARGETS)], rows)


def size_table(found: pd.DataFrame, target: str) -> str:
    """Regret of three criteria, plain and with ``shrink``, by the size of the validation set."""
    found = found[(found["pool"] == "some") & (found["target"] == target)]
    shown = (1.0, 2) if target == "qdcg10" else (100.0, 1)
    kinds = [(name, shrink) for name in ("average", "worst", "qdcg10") for shrink in (False, True)]
    lines = []
    for (groups, rows), part in found.groupby(["groups", "rows"], sort=False):
        by = part.pivot(index="draw", columns=["criterion", "shrink"], values="regret")
        low, high = np.percentile(by["qdcg10", False] - by["worst", False], PERCENT)
        told = "qdcg10" if high < 0 else "worst" if low > 0 else "not told"
        lines.append([str(groups or "all"), str(rows or "all"), *(ends(by[kind], *shown) for kind in kinds), told])
    head = [f"{name}{', shrink' if shrink else ''}" for name, shrink in kinds]
    return table(["groups", "rows each", *head, "less regret"], lines)


def main() -> None:
    """Draw for all experiments of the page, and keep the draws."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=["full", "small"], default="full")
    options = parser.parse_args()
    results = results_of(options.size)
    for name in OF_PAGE:
        kept = Kept.read(results, name)
        if kept is not None:
            draw_all(kept, DRAWS if options.size == "full" else 3).to_parquet(draws_of_experiment(results, name))


if __name__ == "__main__":
    main()
