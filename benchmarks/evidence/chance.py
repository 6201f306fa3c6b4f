"""The paper's tables of real data beside what chance alone gives groups of the sizes that it states."""

from __future__ import annotations

import numpy as np

from benchmarks.evidence import paper
from benchmarks.evidence.markdown import table
from drurank.noise import noise_floor


def real_data() -> str:
    """Cells of every method, and p10 and worst where all groups had its average accuracy."""
    lines = []
    for data, cells in paper.REAL.items():
        groups, size = paper.SIZES[data]
        for method, (average, p10, worst) in zip(paper.METHODS, cells, strict=True):
            drawn = noise_floor(np.full(groups, size), average / 100, ("p10", "worst"))
            chance = []
            for name in ("p10", "worst"):
                low, middle, high = 100 * np.percentile(drawn[name], (5, 50, 95))
                chance.append(f"{middle:.1f} ({low:.1f} to {high:.1f})")
            lines.append([data, method, f"{average:.1f}", f"{p10:.1f}", chance[0], f"{worst:.1f}", chance[1]])
    return table(["data", "method", "average", "p10", "p10 by chance", "worst", "worst by chance"], lines)


def spread_of_differences() -> str:
    """How far two runs of one and the same worst group may differ by its rows alone."""
    lines = []
    for data, cells in paper.REAL.items():
        groups, size = paper.SIZES[data]
        worst = np.array([cell[2] for cell in cells]) / 100
        rows = np.ptp(worst) * size
        sd = np.sqrt(np.median(worst) * (1 - np.median(worst)) / size)
        lines.append(
            [
                data,
                str(groups),
                str(size),
                f"{100 * worst.min():.1f} to {100 * worst.max():.1f}",
                f"{rows:.1f}",
                f"{100 * sd:.1f}",
            ]
        )
    head = ["data", "groups", "rows each", "worst, over methods", "rows between them", "sd of one group's accuracy"]
    return table(head, lines)
