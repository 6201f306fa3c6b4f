"""Pictures of a study: criteria against the worst group, methods side by side, groups by method, options of a grid."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from drurank.figures.selecting import figure_in, selectable_criterion
from drurank.noise import chance_band, criteria_noise
from drurank.report.pictures import BELOW, GREY, number_groups, panels_in_rows, tidy
from drurank.study.constant import answers_of, no_better, unbeaten
from drurank.study.finished import Study
from drurank.study.folder import keys_of_trials
from drurank.study.result import Counts, Result
from drurank.terminal import visible
from drurank.words import in_digits, shortened

AVERAGE, OVERALL = "average", "overall"
TICKS = 4
"""Intervals of an axis at the most, whose numbers may be long."""
LETTERS = 14
"""Letters to the inch of a line below a picture."""
CUT = "axis does not begin at 0"
BESIDE = 0.03
"""Share of an axis between the candidates of two methods with the same value of an option."""
MARKED = 6
"""Values of an option up to which each is written at the axis."""
LEAST_JOINED = 3
"""Values of an option from which on a line joins their means: between two it would show a trend that nobody saw."""


def _title(name: str) -> str:
    return f"{name} ({selectable_criterion(name).better} is better)"


def draw_choosing(study: Study, by: str, on: str) -> Figure:
    """Each criterion on validation against the accuracy of the worst group on test, one point a candidate.

    Args:
        study: finished candidates.
        by: criterion whose best checkpoint a candidate stands for, in all panels.
        on: split of the worst group.
    """
    # Of other figures there are no counts on validation.
    names = [name for name in study.results[0].criteria if figure_in(name) is None] or [AVERAGE]
    figure, panels = panels_in_rows(len(names))
    for ax, name in zip(panels, names, strict=True):
        for method, results in _by_method(study).items():
            chosen = [result.counts(by, study.validation_split).shown(name) for result in results]
            worst = [result.counts(by, on).value("worst") for result in results]
            ax.plot(chosen, worst, "o", ms=5, alpha=0.75, label=method)
        ax.xaxis.set_major_locator(MaxNLocator(TICKS))
        ax.set_xlabel(f"{_title(name)}, on validation")
        ax.set_ylabel(f"accuracy of the worst group of {on}")
        tidy(ax)
    figure.suptitle(f"a point a candidate: its best checkpoint by {by}", fontsize=9)
    _legend(figure, panels[0])
    return figure


def draw_methods(study: Study, by: str, on: str, cells: Sequence[str]) -> Figure:
    """Criteria of each method on test, as a criterion chose it: by seed the true value, its interval and the observed.

    Where some method is not significantly better than always answering the commonest class, that answer is a line in
    the panel of ``overall``, which is then added.

    Args:
        study: finished candidates.
        by: criterion that chooses setting and epoch, on validation.
        on: split.
        cells: criteria, a panel each.
    """
    chosen = study.chosen(by)
    constants, said = _constant_answers(study, chosen, by, on)
    cells = list(dict.fromkeys([*cells, *([OVERALL] if constants else [])]))
    methods = shortened([visible(method) for method in chosen])
    figure, panels = panels_in_rows(len(cells))
    for ax, name in zip(panels, cells, strict=True):
        for place, results in enumerate(chosen.values()):
            for number, result in enumerate(results):
                counts = _counts(result, by, on, name)
                _draw_seed(ax, place + _beside(number, len(results)), counts, name, f"C{place}")
        for constant in constants if name == OVERALL else ():
            ax.axhline(constant, color=GREY, lw=1.2, ls="--", zorder=0)
        ax.set_xticks(range(len(chosen)), methods, rotation=35, ha="right", rotation_mode="anchor", parse_math=False)
        ax.set_title(_title(name), fontsize=10)
        tidy(ax)
        if ax.get_ylim()[0] > 0:
            ax.set_ylabel(CUT, fontsize=8)
    read = (
        f"{on}, chosen by {by}; a seed each: point and bar: true value, estimated, with 5 to 95 %; cross: observed",
        "bars of methods that differ may overlap, since all have the same rows: study compare tells them apart",
    )
    width = int(figure.get_figwidth() * LETTERS)
    lines = [line for one in (*read, *said) for line in textwrap.wrap(one, width, break_on_hyphens=False)]
    figure.supxlabel("\n".join(lines), fontsize=8, parse_math=False)
    return figure


def _counts(result: Result, by: str, on: str, name: str) -> Counts:
    """The counts that a criterion is of."""
    figure = figure_in(name)
    return result.counts(by, on, None if figure is None else figure.name)


def _constant_answers(
    study: Study, chosen: Mapping[str, Sequence[Result]], by: str, on: str
) -> tuple[list[float], list[str]]:
    """Shares right of the constant answers than which some method is not better, and the sentence that says it."""
    if on != study.tested(on):
        return [], []  # only reports of tests have them
    answers = {name: answers_of(results, by, on) for name, results in chosen.items()}
    shares = {one["value"] for some in answers.values() for one in map(unbeaten, some) if one is not None}
    if not shares:
        return [], []
    return sorted(shares), [f"Dashed in {OVERALL}: the constant answer. {no_better(answers, on, share=in_digits)[0]}"]


def _draw_seed(ax: Axes, x: float, counts: Counts, name: str, colour: str) -> None:
    """A criterion of one seed; its true value lies in its bar, and what was observed may not, by chance."""
    kept = (
        np.ones(len(counts.count), bool) if selectable_criterion(name).of_samples else counts.count >= counts.min_count
    )
    if figure_in(name) is None and selectable_criterion(name).has_interval and kept.any():
        noise = criteria_noise(counts.correct[kept], counts.count[kept], [name])[name]
        ax.vlines(x, noise.low, noise.high, color=colour, lw=5, alpha=0.25)
        ax.plot(x, noise.estimate, "o", color=colour, ms=4)
    ax.plot(x, counts.shown(name), "x", color=colour, ms=5)


def _beside(number: int, size: int) -> float:
    """Where the seed of that number stands beside the middle of its method."""
    return 0.6 * ((number + 0.5) / size - 0.5)


def draw_sorted_groups(study: Study, by: str, on: str) -> Figure:
    """Accuracies of the groups in ascending order, by method and seed, beside what chance alone would give.

    Args:
        study: finished candidates.
        by: criterion that chooses setting and epoch, on validation.
        on: split.
    """
    chosen = {method: [result.counts(by, on) for result in results] for method, results in study.chosen(by).items()}
    mean = {method: np.mean([_sorted(one) for one in counts], axis=0) for method, counts in chosen.items()}
    figure, panels = panels_in_rows(len(chosen), sharey=True)
    for number, (ax, (method, counts)) in enumerate(zip(panels, chosen.items(), strict=True)):
        size = counts[0].count
        pooled = sum(one.correct.sum() for one in counts) / sum(one.count.sum() for one in counts)
        at, low, high = chance_band(size, float(pooled))
        ax.fill_between(at + 1, low, high, color=GREY, alpha=0.35, lw=0, label="chance alone (5 to 95 %)")
        place = np.arange(1, len(size) + 1)
        for other, ordered in mean.items():
            if other != method:
                ax.plot(place, ordered, color="black", lw=1.2, ls=":", label="mean of another method")
        for one in counts:
            ax.plot(place, _sorted(one), color=f"C{number}", lw=1, marker="." if len(size) < 60 else "", label="a seed")
        ax.set_title(method, fontsize=10, parse_math=False)
        ax.set_xlabel(f"groups of {on}, the worst first")
        ax.set_ylabel("accuracy" if ax.get_subplotspec().is_first_col() else "")  # type: ignore[union-attr]
        number_groups(ax, len(size))
        tidy(ax)
    _legend(figure, panels[0])
    return figure


def _sorted(counts: Counts) -> np.ndarray:
    accuracy: np.ndarray = np.sort(counts.correct / counts.count)
    return accuracy


def draw_option(study: Study, option: str, by: str, on: str, cell: str) -> Figure:
    """A criterion on test by the value of an option, a point a candidate; rings mark those that were chosen.

    Where all values were tried with the same other options, and no search proposed them, there are means and standard
    deviations over candidates; a line joins the means of three values or more.

    Args:
        study: finished candidates.
        option: of a method, as ``cutoff``.
        by: criterion that chooses, on validation.
        on: split.
        cell: criterion that is shown.
    """
    figure, (ax,) = panels_in_rows(1)
    key, proposed = f"model.{option}", keys_of_trials(study.folder)
    tried = {
        method: {r: float(r.manifest["options"][key]) for r in results if key in r.manifest["options"]}
        for method, results in _by_method(study).items()
    }
    tried = {method: at for method, at in tried.items() if len(set(at.values())) > 1}
    colours = {method: f"C{number}" for number, method in enumerate(_by_method(study))}
    every = sorted({value for at in tried.values() for value in at.values()})
    is_log = spans_magnitudes(every)
    for number, (method, at) in enumerate(tried.items()):
        values, seen = sorted(set(at.values())), {result: _counts(result, by, on, cell).shown(cell) for result in at}
        share = BESIDE * (number - (len(tried) - 1) / 2)
        place = dict(zip(every, _moved(every, share, is_log=is_log), strict=True))
        colour = colours[method]
        ax.plot([place[x] for x in at.values()], list(seen.values()), "o", ms=4, alpha=0.5, color=colour, label=method)
        if _is_grid(at, key, proposed):
            of_values = [[seen[result] for result in at if at[result] == value] for value in values]
            _draw_means(ax, [place[value] for value in values], of_values, colour, f"{method}, mean ± sd")
        for result in study.chosen(by)[method]:
            if result in at:
                ax.plot(place[at[result]], seen[result], "o", mfc="none", ms=11, color=colour)
    if is_log:
        ax.set_xscale("log")
    if len(every) <= MARKED:
        ax.set_xticks(every, [f"{value:g}" for value in every])
        ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel(option)
    ax.set_ylabel(f"{_title(cell)}, {on}")
    ax.set_title(f"rings: chosen by {by} on validation, a seed each", fontsize=9)
    ax.legend(**BELOW)
    tidy(ax)
    return figure


def _moved(values: Sequence[float], share: float, *, is_log: bool) -> list[float]:
    """Ascending values of an option, moved by a share of their range along its axis."""
    low, high = values[0], values[-1]
    return [value * (high / low) ** share if is_log else value + share * (high - low) for value in values]


def _draw_means(
    ax: Axes, values: Sequence[float], of_values: Sequence[Sequence[float]], colour: str, label: str
) -> None:
    """Mean and standard deviation of the candidates of each value, beside the candidates themselves."""
    mean = [float(np.mean(some)) for some in of_values]
    sd = [float(np.std(some, ddof=1)) if len(some) > 1 else 0.0 for some in of_values]
    line = "-_" if len(values) >= LEAST_JOINED else "_"
    ax.errorbar(values, mean, sd, fmt=line, ms=12, capsize=4, lw=1, label=label, color=colour)


def _is_grid(at: Mapping[Result, float], key: str, proposed: Collection[str]) -> bool:
    """Whether each value of an option was tried with the same others, and no search proposed any."""
    others: dict[float, set[str]] = {}
    for result, value in at.items():
        rest = {name: other for name, other in result.manifest["options"].items() if name != key}
        others.setdefault(value, set()).add(json.dumps(rest, sort_keys=True, default=str))
    alike = len({frozenset(found) for found in others.values()}) == 1
    return alike and not any(result.manifest["key"] in proposed for result in at)


def spans_magnitudes(values: Sequence[float]) -> bool:
    """Whether ascending values lie more evenly on a logarithmic axis, as those of a learning rate do."""
    if len(values) < 2 or values[0] <= 0 or values[-1] < 10 * values[0]:
        return False
    plain, log = np.asarray(values), np.log(values)
    if len(values) == 2:
        return bool(values[1] >= 100 * values[0])
    return bool(np.diff(log).max() / np.ptp(log) < np.diff(plain).max() / np.ptp(plain))


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


def _legend(figure: Figure, ax: Axes) -> None:
    by_label = {label: handle for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(
        by_label.values(),
        by_label.keys(),
        loc="outside lower center",
        ncols=min(len(by_label), 6),
        fontsize=8,
        frameon=False,
    )
