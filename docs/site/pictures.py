"""Draws the pictures of the ideas: python docs/site/pictures.py."""

from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure

from drurank.noise import chance_band
from drurank.ranking import discounted_weights, rank_groups

IDEAS = Path(__file__).parents[1] / "ideas"


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


if __name__ == "__main__":
    for name, drawn in (("weights", weights()), ("chance", chance())):
        drawn.savefig(IDEAS / f"{name}.png", dpi=100)
