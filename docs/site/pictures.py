"""Draws the pictures of the ideas: python docs/site/pictures.py."""

from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure

from drurank.noise import chance_band
from drurank.ranking import discounted_weights, rank_groups

DOCS = Path(__file__).parents[1]
FLOW = (
    (("data", "batches of inputs,\nlabel, group, index"), ("methods", "loss of each row,\nreduced to an objective")),
    (("training", "record: which rows\nwere right"), ("ranking", "accuracy, rank,\nweight of each group")),
    (("metrics", "rows and right ones\nby group"), ("criteria", "one number\nof all groups")),
    (("callbacks", "best checkpoint,\nfiles of a run"), ("report", "intervals, chance,\npages, pictures")),
)
"""Packages in the order in which data flows, two in a row, and what each makes."""
ARROWS = (
    ("data", "methods", "batch"),
    ("methods", "training", "step, epoch"),
    ("training", "ranking", "accuracy by group"),
    ("training", "metrics", "validation"),
    ("metrics", "criteria", "counts by group"),
    ("criteria", "report", "with intervals"),
    ("report", "callbacks", "test"),
)
"""From, to, and what is said of it; ``ranking`` gives weights back to ``methods`` as numbers, not by an import."""


def weights() -> Figure:
    """Weights of ten groups."""
    accuracy = torch.linspace(0.5, 0.95, 10)
    drawn = Figure(figsize=(6.5, 3), layout="constrained")
    axis = drawn.subplots()
    place = np.arange(10)
    for cutoff, colour in ((20, "#9ecae1"), (50, "#3182bd"), (100, "#08306b")):
        weight = discounted_weights(rank_groups(accuracy), cutoff)
        axis.plot(place, weight, "o-", color=colour, label=f"quantile, C = {cutoff}")
    axis.plot(place, np.where(place == 0, 5, 1), "s--", color="#d95f0e", markersize=4, label="Worst, factor 5")
    axis.axhline(1, color="grey", linewidth=0.8)
    axis.set_xticks(place, [f"{share:.0%}" for share in accuracy.tolist()])
    axis.set(xlabel="accuracy of the group in the last epoch", ylabel="weight in the next")
    axis.legend()
    return drawn


def chance() -> Figure:
    """Groups that are served alike, and groups of which ten are not."""
    rng = np.random.default_rng(1)
    count = np.full(100, 50)
    drawn = Figure(figsize=(8, 3), layout="constrained")
    axes = drawn.subplots(1, 2, sharey=True)
    worse = np.where(np.arange(100) < 10, 0.6, 0.8 + 0.2 / 9)
    for axis, true, title in zip(
        axes, (np.full(100, 0.8), worse), ("all served alike", "ten served worse"), strict=True
    ):
        correct = rng.binomial(count, true)
        _, low, high = chance_band(count, correct.sum() / count.sum())
        axis.fill_between(np.arange(1, 101), low, high, color="#d9dde3", label="chance alone (5 to 95 %)")
        axis.plot(np.arange(1, 101), np.sort(correct / count), color="#08519c", label="observed")
        axis.set(title=title, xlabel="groups, the worst first")
    axes[0].set_ylabel("accuracy")
    axes[0].legend(loc="lower right")
    return drawn


def flow() -> Figure:
    """The packages and how data flows between them."""
    drawn = Figure(figsize=(8, 4.6))
    axis = drawn.add_axes((0, 0, 1, 1))
    axis.set(xlim=(0, 8), ylim=(0, 4.8))
    axis.axis("off")
    place, made = {}, {}
    for line, pair in enumerate(FLOW):
        for column, (name, what) in enumerate(pair):
            x, y = (1.9, 6.1)[column], 4.2 - 1.15 * line
            place[name] = (x, y)
            box = {"boxstyle": "round,pad=0.5", "facecolor": "#eaf3f6", "edgecolor": "#0b4f5c"}
            made[name] = axis.text(x, y, f"drurank.{name}\n{what}", ha="center", va="center", fontsize=9, bbox=box)
    drawn.canvas.draw()
    for one, other, label in ARROWS:
        boxes = {"patchA": made[one].get_bbox_patch(), "patchB": made[other].get_bbox_patch()}
        style = {"arrowstyle": "-|>", "color": "#0b4f5c", "shrinkA": 2, "shrinkB": 2, **boxes}
        axis.annotate("", place[other], place[one], arrowprops=style)
        middle = np.add(place[one], place[other]) / 2
        axis.text(
            *middle, label, fontsize=8, ha="center", va="center", bbox={"facecolor": "white", "edgecolor": "none"}
        )
    return drawn


if __name__ == "__main__":
    places = {"ideas/weights": weights, "ideas/chance": chance, "about/flow": flow}
    for name, draw in places.items():
        draw().savefig(DOCS / f"{name}.png", dpi=100)
