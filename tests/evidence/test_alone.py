"""Models that are trained again are those that are kept, and compared by hand."""

import json

import numpy as np
import pandas as pd
import pytest

from benchmarks.evidence.alone import alone_table, compared, drawn, entry_of, piece_of
from benchmarks.evidence.experiments import Experiment
from benchmarks.evidence.kept import Kept, results_of

COUNT = np.array([100, 400])
KEPT = pd.Series({"piece": "p-seed-0", "setting": "DRU cutoff=5", "epoch": 3, "correct": np.array([50, 320])})


def test_rows_that_moved_are_counted_by_group():
    line = compared(KEPT, COUNT, 4, np.array([53, 318]))
    assert (line["moved"], line["rows"], line["epoch"], line["epoch_alone"]) == (5, 500, 3, 4)
    assert (line["average"], line["average_alone"]) == pytest.approx((65, (53 + 79.5) / 2))
    half = 1.96 * np.sqrt(0.5 * 0.5 / 100 + 0.8 * 0.2 / 400) / 2 * 100  # of the mean of two shares
    assert line["average_half"] == pytest.approx(half, rel=0.06)
    assert alone_table(pd.DataFrame([line])).splitlines()[-1].endswith("| 5 of 500 |")


def test_the_lot_is_the_same_again_and_among_tested_models():
    kept = {"shortcut": Kept.read(results_of("full"), "shortcut")}
    first, again = (drawn(kept, 5, 0) for _ in range(2))
    assert [row["setting"] for _, row in first] == [row["setting"] for _, row in again]
    assert {row["split"] for _, row in first} == {"ood_test"}
    assert [row["setting"] for _, row in drawn(kept, 5, 1)] != [row["setting"] for _, row in first]
    piece = piece_of(Experiment.read("shortcut", "full"), first[0][1]["piece"])
    assert piece.name == first[0][1]["piece"]


def test_the_entry_of_a_model_has_its_class_by_name():
    for model in ("ERM", "a.b.ReliableDRU"):
        row = pd.Series({"setting": f"{model} lr=1", "options": json.dumps({"model.optimizer.lr": 1})})
        assert entry_of(row) == {"model": model, "model.optimizer.lr": 1}
