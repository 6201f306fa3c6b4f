"""Two candidates, group by group."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from drurank.errors import InputError, nearest
from drurank.study.finished import Study
from drurank.study.result import Counts, Result

DRAWS = 4000
ENDS = (2.5, 97.5)


def find(study: Study, name: str) -> Result:
    """The candidate of a key, or of a setting and its seed, as ``DRU cutoff=5 seed=0``.

    Raises:
        InputError: if there is none, or several.
    """
    named: dict[str, list[Result]] = {result.manifest["key"]: [result] for result in study}
    for result in study:
        named.setdefault(f"{result.setting} seed={result.seed}", []).append(result)
    if name not in named:
        raise InputError(f"{study.folder} has no finished candidate {name!r}: {nearest(name, named)}")
    if len(named[name]) > 1:
        keys = ", ".join(result.manifest["key"] for result in named[name])
        raise InputError(f"{study.folder} has several candidates {name!r}; give the key of one: {keys}")
    return named[name][0]


def compare(first: Counts, second: Counts, *, seed: int = 0) -> pa.Table:
    """Which groups the second serves better or worse than the first.

    Each accuracy of a group has the posterior of that group's rows alone (Jeffreys' prior); ``low`` and ``high`` are
    the ends of 95 % of the differences. Of many groups that are served alike, about one in twenty is called otherwise.

    Args:
        first: counts of one candidate.
        second: counts of the other, of the same groups.
        seed: of the random draws.

    Returns:
        One row a group, sorted by difference: ``group, count, first, second, difference, low, high, verdict``, where
        the verdict is ``better``, ``worse`` or ``like``.

    Raises:
        InputError: if the groups differ.
    """
    if first.groups != second.groups or not np.array_equal(first.count, second.count):
        raise InputError("the two were tested on other groups or rows; compare like with like")
    rng = np.random.default_rng(seed)
    drawn = [rng.beta(c.correct + 0.5, c.count - c.correct + 0.5, size=(DRAWS, len(c.count))) for c in (first, second)]
    low, high = np.percentile(drawn[1] - drawn[0], ENDS, axis=0)
    accuracy = [c.correct / c.count for c in (first, second)]
    verdict = np.where(low > 0, "better", np.where(high < 0, "worse", "like"))
    table = pa.table(
        {
            "group": pa.array(first.groups, pa.string()),
            "count": first.count,
            "first": accuracy[0],
            "second": accuracy[1],
            "difference": accuracy[1] - accuracy[0],
            "low": low,
            "high": high,
            "verdict": pa.array(verdict.tolist(), pa.string()),
        }
    )
    return table.sort_by("difference")
