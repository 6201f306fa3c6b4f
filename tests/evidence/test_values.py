"""Criteria, chosen settings and intervals of the evidence are right by hand."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pa_parquet
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm

from benchmarks.evidence import paper
from benchmarks.evidence.cutoffs import rule_table
from benchmarks.evidence.kept import Kept, _replace
from benchmarks.evidence.methods import answer
from benchmarks.evidence.reliable import reliability
from benchmarks.evidence.synthetic import best_accuracy
from benchmarks.evidence.values import chosen, differences, option, over_seeds, with_values

COUNT = np.array([10, 10, 10])


def row(method, setting, seed, valid, test, *, is_drawn=True):
    """The rows of one candidate: what it got right in three groups of validation and of test."""
    same = {
        "piece": f"p{seed}",
        "variant": "",
        "is_drawn": is_drawn,
        "method": method,
        "setting": setting,
        "options": json.dumps({"model.cutoff": 5} if method == "DRU" else {}),
        "seed": seed,
        "plain": False,
    }
    return [
        {**same, "split": "ood_val", "correct": np.array(valid)},
        {**same, "split": "ood_test", "correct": np.array(test)},
    ]


def kept(*rows):
    """An experiment of these candidates."""
    rows = pd.DataFrame([one for pair in rows for one in pair])
    counts = {(piece, split): COUNT for piece in rows["piece"].unique() for split in ("ood_val", "ood_test")}
    return Kept(rows, counts)


def test_the_setting_that_is_best_on_validation_is_shown_on_test():
    found = chosen(
        with_values(
            kept(
                row("DRU", "a", 0, [9, 9, 9], [1, 2, 3]),
                row("DRU", "b", 0, [5, 9, 9], [9, 9, 9]),
                row("DRU", "a", 1, [5, 9, 9], [9, 9, 9]),
                row("DRU", "b", 1, [6, 9, 9], [3, 6, 9]),
            )
        )
    ).sort_values("seed")
    assert found["setting"].tolist() == ["a", "b"]
    assert found["average"].tolist() == pytest.approx([20, 60])
    assert found["worst"].tolist() == pytest.approx([10, 30])
    assert option(found, "model.cutoff").tolist() == [5, 5]


def test_interval_over_seeds_is_students():
    values = [1.0, 2.0, 4.0]
    found = over_seeds(values, comparisons=13)
    error = np.std(values, ddof=1) / np.sqrt(3)
    assert (found.low, found.high) == pytest.approx((7 / 3 - 4.302653 * error, 7 / 3 + 4.302653 * error))
    assert found.excludes(10)
    assert not found.excludes(2.0)
    assert not found.told
    assert over_seeds([1.0, 1.1, 0.9], comparisons=13).told  # 1 / (.1 / sqrt(3)) = 17.3 > t(1 - .05/26, 2) = 16.0
    assert not over_seeds([1.0, 1.1, 0.9], comparisons=16).told  # ... > 17.8
    for few in ([1.0], [1.0, 1.0]):  # criteria come in steps, so two seeds may agree by chance
        alone = over_seeds(few)
        assert np.isnan(alone.low)
        assert not alone.told
        assert not alone.excludes(5)


def test_differences_of_generated_data_are_those_of_the_seeds():
    experiment = kept(
        row("ERM", "e", 0, [5, 5, 5], [5, 5, 5]),
        row("DRU", "d", 0, [5, 5, 5], [6, 6, 6]),
        row("ERM", "e", 1, [5, 5, 5], [4, 4, 4]),
        row("DRU", "d", 1, [5, 5, 5], [7, 7, 7]),
        row("ERM", "e", 2, [5, 5, 5], [5, 5, 5]),
        row("DRU", "d", 2, [5, 5, 5], [7, 7, 7]),
    )
    found = differences(experiment, chosen(with_values(experiment)), "average")["DRU"]
    assert found.mean == pytest.approx(20)
    half = 4.302653 * np.std([10, 30, 20], ddof=1) / np.sqrt(3)
    assert (found.low, found.high) == pytest.approx((20 - half, 20 + half), rel=1e-5)


@pytest.mark.parametrize(("name", "better"), [("average", 1), ("qdcg10", -1)])
def test_differences_of_real_data_are_the_method_less_erm(name, better):
    rng = np.random.default_rng(0)
    groups, seeds = 60, 3
    rows = []
    for method, accuracy in (("ERM", 0.5), ("DRU", 0.9)):
        for seed in range(seeds):
            drawn = rng.binomial(50, accuracy, (2, groups))
            rows.append(row(method, method, seed, *drawn, is_drawn=False))
    frame = pd.DataFrame([one for pair in rows for one in pair])
    experiment = Kept(
        frame, {(f"p{s}", split): np.full(groups, 50) for s in range(seeds) for split in ("ood_val", "ood_test")}
    )
    best = chosen(with_values(experiment))
    found = differences(experiment, best, name)["DRU"]
    mean = best.groupby("method")[name].mean()
    assert found.mean == pytest.approx(mean["DRU"] - mean["ERM"])
    assert found.told
    assert found.low < found.mean < found.high
    assert np.sign(found.mean) == better


def test_what_is_kept_of_a_piece_takes_the_place_of_what_was(tmp_path):
    file = tmp_path / "x.parquet"
    for piece, correct in (("a", 1), ("b", 2), ("a", 3)):
        _replace(file, piece, [{"piece": piece, "split": "s", "count": correct}], {})
    assert pa_parquet.read_table(file).to_pylist() == [
        {"piece": "a", "split": "s", "count": 3},
        {"piece": "b", "split": "s", "count": 2},
    ]


def test_reliability_is_what_numpy_gives_and_0_of_equal_groups():
    rng = np.random.default_rng(0)
    count = rng.integers(2, 60, 500)
    correct = rng.binomial(count, rng.beta(8, 3, 500))
    a = correct / count
    right = 1 - np.mean(a * (1 - a) / (count - 1)) / np.var(a, ddof=1)
    assert right > 0.1
    lone = reliability(torch.tensor([*a, 1.0]), torch.tensor([*count, 1]))
    assert float(lone) == pytest.approx(right), "a group of one row says nothing of chance"
    assert float(reliability(torch.full((4,), 0.5), torch.full((4,), 10))) == 0
    both = reliability(torch.tensor(np.stack([a, a])), torch.tensor(np.stack([count, count])))
    assert both.tolist() == pytest.approx([right, right])


def test_the_best_classifier_of_the_papers_data():
    exact, _ = quad(lambda s: norm.cdf(abs(np.sin(s)) / 0.5) * norm.pdf(s, scale=np.sqrt(8)), -20, 20, limit=500)
    assert best_accuracy() == pytest.approx(exact, abs=0.002)
    assert exact == pytest.approx(0.858, abs=0.001)


def test_the_papers_tables_have_a_cell_for_each_method():
    for table in (paper.SYNTHETIC, paper.REAL):
        for cells in table.values():
            assert len(cells) == len(paper.METHODS)
            assert all(average >= p10 >= worst for average, p10, worst in cells)


def test_the_answer_names_what_is_told_from_chance_alone():
    experiment = kept(
        *(row("ERM", "e", seed, [5, 5, 5], [5, 5, 5 + seed % 2]) for seed in range(3)),
        *(row("DFR", "d", seed, [5, 5, 5], [8, 8, 8 + seed % 2]) for seed in range(3)),
        *(row("JTT", "j", seed, [5, 5, 5], [5, 5, 5 + seed]) for seed in range(3)),
    )
    alone = kept(row("ERM", "e", 0, [5, 5, 5], [5, 5, 5]), row("DFR", "d", 0, [5, 5, 5], [9, 9, 9]))
    assert answer({"Made": experiment, "Once": alone}, "average p10") == (
        "Of 4 differences from ERM in `average` and `p10`, these are told from chance: DFR on Made (better in "
        "`average`: +30.0); DFR on Made (better in `p10`: +30.0). Too few seeds yet: Once."
    )


def test_the_rule_is_compared_with_a_fixed_cutoff_and_with_the_picked_one():
    options = {"fixed": {"model.cutoff": 100}, "small": {"model.cutoff": 5}, "rule": {}}
    found = kept(
        row("ERM", "e", 0, [5, 5, 5], [5, 5, 5]),
        row("qDRU+M", "fixed", 0, [6, 6, 6], [7, 7, 7]),
        row("qDRU+M", "small", 0, [9, 9, 9], [4, 4, 4]),
        row("qDRU+M auto", "rule", 0, [6, 6, 6], [8, 8, 8]),
    )
    given = found.rows["setting"].map(lambda name: json.dumps(options.get(name, {})))
    said = rule_table({"Made": Kept(found.rows.assign(options=given), found.counts)})
    assert said.splitlines()[-1].startswith("| Made | +10.0 | ")
    assert said.splitlines()[-1].split(" | ")[3] == "+40.0"
