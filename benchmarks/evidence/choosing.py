"""Which criterion, on how many validation groups of how many rows, picks what serves unseen groups best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from kept import Kept
from markdown import table
from rich.progress import track
from scipy.stats import kendalltau
from values import splits_of

from drurank.criteria import compute_criteria, criterion

CRITERIA = ("overall", "average", "worst", "p10", "gdcg10", "gdcg50", "qdcg10", "qdcg50", "tstat")
TARGETS = ("worst", "p10", "qdcg10")
DRAWS = 60
PERCENT = (5, 95)


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


def draws_of(
    pools: Sequence[Pool], groups: int | None = None, rows: int | None = None, shrink: bool = False
) -> pd.DataFrame:
    """Tau and regret of every criterion and target in each draw, means over the pools."""
    rng = np.random.default_rng(0)
    names = [name for name in CRITERIA if not (shrink and name in ("overall", "tstat"))]
    lines = []
    for draw in track(range(DRAWS), "Choosing", transient=True):
        each = [outcomes(pool.drawn(rng, groups, rows), names, shrink) for pool in pools]
        for key in each[0]:
            tau, regret = np.nanmean([one[key] for one in each], axis=0)
            lines.append({"draw": draw, "criterion": key[0], "target": key[1], "tau": tau, "regret": regret})
    return pd.DataFrame(lines)


def ends(values: pd.Series, unit: float = 1.0, digits: int = 2) -> str:
    """Mean, and 5 to 95 % of draws."""
    low, high = np.percentile(values * unit, PERCENT)
    return f"{values.mean() * unit:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def criteria_table(pools: Sequence[Pool], target: str) -> str:
    """Each criterion on all validation groups; the regret also less that of ``worst``, in the same draws."""
    found = draws_of(pools)
    found = found[found["target"] == target].pivot(index="draw", columns="criterion")
    unit, digits = (100.0, 1) if target != "qdcg10" else (1.0, 2)
    rows = []
    for name in CRITERIA:
        less = found["regret"][name] - found["regret"]["worst"]
        cells = [ends(found["tau"][name]), ends(found["regret"][name], unit, digits)]
        rows.append([f"`{name}`", *cells, "" if name == "worst" else ends(less, unit, digits)])
    return table(["criterion", "tau", "regret", "regret less that of `worst`"], rows)


def size_table(
    pools: Sequence[Pool], target: str, rows_a_group: Sequence[int | None], groups: Sequence[int | None]
) -> str:
    """Regret of ``worst`` and ``qdcg10``, plain and with ``shrink``, by the size of the validation set."""
    unit, digits = (100.0, 1) if target != "qdcg10" else (1.0, 2)
    lines = []
    for many in groups:
        for each in rows_a_group:
            line = [str(many or "all"), str(each or "all")]
            cells, told = {}, ""
            for shrink in (False, True):
                found = draws_of(pools, many, each, shrink)
                by = found[found["target"] == target].pivot(index="draw", columns="criterion", values="regret")
                cells |= {(name, shrink): by[name] for name in ("worst", "qdcg10", "average")}
            line += [
                ends(cells[name, shrink], unit, digits)
                for name in ("average", "worst", "qdcg10")
                for shrink in (False, True)
            ]
            low, high = np.percentile(cells["qdcg10", False] - cells["worst", False], PERCENT)
            told = "qdcg10" if high < 0 else "worst" if low > 0 else "not told"
            lines.append([*line, told])
    head = [
        f"{name}{', shrink' if shrink else ''}" for name in ("average", "worst", "qdcg10") for shrink in (False, True)
    ]
    return table(["groups", "rows each", *head, "less regret"], lines)
