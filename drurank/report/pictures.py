"""Pictures of a report: groups beside what chance would give, criteria by epoch, weight by rank.

Each function returns a matplotlib figure that belongs to no window.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from drurank.criterion import Criterion
from drurank.criterion_keys import key_of, logged_criterion
from drurank.noise import DRAWS
from drurank.report.counts import ALL
from drurank.report.served import Served
from drurank.terminal import visible
from drurank.words import counted, in_digits, joined, short, shortened

FEW, SOME = 12, 60
"""Groups up to which each is named, and up to which each has its interval."""
LETTERS = 36
"""Letters that stand side by side under an axis; more are slanted."""
PANELS, ACROSS = 12, 3
LEGEND_ACROSS = (2, 4, 5)
"""Columns of the legend below one, two and three panels side by side."""
DOT = 4
ALIKE = 3
"""Criteria of a unit without an end share axes where the largest values differ by this factor at most."""
LEAST_DRAWS, MOST_DRAWN = 100, 20_000_000
"""Draws of the band at the least, and groups over all of its draws at the most while there are more."""
BANDS = (0, 5, 10, 25, 50, 100)
"""Percent of the groups, from the worst, that lines of weights stand for."""
DPI = 120
BLUE, GREY, RED = "#2457a6", "#9aa4b2", "#c8402f"
HANDLE = 4
"""Length of a line's sample in a legend, in letters, so that a dashed one is seen to be dashed."""
BELOW: dict[str, Any] = {
    "loc": "upper center",
    "bbox_to_anchor": (0.5, -0.14),
    "ncols": 3,
    "fontsize": 8,
    "title_fontsize": 8,
    "frameon": False,
}
"""Legend below the axes, where it hides no line."""


def save_picture(figure: Figure, path: Path | IO[bytes]) -> None:
    """Write a figure as PNG, names as they are; letters that the font lacks become boxes, without warnings."""
    ticks = {text for ax in figure.axes for axis in (ax.xaxis, ax.yaxis) for text in axis.get_ticklabels(which="both")}
    for text in figure.findobj(Text):
        if text not in ticks:  # an axis writes its own powers of ten as formulas
            text.set_parse_math(False)
            text.set_text(visible(text.get_text()))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(path, format="png")


def draw_groups(splits: Sequence[Served]) -> Figure:
    """Accuracies, or another figure, of the groups of each split, the worst first, with the band of chance alone.

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
        ax.set_ylabel(shown[0].figure.heading, parse_math=False)
    found = [ax.get_legend_handles_labels() for ax in figure.axes]
    by_label = {label: handle for handles, labels in found for handle, label in zip(handles, labels, strict=True)}
    columns = min(LEGEND_ACROSS[columns - 1], len(by_label))
    figure.legend(
        by_label.values(), by_label.keys(), loc="outside lower center", ncols=columns, fontsize=8, frameon=False
    )
    return figure


def _draw_split(ax: Axes, split: Served) -> None:
    order = np.argsort(split.accuracy, kind="stable")
    value, place = split.value[order], np.arange(1, len(order) + 1)
    of_chance: dict[str, Any] = {"color": GREY, "alpha": 0.45}
    if len(order) <= FEW:  # above the name of a group stands what is of that group
        low, high = (end[order] for end in split.chance)
        ax.bar(place, high - low, 0.5, bottom=low, **of_chance, label="chance alone, by its size (5 to 95 %)")
    else:
        at, low, high = split.band(min(DRAWS, max(LEAST_DRAWS, MOST_DRAWN // len(order))))
        ax.fill_between(at + 1, low, high, lw=1.5, **of_chance, label="chance alone, by rank (5 to 95 %)")
    ax.axhline(split.overall, color=GREY, lw=1, ls="--", label="all rows together")
    if len(order) <= SOME:
        low, high = (end[order] for end in split.value_interval)
        ax.vlines(place, low, high, color=BLUE, lw=1, alpha=0.6, label="5 to 95 % by its own rows")
        ax.plot(place, value, "o", color=BLUE, ms=DOT, label="a group")
    else:
        ax.plot(place, value, color=BLUE, lw=1.6, label="groups")
    marked = split.contradicts[order]
    if marked.any():
        ax.plot(
            place[marked],
            value[marked],
            "o",
            color=RED,
            ms=DOT if len(order) <= SOME else DOT / 2,
            label="its own rows contradict its shrunk value",
        )
    if len(order) <= FEW:
        names = shortened([visible(split.groups[i]) for i in order])
        slanted: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
        is_wide = max(map(len, names)) * len(names) > LETTERS
        ax.set_xticks(place, names, parse_math=False, **(slanted if is_wide else {}))
    else:
        # Beside the axis, since within the axes a name would lie over points, intervals or the band.
        ax.set_xlabel(f"groups, the worst first; worst: {short(visible(split.groups[order[0]]))}", parse_math=False)
        number_groups(ax, len(order))
    what = f"{counted(len(order), 'group')}, {counted(split.rows, 'row')}"
    where = "" if split.split == ALL else f"{short(split.split)}: "
    told = f"{split.figure.words} {in_digits(split.overall)} over all rows"
    ax.set_title(f"{where}{what}\n{told}", fontsize=11, parse_math=False)
    tidy(ax)


def draw_criteria(history: Mapping[int, Mapping[str, float]], chosen: Mapping[str, int] | None = None) -> Figure:
    """Criteria by epoch, those of one unit and scale together: lines for the OOD split, dashed ones for the ID split.

    Args:
        history: epoch to key (``val_worst``, ``id_val_worst``) to value.
        chosen: criterion to the epoch whose checkpoint was kept as the best by it; each is marked.
    """
    panels = _panels_of(history)
    figure, axes = panels_in_rows(len(panels))
    for ax, names in zip(axes, panels, strict=True):
        for place, criterion in enumerate(names):
            for key, style in ((key_of(criterion.name), "-"), (key_of(criterion.name, "id_val"), "--")):
                epochs = [epoch for epoch, values in history.items() if key in values]
                if epochs:
                    values = [history[epoch][key] for epoch in epochs]
                    ax.plot(epochs, values, style, marker=".", color=f"C{place}", lw=1.4, label=key)
        several = sum(one[0].scale == names[0].scale for one in panels) > 1
        which = f"{joined([one.name for one in names])}\n" if several else ""
        ax.set_title(f"{which}{names[0].scale}", fontsize=10)
        ax.set_xlabel("epoch")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        _mark_chosen(ax, history, chosen or {}, names)
        ax.legend(**BELOW, handlelength=HANDLE)
        tidy(ax)
    if chosen:
        figure.supxlabel(_said_of_chosen(chosen), fontsize=8)
    return figure


def _panels_of(history: Mapping[int, Mapping[str, float]]) -> list[list[Criterion]]:
    """Criteria that share axes: those of one unit, and, where that has no end, of about one size."""
    found: dict[str, dict[str, tuple[Criterion, float]]] = {}
    for values in history.values():
        for key, value in values.items():
            criterion = logged_criterion(key)
            if criterion is not None:
                of_scale = found.setdefault(criterion.scale, {})
                before = of_scale.get(criterion.name, (criterion, 0.0))[1]
                of_scale[criterion.name] = criterion, max(before, abs(value))
    panels: list[list[Criterion]] = []
    for of_scale in found.values():
        size = 0.0
        for criterion, largest in sorted(of_scale.values(), key=lambda one: 0 if one[0].in_percent else one[1]):
            if size and (criterion.in_percent or largest <= ALIKE * size):
                panels[-1].append(criterion)
            else:
                panels.append([criterion])
                size = largest
    return panels


def _mark_chosen(
    ax: Axes, history: Mapping[int, Mapping[str, float]], chosen: Mapping[str, int], names: Sequence[Criterion]
) -> None:
    """A vertical line at each epoch that was chosen, and a ring on the criteria that chose it."""
    for epoch in sorted(set(chosen.values())):
        ax.axvline(epoch, color=GREY, lw=1.2, ls=":", label="_chosen", zorder=0)
    for place, criterion in enumerate(names):
        kept, key = chosen.get(criterion.name), key_of(criterion.name)
        if kept is not None and key in history.get(kept, {}):
            ax.plot(kept, history[kept][key], "o", mfc="none", ms=10, color=f"C{place}", label="_ring")


def _said_of_chosen(chosen: Mapping[str, int]) -> str:
    by_epoch: dict[int, list[str]] = {}
    for name, epoch in chosen.items():
        by_epoch.setdefault(epoch, []).append(name)
    kept = "; ".join(f"epoch {epoch} by {joined(names)}" for epoch, names in sorted(by_epoch.items()))
    return f"dotted: the epochs kept as the best: {kept}; a ring is on the criterion that chose"


def panels_in_rows(number: int, *, sharey: bool = False) -> tuple[Figure, list[Axes]]:
    """A figure with so many axes, three in a row at most; ``sharey`` gives all the same range of values."""
    columns = 2 if number == 4 else max(min(number, ACROSS), 1)
    rows = max(-(-number // columns), 1)
    figure = Figure(figsize=(4.6 * columns, 3.8 * rows), dpi=DPI, layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, sharey=sharey).flat)
    for ax in axes[number:]:
        ax.remove()
    return figure, axes[:number]


def draw_weights(epochs: Iterable[tuple[int, np.ndarray, np.ndarray]]) -> Figure:
    """Mean weight of the groups' samples over epochs, a line for the groups of similar rank.

    Args:
        epochs: of each, in any order, its number; the rank of its groups, float ``[m]``, 0 for the worst, in percent of
            the groups or their number; and the mean weight of their samples, float ``[m]``. One is held at a time.
    """
    figure = Figure(figsize=(5.6, 4.2), dpi=DPI, layout="constrained")
    ax = figure.subplots()
    by_epoch = {epoch: _by_band(rank, weight) for epoch, rank, weight in epochs if len(rank)}
    numbers = sorted(by_epoch)
    means = np.array([by_epoch[number] for number in numbers]).reshape(len(numbers), len(BANDS) - 1)
    for number, (low, high) in enumerate(pairwise(BANDS)):
        known = ~np.isnan(means[:, number])
        if known.any():
            colour = colormaps["viridis"](0.9 * number / (len(BANDS) - 2))
            # Lines of equal weights lie on each other; the thinner one is on top.
            line, width = means[known, number], 4.5 - 0.75 * number
            ax.plot(np.array(numbers)[known], line, marker=".", color=colour, lw=width, label=f"{low} to {high} %")
    ax.set_xlabel("epoch")
    ax.set_ylabel("mean weight of their samples")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(title="groups by rank, the worst at 0 %", **BELOW)
    tidy(ax)
    return figure


def _by_band(rank: np.ndarray, weight: np.ndarray) -> list[float]:
    """Mean weight of the groups of each band of ranks, ``nan`` where it has none."""
    percent = 100 * np.searchsorted(np.sort(rank), rank) / len(rank)
    within = [(percent >= low) & (percent < high) for low, high in pairwise(BANDS)]
    return [float(weight[here].mean()) if here.any() else np.nan for here in within]


def number_groups(ax: Axes, groups: int) -> None:
    """Let an axis of ordered groups begin with 1."""
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlim(1 - groups / 40, groups + groups / 40)
    ax.set_xticks([1, *(at for at in ax.get_xticks() if 1 < at <= groups)])


def tidy(ax: Axes) -> None:
    """Remove the frame at the top and right, and add faint horizontal lines."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", alpha=0.25)
