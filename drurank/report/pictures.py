"""Pictures of a report: groups beside what chance would give, criteria by epoch, weight by rank.

Each function returns a matplotlib figure that belongs to no window.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from drurank.criteria import logged_criterion
from drurank.noise import DRAWS, chance_band
from drurank.report.counts import ALL, SplitCounts
from drurank.report.words import counted, short

FEW, SOME = 12, 60
"""Groups up to which each is named, and up to which each has its interval."""
PANELS, ACROSS = 12, 3
LEGEND_ACROSS = (2, 4, 5)
"""Columns of the legend below one, two and three panels side by side."""
DOT = 4
LEAST_DRAWS, MOST_DRAWN = 100, 20_000_000
"""Draws of the band at the least, and groups over all of its draws at the most while there are more."""
BANDS = (0, 5, 10, 25, 50, 100)
"""Percent of the groups, from the worst, that lines of weights stand for."""
DPI = 120
BLUE, GREY, RED = "#2457a6", "#9aa4b2", "#c8402f"
BELOW: dict[str, Any] = {
    "loc": "upper center",
    "bbox_to_anchor": (0.5, -0.14),
    "ncols": 3,
    "fontsize": 8,
    "title_fontsize": 8,
    "frameon": False,
}
"""Legend below the axes, where it hides no line."""


def save_picture(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, without warnings about letters that the font lacks; they become boxes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(path, format="png")


def draw_groups(splits: Sequence[SplitCounts]) -> Figure:
    """Accuracies of the groups of each split in ascending order, with the band that chance alone gives.

    Args:
        splits: one panel each; only the first twelve are drawn.
    """
    shown = splits[:PANELS]
    columns = min(len(shown), ACROSS)
    rows = -(-len(shown) // columns)
    figure = Figure(figsize=(5.6 * columns, 4.2 * rows), dpi=DPI, layout="constrained")
    axes = figure.subplots(rows, columns, sharey=True, squeeze=False)
    for ax in axes.flat[len(shown) :]:
        ax.remove()
    for ax, split in zip(axes.flat, shown, strict=False):
        _draw_split(ax, split)
    for ax in axes[:, 0]:
        ax.set_ylabel("accuracy")
    found = [ax.get_legend_handles_labels() for ax in figure.axes]
    by_label = {label: handle for handles, labels in found for handle, label in zip(handles, labels, strict=True)}
    columns = min(LEGEND_ACROSS[columns - 1], len(by_label))
    figure.legend(
        by_label.values(), by_label.keys(), loc="outside lower center", ncols=columns, fontsize=8, frameon=False
    )
    return figure


def _draw_split(ax: Axes, split: SplitCounts) -> None:
    order = np.argsort(split.accuracy, kind="stable")
    accuracy, place = split.accuracy[order], np.arange(1, len(order) + 1)
    pooled = split.correct.sum() / split.count.sum()
    draws = min(DRAWS, max(LEAST_DRAWS, MOST_DRAWN // len(order)))
    at, low, high = chance_band(split.count, pooled, draws=draws)
    ax.fill_between(at + 1, low, high, color=GREY, alpha=0.45, lw=1.5, label="chance alone (5 to 95 %)")
    ax.axhline(pooled, color=GREY, lw=1, ls="--", label="all rows together")
    if len(order) <= SOME:
        low, high = (end[order] for end in split.interval)
        ax.vlines(place, low, high, color=BLUE, lw=1, alpha=0.6, label="5 to 95 % by its own rows")
        ax.plot(place, accuracy, "o", color=BLUE, ms=DOT, label="a group")
    else:
        ax.plot(place, accuracy, color=BLUE, lw=1.6, label="groups")
    marked = split.contradicts[order]
    if marked.any():
        ax.plot(
            place[marked],
            accuracy[marked],
            "o",
            color=RED,
            ms=DOT if len(order) <= SOME else DOT / 2,
            label="its own rows contradict its shrunk value",
        )
    if len(order) <= FEW:
        names = [short(split.groups[i]) for i in order]
        ax.set_xticks(place, names, rotation=35, ha="right", rotation_mode="anchor", parse_math=False)
    else:
        ax.set_xlabel("groups, the worst first")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    what = f"{counted(len(order), 'group')}, {counted(int(split.count.sum()), 'row')}, {pooled:.3f} right"
    ax.set_title(what if split.split == ALL else f"{short(split.split)}: {what}", parse_math=False)
    tidy(ax)


def draw_criteria(history: Mapping[int, Mapping[str, float]]) -> Figure:
    """Criteria by epoch, a panel for each unit: lines for the OOD split, dashed ones for the ID split.

    Args:
        history: epoch to key (``val_worst``, ``id_val_worst``) to value.
    """
    panels: dict[str, dict[str, str]] = {}
    for key in dict.fromkeys(key for values in history.values() for key in values):
        found = logged_criterion(key)
        if found is not None:
            panels.setdefault(found.scale, {})[key] = found.name
    figure = Figure(figsize=(4.8 * max(len(panels), 1), 4.0), dpi=DPI, layout="constrained")
    axes = figure.subplots(1, max(len(panels), 1), squeeze=False)[0]
    for ax, (title, name_of) in zip(axes, panels.items(), strict=False):
        names = list(dict.fromkeys(name_of.values()))
        for key, name in name_of.items():
            epochs = [epoch for epoch, values in history.items() if key in values]
            style = "--" if key.startswith("id_") else "-"
            colour = f"C{names.index(name)}"
            ax.plot(epochs, [history[epoch][key] for epoch in epochs], style, marker=".", color=colour, label=key)
        ax.set_title(title, fontsize=10)
        ax.set_xlabel("epoch")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.legend(**BELOW)
        tidy(ax)
    return figure


def draw_weights(epoch: np.ndarray, rank: np.ndarray, weight: np.ndarray) -> Figure:
    """Mean weight of the groups' samples over epochs, a line for the groups of similar rank.

    Args:
        epoch: int64 ``[n]``.
        rank: of a group in that epoch, float ``[n]``, 0 for the worst, in percent of the groups or their number.
        weight: mean weight of its samples in that epoch, float ``[n]``.
    """
    figure = Figure(figsize=(5.6, 4.2), dpi=DPI, layout="constrained")
    ax = figure.subplots()
    percent = np.zeros(len(rank))
    for one in np.unique(epoch):
        here = epoch == one
        percent[here] = 100 * np.searchsorted(np.sort(rank[here]), rank[here]) / here.sum()
    for number, (low, high) in enumerate(pairwise(BANDS)):
        within = (percent >= low) & (percent < high)
        if within.any():
            epochs, place = np.unique(epoch[within], return_inverse=True)
            mean = np.bincount(place, weight[within]) / np.bincount(place)
            colour = colormaps["viridis"](0.9 * number / (len(BANDS) - 2))
            ax.plot(epochs, mean, marker=".", color=colour, label=f"{low} to {high} %")
    ax.set_xlabel("epoch")
    ax.set_ylabel("mean weight of their samples")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(title="groups by rank, the worst at 0 %", **BELOW)
    tidy(ax)
    return figure


def tidy(ax: Axes) -> None:
    """Remove the frame at the top and right, and add faint horizontal lines."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", alpha=0.25)
