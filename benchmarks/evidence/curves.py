"""Shortcut, one property of the data at a time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from benchmarks.evidence.kept import Kept
from benchmarks.evidence.markdown import table, with_interval
from benchmarks.evidence.methods import in_order
from benchmarks.evidence.values import chosen, differences, with_values

PANELS: Mapping[str, Mapping[str, str]] = {
    "flipped training groups": {
        "0 %": "flipped 0 %", "2 %": "flipped 2 %", "5 %": "flipped 5 %", "10 %": "flipped 10 %",
        "30 %": "flipped 30 %",
    },
    "rows a group": {
        "5": "group size 5", "20": "group size 20", "50": "flipped 10 %", "200": "group size 200",
    },
    "training groups": {"6": "6 groups", "20": "20 groups", "200": "flipped 10 %", "1000": "1000 groups"},
    "agreement of the shortcut": {
        "60 %": "agreement 60 %", "75 %": "agreement 75 %", "90 %": "flipped 10 %", "95 %": "agreement 95 %",
        "99 %": "agreement 99 %",
    },
    "groups with random labels": {
        "0 %": "flipped 10 %", "10 %": "noise in 10 % of groups", "30 %": "noise in 30 % of groups",
    },
}  # fmt: skip
"""Property to what its axis says and the variant of the experiment."""


def curve_tables(kept: Kept, name: str = "p10") -> str:
    """A table a property: each method less ``ERM``."""
    best = chosen(with_values(kept))
    parts = []
    for title, variants in PANELS.items():
        here = {label: best[best["variant"] == variant] for label, variant in variants.items()}
        here = {label: rows for label, rows in here.items() if len(rows)}
        if not here:
            continue
        rows = [["ERM", *(f"{some[some['method'] == 'ERM'][name].mean():.1f}" for some in here.values())]]
        against = {label: differences(kept, some, name) for label, some in here.items()}
        for method in in_order(best):
            if method != "ERM":
                rows.append([method, *(with_interval(name, each[method], True) for each in against.values())])
        parts.append(f"**{title.capitalize()}**\n\n{table([f'{name}; the others less ERM', *here], rows)}")
    return "\n\n".join(parts)


def draw_curves(kept: Kept, name: str = "p10") -> Figure:
    """A panel a property, a line a method."""
    best = chosen(with_values(kept))
    drawn = Figure(figsize=(13, 3.2), layout="constrained")
    axes = drawn.subplots(1, len(PANELS), sharey=True)
    for axis, (title, variants) in zip(axes, PANELS.items(), strict=True):
        here = [label for label, variant in variants.items() if (best["variant"] == variant).any()]
        for number, method in enumerate(in_order(best)):
            mine = best[best["method"] == method]
            mean = [mine[mine["variant"] == variants[label]][name].mean() for label in here]
            style = {"color": "black", "linewidth": 2} if method == "ERM" else {"color": f"C{number}"}
            axis.plot(np.arange(len(here)), mean, marker="o", markersize=3, label=method, **style)
        axis.set_xticks(np.arange(len(here)), here)
        axis.set_xlabel(title)
    axes[0].set_ylabel(f"{name} on unseen groups, %")
    axes[-1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    return drawn


def variants_table(kept: Kept, name: str = "p10") -> str:
    """A column a variant, a row a setting: each less ``ERM``."""
    rows = with_values(kept)
    test = rows[(rows["split"] == "ood_test")].assign(method=lambda some: some["setting"])
    variants = list(test["variant"].unique())
    against = {variant: differences(kept, test[test["variant"] == variant], name) for variant in variants}
    settings = [setting for setting in test["method"].unique() if setting != "ERM"]
    base = [
        "ERM",
        *(f"{test[(test['variant'] == one) & (test['method'] == 'ERM')][name].mean():.1f}" for one in variants),
    ]
    lines = [[one, *(with_interval(name, against[variant][one], True) for variant in variants)] for one in settings]
    return table([f"{name}; the others less ERM", *variants], [base, *lines])
