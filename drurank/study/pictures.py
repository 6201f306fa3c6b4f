"""Pictures of a study: criteria against the worst group, methods side by side, groups by method, options of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from drurank.criteria import criterion
from drurank.noise import criteria_noise
from drurank.report.pictures import BELOW, DPI, tidy
from drurank.study.finished import Study
from drurank.study.result import Result

ACROSS = 3


def draw_choosing(study: Study, by: str, on: str) -> Figure:
    """Each criterion on validation against the accuracy of the worst group on test, one point a candidate.

    Args:
        study: finished candidates.
        by: criterion whose best checkpoint a candidate stands for, in all panels.
        on: split of the worst group.
    """
    names = study.results[0].criteria
    figure, panels = _panels(len(names))
    for ax, name in zip(panels, names, strict=True):
        for method, results in _by_method(study).items():
            chosen = [result.counts(by, study.validation_split).shown(name) for result in results]
            worst = [result.counts(by, on).value("worst") for result in results]
            ax.plot(chosen, worst, "o", ms=5, alpha=0.75, label=method)
        ax.set_title(f"{name} ({'higher' if criterion(name).higher_is_better else 'lower'} is better)", fontsize=10)
        ax.set_xlabel("on validation")
        ax.set_ylabel(f"worst group of {on}")
        tidy(ax)
    figure.supxlabel(f"a point a candidate: its best checkpoint by {by}", fontsize=8)
    _legend(figure, panels[0])
    return figure


def draw_methods(study: Study, by: str, on: str, cells: Sequence[str]) -> Figure:
    """Criteria of each method on test, as a criterion chose it: a point a seed, the mean of estimates and of intervals.

    Args:
        study: finished candidates.
        by: criterion that chooses setting and epoch, on validation.
        on: split.
        cells: criteria, a panel each.
    """
    chosen = study.chosen(by)
    figure, panels = _panels(len(cells))
    for ax, name in zip(panels, cells, strict=True):
        for place, results in enumerate(chosen.values()):
            counts = [result.counts(by, on) for result in results]
            noise = [criteria_noise(one.correct, one.count, [name])[name] for one in counts]
            low, high = (np.mean([getattr(one, end) for one in noise]) for end in ("low", "high"))
            if criterion(name).has_interval:
                ax.vlines(place, low, high, color=f"C{place}", lw=6, alpha=0.25)
                ax.plot(place, np.mean([one.estimate for one in noise]), "_", color=f"C{place}", ms=16, mew=2)
            ax.plot([place] * len(counts), [one.shown(name) for one in counts], "o", color=f"C{place}", ms=5)
        ax.set_xticks(range(len(chosen)), list(chosen), rotation=35, ha="right", rotation_mode="anchor")
        ax.set_title(name, fontsize=10)
        tidy(ax)
    figure.supxlabel(
        f"{on}, chosen by {by}; points: observed, a seed each; dash and bar: true, estimated, with 5 to 95 %",
        fontsize=8,
    )
    return figure


def draw_sorted_groups(study: Study, by: str, on: str) -> Figure:
    """Accuracies of the groups in ascending order, one line a method, mean over seeds at each place.

    Args:
        study: finished candidates.
        by: criterion that chooses setting and epoch, on validation.
        on: split.
    """
    figure, (ax,) = _panels(1)
    for method, results in study.chosen(by).items():
        counts = [result.counts(by, on) for result in results]
        ordered = np.mean([np.sort(one.correct / one.count) for one in counts], axis=0)
        ax.plot(np.arange(1, len(ordered) + 1), ordered, marker="." if len(ordered) < 60 else "", label=method)
    ax.set_xlabel(f"groups of {on}, the worst first")
    ax.set_ylabel("accuracy")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(**BELOW)
    tidy(ax)
    return figure


def draw_option(study: Study, option: str, by: str, on: str, cell: str) -> Figure:
    """A criterion on test by the value of an option, one line a method, mean over seeds; rings mark the chosen values.

    Args:
        study: finished candidates.
        option: of a method, as ``cutoff``.
        by: criterion that chooses, on validation.
        on: split.
        cell: criterion that is shown.
    """
    figure, (ax,) = _panels(1)
    key = f"model.{option}"
    for number, (method, results) in enumerate(_by_method(study).items()):
        at = {r: float(r.manifest["options"][key]) for r in results if key in r.manifest["options"]}
        values = sorted(set(at.values()))
        if len(values) < 2:
            continue
        seen = {result: result.counts(by, on).shown(cell) for result in at}
        shown = [np.mean([seen[result] for result in at if at[result] == value]) for value in values]
        ax.plot(values, shown, marker=".", color=f"C{number}", label=method)
        for result in study.chosen(by)[method]:
            if result in at:
                ax.plot(at[result], seen[result], "o", mfc="none", ms=11, color=f"C{number}")
    ax.set_xlabel(option)
    ax.set_ylabel(f"{cell} on {on}")
    ax.set_title(f"rings: chosen by {by} on validation, a seed each", fontsize=9)
    ax.legend(**BELOW)
    tidy(ax)
    return figure


def options_with_grid(study: Study) -> list[str]:
    """Options of methods with two or more numbers in a study, without ``model.``."""
    values: dict[str, set[Any]] = {}
    for result in study:
        for name, value in result.manifest["options"].items():
            if name.startswith("model."):
                number = isinstance(value, int | float) and not isinstance(value, bool)
                values.setdefault(name.removeprefix("model."), set()).add(float(value) if number else None)
    return [name for name, found in values.items() if len(found) > 1 and None not in found]


def _by_method(study: Study) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for result in study:
        found.setdefault(result.method, []).append(result)
    return found


def _panels(number: int) -> tuple[Figure, list[Axes]]:
    columns = min(number, ACROSS)
    rows = -(-number // columns)
    figure = Figure(figsize=(4.6 * columns, 3.8 * rows), dpi=DPI, layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for ax in axes[number:]:
        ax.remove()
    return figure, axes[:number]


def _legend(figure: Figure, ax: Axes) -> None:
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 6), fontsize=8, frameon=False)
