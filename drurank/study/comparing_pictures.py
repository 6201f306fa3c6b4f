"""A picture of two models: by how much each group is served better or worse by the second."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from drurank.report.pictures import BLUE, GREY, RED, number_groups, panels_in_rows, tidy

SERVED = {"like": (GREY, "its rows do not decide"), "worse": (RED, "served worse"), "better": (BLUE, "served better")}
MANY = 200
"""Groups from which on bars are thin."""


def draw_differences(groups: pa.Table) -> Figure:
    """Difference of each group with its 95 %, those that lose most first.

    Args:
        groups: of a comparison, sorted by difference.
    """
    figure, (ax,) = panels_in_rows(1)
    figure.set_figwidth(8)
    place, verdict = np.arange(1, groups.num_rows + 1), np.array(groups["verdict"].to_pylist())
    difference, low, high = (100 * groups[name].to_numpy() for name in ("difference", "low", "high"))
    for kind, (colour, label) in SERVED.items():
        here = verdict == kind
        if here.any():
            many = groups.num_rows > MANY
            ax.vlines(place[here], low[here], high[here], color=colour, lw=0.6 if many else 1.6, alpha=0.6)
            ax.plot(place[here], difference[here], "o", ms=1.5 if many else 4, color=colour, label=label)
    ax.axhline(0, color="black", lw=0.8)
    ax.set_xlabel("groups, those that lose most with the second first")
    ax.set_ylabel("second less first, percentage points\n(bar: 95 %)")
    number_groups(ax, groups.num_rows)
    tidy(ax)
    figure.legend(loc="outside lower center", ncols=len(SERVED), fontsize=8, frameon=False)
    return figure
