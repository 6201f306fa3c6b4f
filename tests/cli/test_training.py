"""What a fit leaves, and what a test and a prediction make of it."""

import math
import re
import shlex
import shutil
import warnings
from pathlib import Path

import numpy as np
import pyarrow.parquet as pa_parquet
import pytest
import torch
import yaml
from matplotlib.image import imread
from scipy.stats import beta, binom

from drurank.cli.program import program
from drurank.data import Shortcut
from drurank.methods import DRU
from drurank.spread import shrunk_accuracy
from reference import CRITERIA, accuracies, criteria, discounts, ranks
from runs import SELECT, SMALL, read_csv, read_json

# ---- what a fit leaves


def test_selection_names_the_best_epoch_by_each_criterion(done):
    validations = [row for row in read_csv(done / "metrics.csv") if "val_qdcg10" in row]
    assert [int(row["epoch"]) for row in validations] == [0, 1, 2]
    selection = read_json(done / "selection.json")
    assert list(selection) == SELECT
    for name, entry in selection.items():
        values = [float(row[f"val_{name}"]) for row in validations]
        best = min(values) if name == "qdcg10" else max(values)
        assert entry["value"] == pytest.approx(best, rel=1e-6)
        assert values[entry["epoch"]] == best
        assert entry["file"] == f"checkpoints/{name}.ckpt"
        assert torch.load(done / entry["file"], weights_only=True)["epoch"] == entry["epoch"]
    assert {path.name for path in (done / "checkpoints").iterdir()} == {f"{n}.ckpt" for n in [*SELECT, "last"]}
    assert torch.load(done / "checkpoints/last.ckpt", weights_only=True)["epoch"] == 2


def test_every_checkpoint_loads_as_plain_values(done):
    files = list(done.rglob("*.ckpt"))
    assert len(files) == 5
    for file in files:
        saved = torch.load(file, weights_only=True)
        assert not any(
            key.rpartition(".")[2] == "weight" and value.shape == (60,) for key, value in saved["state_dict"].items()
        )
        weight = saved["drurank"]["training"]["state"]["weight"]
        assert weight.shape == (60,)
        assert weight.isfinite().all()


def test_weights_table_follows_from_its_accuracies(done):
    rows = read_csv(done / "weights.csv")
    assert [int(row["epoch"]) for row in rows] == [e for e in range(4) for _ in range(6)]
    top = math.log2(102)
    for epoch in range(4):
        table = rows[6 * epoch : 6 * epoch + 6]
        assert [row["group"] for row in table] == [f"train_{g}" for g in range(6)]
        if epoch == 0:
            assert {(row["count"], row["mean_weight"], row["max_weight"]) for row in table} == {("0", "1", "1")}
            assert not any("accuracy" in row or "rank" in row for row in table)
            continue
        accuracy = np.array([float(row["accuracy"]) for row in table])
        rank = ranks(accuracy)
        weight = discounts(rank, 100)
        assert weight.max() == pytest.approx(top)
        np.testing.assert_allclose([float(row["rank"]) for row in table], rank, rtol=1e-9)
        # qDRU+M: the wrong ones of a group's ten rows have the weight, the others 1.
        np.testing.assert_allclose(
            [float(row["mean_weight"]) for row in table], accuracy + (1 - accuracy) * weight, rtol=1e-6
        )
        np.testing.assert_allclose(
            [float(row["max_weight"]) for row in table], np.where(accuracy < 1, weight, 1), rtol=1e-6
        )
        assert {row["count"] for row in table} == {"10"}


def test_last_rows_of_the_weights_table_are_what_the_network_gets_right(done):
    data = Shortcut(groups=[6, 4, 4], group_size=10)
    method = DRU.load_from_checkpoint(done / "checkpoints/last.ckpt").eval()
    batch = data.dataset("train")[list(range(60))]
    with torch.no_grad():
        right = (method(batch["inputs"]).argmax(dim=1) == batch["label"]).numpy()
    table = read_csv(done / "weights.csv")[-6:]
    np.testing.assert_allclose([float(row["accuracy"]) for row in table], accuracies(right, batch["group"].numpy(), 6))


def test_metrics_have_the_same_keys_in_every_epoch(done):
    validations = [row for row in read_csv(done / "metrics.csv") if "val_qdcg10" in row]
    wanted = {f"val_{name}" for name in [*CRITERIA, "p25", "loss"]}
    assert all(set(row) == wanted | {"epoch", "step"} for row in validations)


def test_configuration_of_a_run_is_enough_to_repeat_it(done, run, tmp_path):
    run("fit", "--config", done / "config.yaml", "--trainer.default_root_dir", tmp_path)
    again = tmp_path / "version_0"
    assert read_json(again / "selection.json") == read_json(done / "selection.json")
    assert (again / "weights.csv").read_text() == (done / "weights.csv").read_text()


def test_runs_have_folders_of_their_own(fit):
    first, second = fit("runs", epochs=1, method="ERM"), fit("runs", epochs=1, method="ERM")
    assert first != second
    for folder in (first, second):
        assert yaml.safe_load((folder / "config.yaml").read_text())["model"]["class_path"] == "drurank.methods.ERM"
        assert (folder / "selection.json").is_file()


@pytest.mark.parametrize("select", ["worst,qdcg25", "[worst, qdcg25]"])
def test_select_takes_commas_or_a_list(fit, select):
    folder = fit("runs", "--select", select, epochs=1, method="ERM")
    assert list(read_json(folder / "selection.json")) == ["worst", "qdcg25"]


def test_group_never_drawn_has_no_rank_in_the_weights_table(fit):
    limited = ["--trainer.limit_train_batches", "1", "--data.batch_size", "2", "--model.accuracy_from", "training"]
    rows = read_csv(fit("runs", *limited, "--model.upweight", "all", epochs=1) / "weights.csv")[-6:]
    never = [row for row in rows if row["count"] == "0"]
    assert len(never) >= 4  # two rows were drawn
    for row in never:
        assert row["mean_weight"] == row["max_weight"] == "1"
        assert "accuracy" not in row
        assert "rank" not in row
    drawn = [row for row in rows if row["count"] != "0"]
    accuracy = np.array([float(row["accuracy"]) for row in drawn])
    np.testing.assert_allclose([float(row["rank"]) for row in drawn], ranks(accuracy))  # m is of the drawn alone


def test_sizes_that_come_from_the_data_are_written_down(fit, caplog, capsys):
    folder = fit("runs", epochs=1, method="ERM")
    written = "".join(path.read_text() for path in folder.glob("*.yaml"))
    said = written + caplog.text + capsys.readouterr().out
    assert re.search(r"in_features\W+2\b", said)
    assert re.search(r"num_classes\W+2\b", said)


def test_trial_of_one_batch_leaves_nothing(run, tmp_path):
    run("fit", "--model", "DRU", *SMALL, "--trainer.fast_dev_run", "true")
    assert not list(tmp_path.rglob("*.ckpt"))
    assert not list(tmp_path.rglob("*.csv"))


def test_pictures_are_rendered(fit, run, pictures):
    folder = fit("runs", epochs=2)
    run("test", "--run", folder)
    found = {path.name: imread(path) for path in folder.rglob("*.png")}
    assert set(found) == {"criteria.png", "weights.png", "groups.png"}
    for name, picture in found.items():
        height, width, _ = picture.shape
        assert min(height, width) > 400, name
        assert picture.std() > 0.05, "something is drawn on it"


def test_no_checkpoints_if_so_wished(fit):
    folder = fit("runs", "--trainer.enable_checkpointing", "false", epochs=1, method="ERM")
    assert not list(folder.rglob("*.ckpt"))
    assert (folder / "weights.csv").is_file()


# ---- what a test and a prediction leave


@pytest.fixture(scope="module")
def predictions(done, run, tmp_path_factory):
    where = tmp_path_factory.mktemp("predict")
    run("predict", "--ckpt_path", done / "checkpoints/worst.ckpt", "--trainer.default_root_dir", where)
    (file,) = where.rglob("predictions.parquet")
    return pa_parquet.read_table(file)


def test_predictions_are_those_of_the_checkpoint(done, predictions):
    assert predictions.column_names == [
        "row",
        "split",
        "group",
        "seen_in_training",
        "label",
        "prediction",
        "probabilities",
    ]
    names = predictions.schema.field("probabilities").metadata[b"labels"].decode().split("\n")
    assert names == ["0", "1"]
    data = Shortcut(groups=[6, 4, 4], group_size=10)
    method = DRU.load_from_checkpoint(done / "checkpoints/worst.ckpt").eval()
    assert predictions.num_rows == 140
    for split, size in (("train", 60), ("ood_val", 40), ("ood_test", 40)):
        part = data.dataset(split)
        rows = sorted((row for row in predictions.to_pylist() if row["split"] == split), key=lambda row: row["row"])
        batch = part[list(range(len(part)))]
        assert [row["row"] for row in rows] == list(range(size))
        assert [row["label"] for row in rows] == [str(label) for label in batch["label"].tolist()]
        assert [row["group"] for row in rows] == [part.group_names[g] for g in batch["group"].tolist()]
        assert {row["seen_in_training"] for row in rows} == {split == "train"}
        with torch.no_grad():
            logits = method(batch["inputs"]).double().numpy()
        probability = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        np.testing.assert_allclose([row["probabilities"] for row in rows], probability, rtol=1e-5)
        assert [row["prediction"] for row in rows] == [str(c) for c in logits.argmax(axis=1)]


def test_report_follows_from_the_predictions(done, predictions):
    table = [row for row in predictions.to_pylist() if row["split"] == "ood_test"]
    names = [f"ood_test_{g}" for g in range(4)]
    count = [sum(row["group"] == name for row in table) for name in names]
    correct = [sum(row["group"] == name and row["label"] == row["prediction"] for row in table) for name in names]
    groups = pa_parquet.read_table(done / "test/worst/groups.parquet").to_pylist()
    assert groups == [
        {
            "split": "ood_test",
            "group": name,
            "count": n,
            "correct": right,
            "accuracy": right / n,
            "low": 0.0 if right == 0 else pytest.approx(beta.ppf(0.05, right, n - right + 1)),
            "high": 1.0 if right == n else pytest.approx(beta.ppf(0.95, right + 1, n - right)),
            "chance_low": pytest.approx(binom.ppf(0.05, n, sum(correct) / sum(count)) / n),
            "chance_high": pytest.approx(binom.ppf(0.95, n, sum(correct) / sum(count)) / n),
            "shrunk": pytest.approx(shrunk),
            "contradicts_shrunk": False,
            "seen_in_training": False,
        }
        for name, n, right, shrunk in zip(
            names, count, correct, shrunk_accuracy(*map(np.array, (correct, count))), strict=True
        )
    ]
    written = read_csv(done / "test/worst/groups.csv")
    assert [(r["split"], r["group"], int(r["count"]), int(r["correct"]), float(r["accuracy"])) for r in written] == [
        (r["split"], r["group"], r["count"], r["correct"], r["accuracy"]) for r in groups
    ]


def test_report_of_each_criterion_follows_from_its_table_of_groups(done):
    for name in SELECT:
        report = read_json(done / f"test/{name}/report.json")
        assert report["method"] == "qDRU+M"
        assert report["checkpoint"].endswith(f"checkpoints/{name}.ckpt")
        (split,) = report["splits"]
        assert split == "ood_test"
        content = report["splits"][split]
        assert (content["rows"], content["groups"], content["groups_unseen_in_training"]) == (40, 4, 4)
        groups = read_csv(done / f"test/{name}/groups.csv")
        should = criteria([int(row["correct"]) for row in groups], [int(row["count"]) for row in groups])
        assert set(should) <= set(content["criteria"])
        for key, value in should.items():
            entry = content["criteria"][key]
            assert entry["value"] == pytest.approx(value, rel=1e-9), key
            assert entry["better"] == ("min" if "dcg" in key else "max")
        logged = read_csv(done / f"test/{name}/metrics.csv")[-1]
        assert float(logged["test_worst"]) == pytest.approx(should["worst"], rel=1e-6)


def test_checkpoint_alone_is_validated_as_it_was_in_the_fit(done, run, tmp_path):
    run("validate", "--ckpt_path", done / "checkpoints/last.ckpt", "--trainer.default_root_dir", tmp_path)
    (file,) = tmp_path.rglob("metrics.csv")
    fitted = [row for row in read_csv(done / "metrics.csv") if "val_qdcg10" in row][-1]
    validated = read_csv(file)[-1]
    for name in CRITERIA:
        assert float(validated[f"val_{name}"]) == pytest.approx(float(fitted[f"val_{name}"]), rel=1e-6)


OTHER = ["--data.groups", "[6,3,9]", "--data.group_size", "7", "--data.seed", "5"]


def test_run_and_checkpoint_are_tested_on_other_groups_and_numbers_of_rows(copied, run, tmp_path):
    run("test", "--run", copied, *OTHER)
    run(
        "test", "--ckpt_path", copied / "checkpoints/worst.ckpt", *OTHER, "--trainer.default_root_dir", tmp_path / "one"
    )
    (alone,) = (tmp_path / "one").rglob("report.json")
    of_run = read_json(copied / "test/worst/report.json")
    assert of_run["splits"] == read_json(alone)["splits"]
    content = of_run["splits"]["ood_test"]
    assert (content["rows"], content["groups"], content["groups_unseen_in_training"]) == (63, 9, 9)
    method = DRU.load_from_checkpoint(copied / "checkpoints/worst.ckpt").eval()
    batch = Shortcut(groups=[6, 3, 9], group_size=7, seed=5).dataset("ood_test")[list(range(63))]
    with torch.no_grad():
        right = (method(batch["inputs"]).argmax(dim=1) == batch["label"]).double()
    assert content["criteria"]["overall"]["value"] == pytest.approx(float(right.mean()))


def test_a_run_that_is_tested_again_holds_the_last_test_alone(copied, run):
    names = ("metrics.csv", "groups.csv")
    first = {name: (copied / "test/worst" / name).read_bytes() for name in names}
    run("test", "--run", copied, *OTHER)
    other = {name: (copied / "test/worst" / name).read_bytes() for name in names}
    assert all(other[name] != first[name] for name in names)
    assert [content["metrics.csv"].count(b"\n") for content in (first, other)] == [2, 2], "head and row"
    run("test", "--run", copied)
    assert {name: (copied / "test/worst" / name).read_bytes() for name in names} == first


def test_checkpoint_is_tested_with_nothing_else_known(done, run, tmp_path):
    """From a folder that is no run: model and data are typed, the network is that of the checkpoint."""
    shutil.copy(done / "checkpoints/worst.ckpt", "alone.ckpt")
    run("test", "--ckpt_path", "alone.ckpt", "--model", "ERM", *SMALL, "--trainer.default_root_dir", tmp_path)
    (file,) = tmp_path.rglob("report.json")
    assert read_json(file)["splits"] == read_json(done / "test/worst/report.json")["splits"]


def test_a_moved_run_is_tested(copied, run):
    run("test", "--run", copied)
    assert read_json(copied / "test/p25/report.json")["checkpoint"] == str(copied / "checkpoints/p25.ckpt")


@pytest.mark.parametrize(("test", "advised"), [("yes", "test"), ("", "predict"), (None, "predict")])
def test_what_is_advised_after_a_fit_runs(run, capsys, test, advised):
    """Also where test rows have no label, or there are none."""
    splits = {"train": range(4), "ood_val": range(4, 6), "ood_test": range(6, 8)}
    rows = [(split, group, row) for split, groups in splits.items() for group in groups for row in range(6)]
    lines = [
        f"{row + group / 9:.2f},{test if split == 'ood_test' else ('no', 'yes')[row % 2]},g{group},{split}"
        for split, group, row in rows
        if split != "ood_test" or test is not None
    ]
    Path("t.csv").write_text("\n".join(["x,y,g,s", *lines]) + "\n", encoding="utf-8")
    columns = ["--data.label", "y", "--data.group", "g", "--data.split", "s"]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*has no label in any row")
        run("fit", "--model", "ERM", "--data", "Table", "--data.path", "t.csv", *columns, "--trainer.max_epochs", 1)
    command = shlex.split(capsys.readouterr().out.splitlines()[-1].partition(": ")[2])[len(program()) :]
    assert command == [advised, "--run", "runs/version_0"]
    run(*command)


@pytest.mark.parametrize("more", [0, 1])
def test_a_resume_says_if_nothing_is_left_to_train(more, copied, run, recwarn):
    last = copied / "checkpoints/last.ckpt"
    epochs = torch.load(last, weights_only=True)["loops"]["fit_loop"]["epoch_progress"]["current"]["processed"]
    run("fit", "--ckpt_path", last, "--trainer.max_epochs", epochs + more)
    said = [str(warning.message) for warning in recwarn if "nothing is left" in str(warning.message)]
    expected = f"nothing is left to train: {last} is of epoch {epochs} of max_epochs={epochs}; give a larger number"
    assert [sentence.partition(",")[0] for sentence in said] == ([] if more else [expected])
