import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pa_parquet
import pytest
import torch

import two_processes
from reference import accuracies, criteria, discounts, ranks, spread
from runs import read_csv, read_json

LIMIT = 150


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """What each of two processes saw, and the folder they worked in."""
    folder = tmp_path_factory.mktemp("two")
    environment = {name: value for name, value in os.environ.items() if name not in ("PL_GLOBAL_SEED", "LOCAL_RANK")}
    log = folder / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, Path(two_processes.__file__), folder],
            stdout=out,
            stderr=out,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
        try:
            code = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = f"not ended in {LIMIT} s"
    assert code == 0, f"{code}: {log.read_text()[-4000:]}"
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in (0, 1)], folder


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """The same in one process, with batches of twice the size."""
    folder = tmp_path_factory.mktemp("one")
    os.environ.pop("PL_GLOBAL_SEED", None)
    return two_processes.everything(1, folder), folder


def test_global_batches_are_those_of_one_process(two, one):
    by_rank, alone = [seen["command line"]["drawn"] for seen in two[0]], one[0]["command line"]["drawn"]
    assert [len(epoch) for epoch in alone] == [5] * two_processes.EPOCHS
    for epoch, batches in enumerate(alone):
        for batch, first, second in zip(batches, by_rank[0][epoch], by_rank[1][epoch], strict=True):
            assert sorted(first + second) == sorted(batch)
        assert sorted(map(len, (by_rank[0][epoch][-1], by_rank[1][epoch][-1]))) == [0, 1]
        assert sorted(row for batch in batches for row in batch) == list(range(33))


def test_parameters_agree_with_one_process(two, one):
    states = [
        torch.load(folder / "version_0/checkpoints/last.ckpt", weights_only=True)["state_dict"]
        for folder in (two[1], one[1])
    ]
    for name, value in states[1].items():
        torch.testing.assert_close(states[0][name], value, rtol=0, atol=1e-5)


def test_weights_and_criteria_are_equal_on_every_rank_and_to_one_process(two, one):
    first, second = (seen["command line"] for seen in two[0])
    alone = one[0]["command line"]
    assert len(alone["weights"]) == two_processes.EPOCHS + 1
    assert alone["weights"][1].max() > 1
    for seen in (first, second):
        for weight, should in zip(seen["weights"], alone["weights"], strict=True):
            torch.testing.assert_close(weight, should, rtol=0, atol=0)
        assert seen["criteria"] == alone["criteria"]
    assert first["best"] == second["best"]
    names = [[Path(path).name for path in epoch] for epoch in alone["best"]]
    assert [[Path(path).name for path in epoch] for epoch in first["best"]] == names


def test_files_are_those_of_one_process(two, one):
    for name in ("weights.csv", "test/worst/groups.csv"):
        assert read_csv(two[1] / "version_0" / name) == read_csv(one[1] / "version_0" / name)
    assert read_json(two[1] / "version_0/selection.json") == read_json(one[1] / "version_0/selection.json")
    reports = [read_json(folder / "version_0/test/qdcg10/report.json")["splits"] for _, folder in (two, one)]
    assert reports[0] == reports[1]
    assert reports[0]["ood_test"]["rows"] == 9
    assert sorted(path.name for path in two[1].glob("version_*")) == sorted(
        path.name for path in one[1].glob("version_*")
    )


def test_predictions_are_those_of_one_process_each_row_once(two, one):
    (ours,), (theirs,) = (list(folder.rglob("predictions.parquet")) for _, folder in (two, one))
    key = [("split", "ascending"), ("row", "ascending")]
    ours, theirs = (pa_parquet.read_table(file).sort_by(key).to_pydict() for file in (ours, theirs))
    assert len(ours["row"]) == 33 + 9 + 9
    np.testing.assert_allclose(ours.pop("probabilities"), theirs.pop("probabilities"), atol=1e-5)
    assert ours == theirs


SHOULD = accuracies(*two_processes.ODD, 5)


@pytest.mark.parametrize("accuracy_from", ["evaluation", "training"])
def test_group_accuracies_do_not_depend_on_the_number_of_processes(two, one, accuracy_from):
    correct, group = np.array(two_processes.ODD[0]), np.array(two_processes.ODD[1])
    weight = spread(discounts(ranks(SHOULD), 100), correct, group, "misclassified")
    for seen in (*two[0], one[0]):
        seen = seen[accuracy_from]
        np.testing.assert_allclose(seen["accuracy"], SHOULD, atol=1e-12)
        assert seen["count"].tolist() == [21, 20, 20, 20, 20]
        np.testing.assert_allclose(seen["weight"], weight, rtol=1e-6)
        counts = [correct[group == g].sum() for g in range(5)]
        for name, value in criteria(counts, [21, 20, 20, 20, 20]).items():
            assert seen["tested"][f"test_{name}"] == pytest.approx(value, rel=1e-5), name


def test_odd_validation_row_is_counted_once(two, one):
    for seen in (*two[0], one[0]):
        logged = seen["evaluation"]["logged"]
        assert logged["val_worst"] == pytest.approx(0.5)
        assert logged["val_average"] == pytest.approx(0.75)
        assert logged["val_overall"] == pytest.approx(6 / 7)


def test_process_without_a_validation_row_does_not_hang_or_differ(two, one):
    for seen in (*two[0], one[0]):
        assert seen["training"]["logged"]["val_worst"] == 1
        assert seen["training"]["logged"]["val_overall"] == 1


@pytest.mark.parametrize("accuracy_from", ["evaluation", "training"])
def test_predictions_of_own_loaders_land_on_their_rows(two, one, accuracy_from):
    correct, group = np.array(two_processes.SEVEN[0]), np.array(two_processes.SEVEN[1])
    weight = spread(discounts(ranks(accuracies(correct, group, 2)), 100), correct, group, "misclassified")
    for seen in (*two[0], one[0]):
        seen = seen["own loaders"][accuracy_from]
        assert seen["correct"].tolist() == correct.tolist()
        np.testing.assert_allclose(seen["weight"], weight, rtol=1e-6)


def test_padding_of_own_validation_loaders_counts_once(two, one):
    for seen in (*two[0], one[0]):
        logged = seen["own loaders"]["evaluation"]["logged"]
        assert logged["val_worst"] == pytest.approx(0.5)
        assert logged["val_average"] == pytest.approx(0.75)


def test_every_process_stops_when_one_has_a_loss_that_is_nan(two, one):
    for seen in (*two[0], one[0]):
        assert "nan or inf in epoch 0" in seen["nan"]


def test_objectives_over_the_worst_samples_look_at_the_global_batch(two, one):
    for name, alone in one[0]["worst samples"].items():
        assert "weight" not in alone or (alone["weight"] - torch.eye(2)).abs().max() > 0.01
        for seen in two[0]:
            for key, value in alone.items():
                torch.testing.assert_close(seen["worst samples"][name][key], value, rtol=0, atol=1e-6)
