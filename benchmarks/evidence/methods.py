"""Methods by criteria on one data set, with what chance does to them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks.evidence.kept import Kept
from benchmarks.evidence.markdown import figure, table, with_interval
from benchmarks.evidence.values import SHOWN, Interval, chosen, differences, in_points, option, with_values
from drurank.criteria import criterion
from drurank.noise import criteria_noise
from drurank.spread import fit_spread

ORDER = (
    "ERM", "qDRU+M", "qDRU+G", "gDRU+M", "gDRU+G", "Worst+M", "Worst+G", "Const+M", "GroupDRO", "JTT", "IRM", "CVaR",
    "ChiSquare", "DFR",
)  # fmt: skip


OF_CURVE = (0, 2, 10, 50)
"""Cutoffs of ``plans/methods.yaml`` that only the curve over the cutoff needs."""


@cache
def compared(kept: Kept) -> pd.DataFrame:
    """What is chosen of each method, which has as many settings as any other."""
    rows = with_values(kept)
    return chosen(rows[~option(rows, "model.cutoff").isin(OF_CURVE)])


@cache
def less_erm(kept: Kept, name: str) -> Mapping[str, Interval]:
    """Each method less ``ERM`` in one criterion."""
    return differences(kept, compared(kept), name)


def in_order(best: pd.DataFrame) -> list[str]:
    """Methods as tables show them."""
    here = list(best["method"].unique())
    return [name for name in ORDER if name in here] + sorted(set(here) - set(ORDER))


def methods_table(kept: Kept) -> str:
    """Means over seeds, and differences from ``ERM`` in ``p10``, ``worst`` and ``qdcg10``."""
    best = compared(kept)
    against = {name: less_erm(kept, name) for name in SHOWN[1:]}
    rows = []
    for method in in_order(best):
        mine = best[best["method"] == method]
        line = [method, *(f"{figure(name, mine[name].mean())}" for name in SHOWN)]
        for name in SHOWN[1:]:
            line.append("" if method == "ERM" else with_interval(name, against[name][method], True))
        rows.append([*line, f"{int(mine['plain'].sum())} of {len(mine)}"])
    head = ["method", *SHOWN, *(f"{name} less ERM's" for name in SHOWN[1:]), "plain"]
    return table(head, rows)


def chance_line(kept: Kept) -> str:
    """The spread of true accuracies under ``ERM``, and what chance alone would give; of the first seed."""
    best = compared(kept)
    best = best[best["method"] == "ERM"].sort_values("seed")
    row = best.iloc[0]
    correct, count = row["correct"].astype(np.int64), kept.counts[row["piece"], row["split"]]
    spread = fit_spread(correct, count)
    noise = criteria_noise(correct, count, ("p10", "worst", "qdcg10"), spread=spread)
    said = ", ".join(
        "`{}` {} ({} to {})".format(
            name, *(figure(name, float(in_points(name, end))) for end in (one.floor, one.floor_low, one.floor_high))
        )
        for name, one in noise.items()
    )
    few, many = int(count.min()), int(count.max())
    rows = f"{few} rows each" if few == many else f"{few} to {many} rows each"
    return (
        f"Test: {len(count):,} groups, {rows}. Under ERM (seed {row['seed']}) the true accuracies have a standard "
        f"deviation of {100 * spread.sd:.1f} points (90 %: {100 * spread.low:.1f} to {100 * spread.high:.1f}). If all "
        f"groups were served alike, chance alone would give {said}."
    )


def summary(studies: Mapping[str, Kept], name: str) -> str:
    """A row a method, a column a data set: its difference from ``ERM``, bold where it is told from chance."""
    found = {title: less_erm(kept, name) for title, kept in studies.items()}
    order = [method for method in ORDER if method != "ERM"]
    rows = []
    for method in order:
        each = [against.get(method) for against in found.values()]
        better = 1 if criterion(name).higher_is_better else -1
        several = [one for one in each if one is not None and not np.isnan(one.low)]
        told = [int(np.sign(one.mean) * better) for one in several if one.told]
        cells = ["" if one is None else with_interval(name, one, True) for one in each]
        of = f" of {len(several)}"
        rows.append([method, *cells, f"{told.count(1)}{of}", f"{told.count(-1)}{of}"])
    return table(["method", *found, "told better", "told worse"], rows)


def answer(studies: Mapping[str, Kept], names: str) -> str:
    """In a sentence how many differences from ``ERM`` are told from chance, and which.

    Args:
        studies: experiments by title.
        names: of criteria, separated by blanks.
    """
    told, number, few = [], 0, dict[str, None]()
    for title, kept in studies.items():
        for name in names.split():
            better = 1 if criterion(name).higher_is_better else -1
            for method, one in less_erm(kept, name).items():
                if method not in ORDER:
                    continue
                if np.isnan(one.low):
                    few[title] = None
                    continue
                number += 1
                side = "better" if one.mean * better > 0 else "worse"
                told += [f"{method} on {title} ({side} in `{name}`: {figure(name, one.mean, True)})"] * one.told
    of = f"differences from ERM in {' and '.join(f'`{name}`' for name in names.split())}"
    if told:
        said = f"Of {number} {of}, these are told from chance: {'; '.join(told)}."
    else:
        said = f"None of {number} {of} is told from chance."
    return said + (f" Too few seeds yet: {', '.join(few)}." if few else "")


def draw_methods(studies: Mapping[str, Kept], name: str = "p10") -> Figure:
    """A panel a data set: each method less ``ERM``, with 95 % intervals."""
    drawn = Figure(figsize=(2.3 * len(studies) + 1, 4), layout="constrained")
    axes = drawn.subplots(1, len(studies), sharey=True, squeeze=False)[0]
    order = [method for method in ORDER if method != "ERM"][::-1]
    for axis, (title, kept) in zip(axes, studies.items(), strict=True):
        against = less_erm(kept, name)
        axis.axvline(0, color="grey", linewidth=0.8)
        for place, method in enumerate(order):
            if method not in against:
                continue
            one = against[method]
            colour = "#0b6e99" if one.told else "#9a9a9a"
            ends = [[one.mean - one.low], [one.high - one.mean]]
            face = "white" if np.isnan(one.low) else colour
            axis.errorbar(one.mean, place, xerr=ends, fmt="o", color=colour, markerfacecolor=face, capsize=2)
        axis.set_yticks(np.arange(len(order)), order)
        axis.set_title(title, fontsize=9)
        axis.set_xlabel(f"{name} less ERM's", fontsize=8)
    return drawn
