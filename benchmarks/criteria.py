"""Time of the update of all criteria against two bare numpy.bincount: python benchmarks/criteria.py.

3,000,000 rows, one thread. Both take turns; a figure is the quickest of them, a ratio the median of those of a turn.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from shown import Row, print_rows

from drurank.metrics import GroupCriteria

ROWS = 3_000_000
GROUPS = (1_000, 10_000, 1_000_000)
LIMIT = 2.5


def seconds(function: Callable[[], object]) -> float:
    begun = time.thread_time()
    function()
    return time.thread_time() - begun


def measure(repeats: int, rows: int = ROWS) -> list[Row]:
    """The update with every number of groups."""
    found = []
    for groups in GROUPS:
        generator = torch.Generator().manual_seed(0)
        group = torch.randint(groups, (rows,), generator=generator)
        preds = (torch.rand(rows, generator=generator) < 0.7).long()
        target = torch.ones_like(preds)
        ids, right = group.numpy(), (preds == target).numpy()
        metric = GroupCriteria(groups)

        def update() -> None:
            metric.update(preds, target, group)  # noqa: B023

        def bare() -> None:
            np.bincount(ids, minlength=groups)  # noqa: B023
            np.bincount(ids, right, minlength=groups)  # noqa: B023

        taken = np.array([(seconds(update), seconds(bare)) for _ in range(repeats + 1)][1:])
        ratio = float(np.median(taken[:, 0] / taken[:, 1]))
        what = f"update of all criteria, {groups:,} groups"
        found.append(Row(what, 1000 * taken[:, 0].min(), "ms", "two numpy.bincount", ratio, LIMIT))
        computed = min(seconds(lambda: metric.of(metric.groups())) for _ in range(repeats))  # noqa: B023
        found.append(Row(f"all {len(metric.names)} criteria from the counts, {groups:,} groups", 1000 * computed, "ms"))
    return found


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=7)
    options.add_argument("--rows", type=int, default=ROWS)
    given = options.parse_args()
    torch.set_num_threads(1)
    print_rows(measure(given.repeats, given.rows))
