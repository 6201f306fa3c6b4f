"""The curve over the cutoff of qDRU+M on each data set."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks.evidence.kept import Kept
from benchmarks.evidence.markdown import table, with_interval
from benchmarks.evidence.values import Interval, chosen, differences, option, with_values

SHOWN = ("p10", "qdcg10")


@cache
def by_cutoff(kept: Kept, name: str) -> dict[str, Interval]:
    """Each cutoff of qDRU+M less ``ERM``, each with the rate that validation chooses."""
    rows = with_values(kept)
    cutoff = option(rows, "model.cutoff")
    mine = rows[rows["method"] == "qDRU+M"].assign(method=cutoff.map("C={:g}".format))
    rule = rows[rows["method"] == "qDRU+M auto"].assign(method="C=100 R")
    best = chosen(pd.concat([rows[rows["method"] == "ERM"], mine, rule]))
    return differences(kept, best, name)


def in_order(cutoffs: Mapping[str, Interval]) -> list[str]:
    """From small to large, then those that are words."""

    def place(name: str) -> tuple[int, float]:
        word = name.removeprefix("C=")
        return (0, float(word)) if word.replace(".", "").isdigit() else (1, 0.0)

    return sorted(cutoffs, key=place)


def cutoff_table(studies: Mapping[str, Kept], name: str) -> str:
    """A row a data set, a column a cutoff."""
    found = {title: by_cutoff(kept, name) for title, kept in studies.items()}
    order = in_order({key: value for each in found.values() for key, value in each.items()})
    rows = [
        [title, *(with_interval(name, each[key], True) if key in each else "" for key in order)]
        for title, each in found.items()
    ]
    return table(["data", *(key.removeprefix("C=") for key in order)], rows)


def rule_table(studies: Mapping[str, Kept]) -> str:
    """A row a data set: the cutoff that follows the data, less 100 and less the one that validation picks."""
    rows = []
    for title, kept in studies.items():
        values = with_values(kept)
        cutoff = option(values, "model.cutoff")
        mine, rule = values[values["method"] == "qDRU+M"], values[values["method"] == "qDRU+M auto"]
        fixed = mine[cutoff[mine.index] == 100].assign(method="100")
        best = chosen(pd.concat([fixed, mine.assign(method="picked"), rule]))
        cells = [
            with_interval(name, differences(kept, best[best["method"] != other], name, base)["qDRU+M auto"], True)
            for base, other in (("100", "picked"), ("picked", "100"))
            for name in SHOWN
        ]
        rows.append([title, *cells])
    return table(["data", *(f"{name} less {base}'s" for base in ("100", "the picked one") for name in SHOWN)], rows)


def draw_cutoffs(studies: Mapping[str, Kept], name: str = "p10") -> Figure:
    """A panel a data set: the cutoff against the difference from ``ERM``, with 95 % intervals."""
    drawn = Figure(figsize=(2.6 * len(studies), 2.8), layout="constrained")
    axes = drawn.subplots(1, len(studies), squeeze=False)[0]
    for axis, (title, kept) in zip(axes, studies.items(), strict=True):
        each = {
            key: one for key, one in by_cutoff(kept, name).items() if key.removeprefix("C=").replace(".", "").isdigit()
        }
        order = in_order(each)
        place = np.arange(len(order))
        mean = np.array([each[key].mean for key in order])
        low, high = (np.array([getattr(each[key], end) for key in order]) for end in ("low", "high"))
        axis.axhline(0, color="grey", linewidth=0.8)
        few = np.isnan(low).any()  # a line between such points would look like a finding
        hollow = {"fmt": "o", "markerfacecolor": "white"} if few else {"fmt": "o-"}
        axis.errorbar(place, mean, [mean - low, high - mean], color="#0b6e99", capsize=2, **hollow)
        axis.set_xticks(place, [f"{float(key.removeprefix('C=')):g}" for key in order])
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("cutoff C")
    axes[0].set_ylabel(f"{name} less ERM's, points" if name == "p10" else f"{name} less ERM's")
    return drawn
