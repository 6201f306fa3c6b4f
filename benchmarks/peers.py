"""Time of accuracies by group against fairlearn's MetricFrame: python benchmarks/peers.py.

100,000 rows in 1,000 groups, one thread. Both take turns; a figure is the quickest of them, the ratio the median of
those of a turn. fairlearn is optional: pip install 'drurank[bench]'.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch
from shown import Row, print_rows
from sklearn.metrics import accuracy_score

from drurank.ranking import group_accuracy

ROWS, GROUPS, REPEATS = 100_000, 1_000, 3
MISSING = "fairlearn is not installed, so accuracies by group are compared with nothing: pip install 'drurank[bench]'"


def seconds(function: Callable[[], object]) -> float:
    begun = time.thread_time()
    function()
    return time.thread_time() - begun


def measure() -> list[Row]:
    """Accuracy of every group; no row where fairlearn is not installed, and that is said."""
    try:
        from fairlearn.metrics import MetricFrame
    except ModuleNotFoundError:
        print(MISSING)
        return []
    generator = np.random.default_rng(0)
    group = generator.integers(GROUPS, size=ROWS)
    label, prediction = generator.integers(2, size=(2, ROWS))
    correct, number = torch.from_numpy(label == prediction), torch.from_numpy(group)

    def theirs() -> np.ndarray:
        frame = MetricFrame(metrics=accuracy_score, y_true=label, y_pred=prediction, sensitive_features=group)
        return frame.by_group.to_numpy()

    def ours() -> np.ndarray:
        return group_accuracy(correct, number, GROUPS)[0].numpy()

    np.testing.assert_allclose(ours(), theirs())
    taken = np.array([(seconds(ours), seconds(theirs)) for _ in range(REPEATS)])
    ratio = float(np.median(taken[:, 0] / taken[:, 1]))
    return [Row(f"accuracy of {GROUPS:,} groups", 1000 * taken[:, 0].min(), "ms", "fairlearn's MetricFrame", ratio)]


if __name__ == "__main__":
    torch.set_num_threads(1)
    print_rows(measure())
