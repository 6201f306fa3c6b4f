import math
import re
import shutil
import subprocess
import sys
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest
import torch
import yaml
from encoders import write_tiny
from lightning.pytorch import Trainer
from scipy.stats import beta
from torch import nn

from drurank.cli import main
from drurank.data import Shortcut
from drurank.errors import InputError
from drurank.methods import DRU, ERM
from drurank.networks import MLP
from drurank.spread import shrunk_accuracy
from reference import CRITERIA, accuracies, criteria, discounts, ranks
from runs import CONFIGS, QUIET, SMALL, read_csv, read_json

SELECT = ["qdcg10", "worst", "average", "p25"]


class TwoLayers(nn.Module):
    """A network of a person's own, named in a configuration by its import path."""

    def __init__(self, sizes, width: int = 5):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(sizes.in_features, width), nn.ReLU(), nn.Linear(width, sizes.num_classes))

    def forward(self, x):
        return self.layers(x)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def done(root, run, fit):
    """A run that was fitted and tested by each criterion; tests only read it."""
    folder = fit(root, "--select", ",".join(SELECT), "--model.optimizer", "AdamW", "--model.optimizer.lr", "0.01")
    run("test", "--run", folder)
    return folder


@pytest.fixture
def copied(done, tmp_path):
    """A copy of that run, to go on with."""
    return shutil.copytree(done, tmp_path / "copied")


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
    batch = data.part("train")[list(range(60))]
    with torch.no_grad():
        right = (method(batch["inputs"]).argmax(dim=1) == batch["label"]).numpy()
    table = read_csv(done / "weights.csv")[-6:]
    np.testing.assert_allclose([float(row["accuracy"]) for row in table], accuracies(right, batch["group"].numpy(), 6))


def test_metrics_have_the_same_keys_in_every_epoch(done):
    validations = [row for row in read_csv(done / "metrics.csv") if "val_qdcg10" in row]
    wanted = {f"val_{name}" for name in [*CRITERIA, "p25"]}
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
    assert predictions.column_names == ["row", "split", "group", "label", "prediction", "probabilities"]
    names = predictions.schema.field("probabilities").metadata[b"labels"].decode().split("\n")
    assert names == ["0", "1"]
    data = Shortcut(groups=[6, 4, 4], group_size=10)
    method = DRU.load_from_checkpoint(done / "checkpoints/worst.ckpt").eval()
    assert predictions.num_rows == 140
    for split, size in (("train", 60), ("ood_val", 40), ("ood_test", 40)):
        part = data.part(split)
        rows = sorted((row for row in predictions.to_pylist() if row["split"] == split), key=lambda row: row["row"])
        batch = part[list(range(len(part)))]
        assert [row["row"] for row in rows] == list(range(size))
        assert [row["label"] for row in rows] == [str(label) for label in batch["label"].tolist()]
        assert [row["group"] for row in rows] == [part.group_names[g] for g in batch["group"].tolist()]
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
            "low": 0.0 if right == 0 else pytest.approx(beta.ppf(0.05, right + 0.5, n - right + 0.5)),
            "high": 1.0 if right == n else pytest.approx(beta.ppf(0.95, right + 0.5, n - right + 0.5)),
            "shrunk": pytest.approx(shrunk),
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
    batch = Shortcut(groups=[6, 3, 9], group_size=7, seed=5).part("ood_test")[list(range(63))]
    with torch.no_grad():
        right = (method(batch["inputs"]).argmax(dim=1) == batch["label"]).double()
    assert content["criteria"]["overall"]["value"] == pytest.approx(float(right.mean()))


def test_checkpoint_is_tested_with_nothing_else_known(done, run, tmp_path):
    """From a folder that is no run: model and data are typed, the network is that of the checkpoint."""
    shutil.copy(done / "checkpoints/worst.ckpt", "alone.ckpt")
    run("test", "--ckpt_path", "alone.ckpt", "--model", "ERM", *SMALL, "--trainer.default_root_dir", tmp_path)
    (file,) = tmp_path.rglob("report.json")
    assert read_json(file)["splits"] == read_json(done / "test/worst/report.json")["splits"]


def test_a_moved_run_is_tested(copied, run):
    run("test", "--run", copied)
    assert read_json(copied / "test/p25/report.json")["checkpoint"] == str(copied / "checkpoints/p25.ckpt")


# ---- loading without the command line


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["--model.network", "MLP", "--model.network.hidden", "7", "--model.network.layers", "2"], MLP),
        (["--model.network", "test_cli.TwoLayers", "--model.network.width", "3"], TwoLayers),
    ],
)
def test_checkpoint_loads_by_itself_and_on_other_data(fit, words, kind):
    folder = fit("runs", *words, epochs=1)
    file = folder / "checkpoints/last.ckpt"
    method = DRU.load_from_checkpoint(file)
    assert type(method.network) is kind
    saved = torch.load(file, weights_only=True)["state_dict"]
    torch.testing.assert_close(dict(method.state_dict()), dict(saved), rtol=0, atol=0)
    trainer = Trainer(accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False)
    (result,) = trainer.test(method, datamodule=Shortcut(groups=[3, 2, 5], group_size=4), verbose=False)
    batch = Shortcut(groups=[3, 2, 5], group_size=4).part("ood_test")[list(range(20))]
    with torch.no_grad():
        right = method.eval()(batch["inputs"]).argmax(dim=1) == batch["label"]
    assert result["test_overall"] == pytest.approx(float(right.double().mean()))


def fitted(trainer, network):
    run = trainer()
    run.fit(DRU(network=network), datamodule=Shortcut(groups=[4, 3, 3], group_size=6))
    run.save_checkpoint("python.ckpt")
    return run.lightning_module


def test_network_given_as_a_partial_is_built_again(trainer):
    module = fitted(trainer, partial(MLP, hidden=9, dropout=0.25))
    again = DRU.load_from_checkpoint("python.ckpt")
    assert again.network.head.in_features == 9
    assert again.network.hidden_layers[2].p == 0.25
    torch.testing.assert_close(again.network.head.weight, module.network.head.weight)


@pytest.mark.parametrize(
    "network", [nn.Linear(2, 2), lambda sizes: nn.Linear(sizes.in_features, 2)], ids=["object", "lambda"]
)
def test_network_given_as_an_object_is_asked_for_again(trainer, network):
    module = fitted(trainer, network)
    with pytest.raises(InputError, match=r"DRU.load_from_checkpoint\(path, network=\.\.\.\)"):
        DRU.load_from_checkpoint("python.ckpt")
    again = DRU.load_from_checkpoint("python.ckpt", network=nn.Linear(2, 2))
    torch.testing.assert_close(again.network.weight, module.network.weight)


def test_checkpoint_of_another_program_is_refused(trainer):
    torch.save({"state_dict": {}, "pytorch-lightning_version": "2.6.6"}, "foreign.ckpt")
    with pytest.raises(InputError, match="not made by drurank"):
        ERM.load_from_checkpoint("foreign.ckpt")


# ---- what is refused

FIT = ["fit", "--model", "DRU", *SMALL]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*FIT, "--model.cutof", "3"], "'cutof'.*did you mean 'cutoff'"),
        ([*FIT, "--data.group_sise", "3"], "'group_sise'.*did you mean 'group_size'"),
        ([*FIT, "--trainer.max_epoch", "3"], "--trainer.max_epoch: did you mean '--trainer.max_epochs'"),
        ([*FIT, "--selct", "worst"], "--selct: did you mean '--select'"),
        ([*FIT, "--model.network", "MLP", "--model.network.hiden", "3"], "'hiden'.*did you mean 'hidden'"),
        ([*FIT, "--model.optimizer", "SGD", "--model.optimizer.momentun", "0"], "'momentun'.*did you mean 'momentum'"),
        (["fit", "--model", "DUR", *SMALL], "'DUR'.*did you mean 'DRU'"),
        (["fit", "--model", "DRU", "--data", "Shortcutt"], "'Shortcutt'.*did you mean 'Shortcut'"),
        ([*FIT, "--model.network", "MPL"], "'MPL'.*did you mean 'MLP'"),
        ([*FIT, "--model.optimizer", "AdmW"], "'AdmW'.*did you mean 'AdamW'"),
        ([*FIT, "--model.lr_scheduler", "OneCycleL"], "'OneCycleL'.*did you mean 'OneCycleLR'"),
        ([*FIT, "--model.lr_scheduler", "ReduceLROnPlateau"], "lightning.pytorch.cli.ReduceLROnPlateau"),
        ([*FIT, "--select", "worst,qdgc10"], "'qdgc10'.*did you mean 'qdcg10'"),
        ([*FIT, "--select", "qdcg101"], "'qdcg101'.*1 to 100"),
        ([*FIT, "--select", "qdcg0"], "'qdcg0'.*1 to 100"),
        ([*FIT, "--select", "worst,worst"], "twice"),
        ([*FIT, "--model.upweight", "misclasified"], "'misclasified'.*did you mean 'misclassified'"),
        ([*FIT, "--model.rank_by", "qantile"], "'qantile'.*did you mean 'quantile'"),
        (["ftt", *FIT[1:]], "'ftt'.*did you mean 'fit'"),
        ([*FIT, "--model.cutoff", "101"], "cutoff.*101.*0 to 100"),
        ([*FIT, "--model.cutoff", "much"], "cutoff is 'much'; give a number$"),
        ([*FIT, "--data.groups", "some"], "groups.*'some'.*list"),
        (["fit", *SMALL], "--model is missing"),
        (["fit", "--model", "DRU"], "--data is missing"),
        (["fit", "--config", "{model: {class_path: DRU, init_args: {bta: 1}}}", *SMALL], "'bta'"),
        (["fit", "--config", "nowhere.yaml"], "nowhere.yaml"),
        ([*FIT, "--model.loss", "CrossEntropyLoss"], "reduction='none'"),
        ([*FIT, "--trainer.overfit_batches", "1"], "overfit_batches"),
        ([*FIT, "--data.batch_size", "0"], "batch_size is 0"),
        ([*FIT, "--data.seed", "-1"], "seed"),
        (["fit", "--model", "GroupModule", *SMALL], "GroupModule"),
        (["test", "--model", "DRU", *SMALL], "--run.*--ckpt_path"),
        (["validate", "--model", "DRU", *SMALL], "--ckpt_path"),
        (["predict", "--model", "DRU", *SMALL], "--ckpt_path"),
        (["test", "--run", "nowhere"], "nowhere"),
        (["test", "--model", "DRU", *SMALL, "--ckpt_path", "nowhere.ckpt"], "no checkpoint nowhere.ckpt"),
        (["test", "--ckpt_path", "nowhere.ckpt"], "no checkpoint nowhere.ckpt"),
    ],
)
def test_input_that_cannot_be_used_is_answered_in_one_sentence(refused, tmp_path, words, said):
    assert re.search(said, refused(*words))
    assert not list(tmp_path.rglob("*")), "a run that cannot start leaves nothing"


def test_known_classes_are_those_that_can_be_used(refused):
    said = refused("fit", "--model", "DRU", "--data", "Nothing")
    assert {"Shortcut", "Synthetic", "Table"} <= set(re.findall(r"\w+", said))
    assert "Generated" not in said


@pytest.mark.parametrize(
    ("callback", "key", "said"),
    [
        ("ModelCheckpoint", "test_worst", "'test_worst'.*'val_worst'"),
        ("EarlyStopping", "id_test_qdcg10", "'id_test_qdcg10'.*'id_val_qdcg10'"),
        ("EarlyStopping", "val_wrost", "'wrost'.*did you mean 'worst'"),
    ],
)
def test_monitored_key_that_must_not_or_cannot_be_is_refused(refused, tmp_path, callback, key, said):
    assert re.search(said, refused(*FIT, "--trainer.callbacks", callback, "--trainer.callbacks.monitor", key))
    assert not list(tmp_path.rglob("*.ckpt"))


def test_monitored_criterion_of_any_number_is_logged(fit):
    early = ["--trainer.callbacks", "EarlyStopping", "--trainer.callbacks.monitor", "val_gdcg33"]
    folder = fit("runs", *early, "--trainer.callbacks.mode", "min", epochs=1)
    assert "val_gdcg33" in read_csv(folder / "metrics.csv")[0]


def test_run_whose_loss_is_nan_ends_with_a_sentence(refused):
    said = refused(*FIT, "--model.optimizer", "SGD", "--model.optimizer.lr", "1e30", "--trainer.max_epochs", "3")
    assert re.search("nan or inf.*epoch [01]", said)


def test_file_that_is_no_checkpoint_is_refused(refused):
    Path("table.csv").write_text("a,b\n1,2\n")
    assert "table.csv" in refused("test", "--model", "DRU", *SMALL, "--ckpt_path", "table.csv")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model", "ERM", *SMALL], "made with .*DRU.*not .*ERM"),
        (["--data.seed", "4"], "other training data"),
        (["--data.groups", "[5,4,4]"], "other training data.*60 rows, now 50"),
        (["--model.network.hidden", "4"], "hidden=128.*hidden=4"),
    ],
)
def test_fit_does_not_go_on_from_a_checkpoint_of_something_else(refused, copied, words, said):
    before = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    sentence = refused("fit", "--ckpt_path", copied / "checkpoints/last.ckpt", "--trainer.max_epochs", "5", *words)
    assert re.search(said, sentence)
    after = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    assert {path.name for path in before | after if before.get(path) != after.get(path)} == set()


# ---- help and configurations


def test_help_in_a_process_of_its_own():
    shown = subprocess.run(
        [sys.executable, CONFIGS.parent / "cli.py", "fit", "--help"], capture_output=True, text=True, timeout=120
    )
    assert shown.returncode == 0
    for word in ("--model", "--data", "--select", "--ckpt_path", "--trainer.max_epochs"):
        assert word in shown.stdout
    assert shown.stderr == ""


def printed(capsys, *words):
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    assert stop.value.code in (0, None)
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "kind", "explained"),
    [
        (
            "--model",
            "DRU",
            {
                "rank_by": "worst",
                "upweight": "wrong",
                "cutoff": r"log2\(C \+ 2\) / log2\(r_g \+ 2\)",
                "ties": "lowest",
                "accuracy_from": "pass over the training set",
                "normalize_weights": "mean 1",
                "network": "sizes",
                "loss": "one value per sample",
                "optimizer": "optimizer",
                "lr_scheduler": "scheduler",
                "lr_interval": "step",
                "min_count": "fewer samples",
                "shrink": "posterior mean",
                "on_nonfinite": "nan or inf",
                "detect": "training rows",
            },
        ),
        (
            "--model",
            "Worst",
            {"upweight_factor": "above 0", "upweight": "misclassified", "accuracy_from": "evaluation"},
        ),
        ("--model", "Const", {"upweight_factor": "above 0", "accuracy_from": "evaluation"}),
        (
            "--data",
            "Synthetic",
            {"setting": "1 to 4", "priors": "signals", "noise_std": "variance", "batch_size": "one"},
        ),
        ("--data", "Shortcut", {"flipped": "share", "agreement": "chance", "groups": "number of groups"}),
    ],
)
def test_help_explains_every_option(capsys, option, kind, explained):
    text = printed(capsys, "fit", f"{option}.help", kind)
    for name, words in explained.items():
        (entry,) = re.findall(rf"^  {option}\.{name} .*?(?=^  --|\Z)", text, re.MULTILINE | re.DOTALL)
        assert re.search(words, " ".join(entry.split())), name
    shown = set(re.findall(rf"^  {option}\.(\w+) ", text, re.MULTILINE))
    assert set(explained) <= shown
    if kind == "DRU":
        assert shown == set(explained)


def test_print_config_is_a_configuration(capsys, run, tmp_path):
    text = printed(capsys, *FIT, "--model.cutoff", "30", "--trainer.max_epochs", "1", *QUIET, "--print_config")
    config = yaml.safe_load(text)
    assert config["model"]["init_args"]["cutoff"] == 30
    (tmp_path / "printed.yaml").write_text(text)
    run("fit", "--config", "printed.yaml")
    assert yaml.safe_load((tmp_path / "runs/version_0/config.yaml").read_text())["model"] == config["model"]


def test_configurations_compose_and_the_last_word_wins(run, tmp_path):
    (tmp_path / "one.yaml").write_text(
        "model: {class_path: DRU, init_args: {cutoff: 1e1, optimizer: {class_path: SGD, init_args: {lr: 1e-3}}}}\n"
        "data: {class_path: Shortcut, init_args: {groups: [4, 3, 3], group_size: 6}}\n"
    )
    (tmp_path / "two.yaml").write_text(
        "model: {init_args: {cutoff: 20, upweight: all}}\n"
        "data: {init_args: {group_size: 5}}\n"
        "trainer: {max_epochs: 1}\n"
    )
    run("fit", "--config", "one.yaml", "--config", "two.yaml", "--data.seed", "1", "--data.seed", "2")
    config = yaml.safe_load((tmp_path / "runs/version_0/config.yaml").read_text())
    method, data = config["model"]["init_args"], config["data"]["init_args"]
    assert (method["cutoff"], method["upweight"], method["optimizer"]["init_args"]["lr"]) == (20, "all", 0.001)
    assert (data["groups"], data["group_size"], data["seed"]) == ([4, 3, 3], 5, 2)
    assert len(read_csv(tmp_path / "runs/version_0/weights.csv")) == 8


TINY = {
    "shortcut": ["--data.groups", "[4,3,3]", "--data.group_size", "6"],
    "synthetic": ["--data.groups", "[4,3,3]", "--data.group_size", "6"],
}


def tiny_table(name):
    """Rows like those of the file that a configuration names: the same columns, 4 groups a part."""
    rng = np.random.default_rng(0)
    n = 60
    split = np.array(["train"] * 36 + ["ood_val"] * 12 + ["ood_test"] * 12)
    group = [f"{s[:3]}{i % 4}" for i, s in enumerate(split)]
    columns = {"group": group, "split": split, "label": rng.integers(0, 2, n)}
    if name == "insteval":
        codes = {column: rng.integers(1, 5, n) for column in ("studage", "lectage", "service", "dept", "lecturer")}
        return {**columns, **codes}
    if name == "wisdm_har":
        peak = rng.normal(size=n)
        peak[[3, 40]] = np.nan
        return {**columns, "XPEAK": peak, "YAVG": rng.normal(size=n), "label_name": columns["label"].astype(str)}
    return {**columns, "age": rng.normal(size=n), "sex": rng.choice(["f", "m"], n), "felony": rng.random(n) < 0.5}


def table_words(name, folder):
    columns = {k: pa.array(v, from_pandas=True) for k, v in tiny_table(name).items()}
    pa_parquet.write_table(pa.table(columns), folder / "tiny.parquet")
    return ["--data.path", str(folder / "tiny.parquet")]


def wilds_words(folder):
    """The same rows as reviews in a folder of the benchmark, and a small encoder in another."""
    rows = tiny_table("")
    code = {"train": 0, "ood_val": 1, "ood_test": 3}
    stars = [f"{label + 1}.0" for label in rows["label"]]
    text = [f"{group},{star},good\n" for group, star in zip(rows["group"], stars, strict=True)]
    (folder / "splits").mkdir()
    (folder / "splits/user.csv").write_text("".join(["split\n", *(f"{code[split]}.0\n" for split in rows["split"])]))
    (folder / "reviews.csv").write_text("".join(["reviewerID,overall,reviewText\n", *text]))
    tokenizer = write_tiny(folder / "tiny")
    words = ["--data.path", folder, "--data.tokenizer", tokenizer, "--data.max_length", 8]
    return [*words, "--data.cache_dir", folder / "cache", "--model.network", "TextClassifier"]


def words_of(name, folder):
    if name in TINY:
        return TINY[name]
    data = yaml.safe_load((CONFIGS / f"data/{name}.yaml").read_text(encoding="utf-8"))["data"]
    if data["class_path"] == "drurank.data.Text":
        return text_words(data["init_args"], folder)
    return wilds_words(folder) if name == "wilds_amazon" else table_words(name, folder)


def text_words(options, folder):
    """Words for a table of texts with the columns that a configuration names, and for a tiny encoder."""
    known = tiny_table("table")
    labels = list(options.get("relabel", range(1, 6)))
    known |= {"label": [labels[i % len(labels)] for i in range(60)], "text": ["good", "bad one", "fine"] * 20}
    columns = {options[what]: known[what] for what in ("text", "label", "group", "split")}
    pa_parquet.write_table(pa.table(columns), folder / "tiny.parquet")
    encoder = ["--data.tokenizer", write_tiny(folder / "encoder"), "--data.max_length", "32"]
    where = ["--data.path", folder / "tiny.parquet", "--data.cache_dir", folder / "cache"]
    return [*where, *encoder, "--model.network", "TextClassifier"]


@pytest.mark.parametrize("name", sorted(path.stem for path in (CONFIGS / "data").glob("*.yaml")))
def test_every_data_configuration_runs(run, tmp_path, name):
    words = words_of(name, tmp_path)
    run("fit", "--config", CONFIGS / f"data/{name}.yaml", "--model", "DRU", *words, "--trainer.max_epochs", "1")
    run("test", "--run", "runs/version_0")
    report = read_json(tmp_path / "runs/version_0/test/qdcg10/report.json")
    assert report["splits"]["ood_test"]["rows"] == (18 if name in TINY else 12)
    assert report["splits"]["ood_test"]["groups"] == (3 if name in TINY else 4)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("erm", "ERM"),
        ("qdru_m", "qDRU+M"),
        ("qdru_g", "qDRU+G"),
        ("gdru_m", "gDRU+M"),
        ("gdru_g", "gDRU+G"),
        ("worst_m", "Worst+M"),
        ("worst_g", "Worst+G"),
        ("const_m", "Const+M"),
        ("group_dro", "GroupDRO"),
        ("cvar", "CVaR"),
        ("chi_square", "ChiSquare"),
        ("jtt", "JTT"),
        ("irm", "IRM"),
        ("dfr", "DFR"),
    ],
)
def test_every_method_configuration_runs(run, tmp_path, name, title):
    epochs = 2 if name == "jtt" else 1  # 1 of its first stage
    run("fit", "--config", CONFIGS / f"method/{name}.yaml", *SMALL, "--trainer.max_epochs", epochs)
    run("test", "--run", "runs/version_0")
    assert read_json(tmp_path / "runs/version_0/test/qdcg10/report.json")["method"] == title


def test_every_method_configuration_is_run_above():
    names = {mark for mark, _ in test_every_method_configuration_runs.pytestmark[0].args[1]}
    assert names == {path.stem for path in (CONFIGS / "method").glob("*.yaml")}


@pytest.mark.parametrize("name", sorted(path.stem for path in (CONFIGS / "trainer").glob("*.yaml")))
def test_every_trainer_configuration_runs(run, tmp_path, name):
    data = ["--config", CONFIGS / "data/synthetic.yaml", *TINY["synthetic"]]
    run("fit", *data, "--config", CONFIGS / "method/qdru_m.yaml", "--config", CONFIGS / f"trainer/{name}.yaml")
    folder = tmp_path / "runs/version_0"
    config = yaml.safe_load((folder / "config.yaml").read_text())
    epochs = {"short": 5, "converged": 10, "quick": 3, "text_paper": 5, "text_wilds": 3, "text_minilm": 3}
    assert config["trainer"]["max_epochs"] == epochs[name]
    ended = int(read_csv(folder / "weights.csv")[-1]["epoch"])
    assert ended == epochs[name] or (name == "text_paper" and ended >= 3)  # which stops early
    rates = {"short": (16, 1e-5), "converged": (256, 1e-3), "text_paper": (16, 1e-5), "text_wilds": (8, 1e-5)}
    if name in rates:
        optimizer = config["model"]["init_args"]["optimizer"]["init_args"]
        assert (config["data"]["init_args"]["batch_size"], optimizer["lr"]) == rates[name]
        assert optimizer["weight_decay"] == 0.01


def test_every_configuration_is_of_a_kind_that_is_run():
    assert {path.name for path in CONFIGS.iterdir()} == {"data", "method", "network", "split", "study", "trainer"}


def test_the_network_of_the_paper_is_given_by_a_configuration(run, tmp_path):
    files = ("data/hotel_reviews", "method/qdru_m", "network/distilbert", "trainer/text_wilds")
    words = [word for file in files for word in ("--config", CONFIGS / f"{file}.yaml")]
    run("fit", *words, *words_of("hotel_reviews", tmp_path), "--trainer.max_epochs", "1")
    config = yaml.safe_load((tmp_path / "runs/version_0/config.yaml").read_text())
    assert config["model"]["init_args"]["network"]["class_path"] == "drurank.networks.TextClassifier"
    assert config["data"]["init_args"]["max_length"] == 32
    assert read_json("runs/version_0/selection.json").keys() == {"p10", "qdcg10"}


def test_table_given_by_flags_alone(run, tmp_path):
    table = table_words("table", tmp_path)
    columns = ["--data.label", "label", "--data.group", "group", "--data.split", "split"]
    run(
        "fit",
        "--data",
        "Table",
        *table,
        *columns,
        "--model",
        "DRU",
        "--model.network",
        "MLP",
        "--trainer.max_epochs",
        "3",
    )
    run("test", "--run", "runs/version_0")
    report = read_json(tmp_path / "runs/version_0/test/qdcg10/report.json")
    groups = read_csv(tmp_path / "runs/version_0/test/qdcg10/groups.csv")
    assert [row["group"] for row in groups] == ["ood0", "ood1", "ood2", "ood3"]
    assert {row["seen_in_training"] for row in groups} == {"false"}
    should = criteria([int(row["correct"]) for row in groups], [int(row["count"]) for row in groups])
    got = {name: entry["value"] for name, entry in report["splits"]["ood_test"]["criteria"].items()}
    assert got == pytest.approx(should, rel=1e-9)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_table_of_test_rows_alone_is_tested_with_what_training_fitted(run, fit, tmp_path, suffix):
    rng = np.random.default_rng(0)

    def write(name, rows, split, groups):
        x, colour = rng.normal(size=rows), rng.choice(["red", "blue"], rows)
        columns = {"x": x, "colour": colour, "label": np.where(x + (colour == "red") > 0.5, "yes", "no")}
        columns |= {"group": np.array(groups)[np.arange(rows) % len(groups)], "split": split(rows)}
        table = pa.table({name: pa.array(values) for name, values in columns.items()})
        (pa_csv.write_csv if name.endswith("csv") else pa_parquet.write_table)(table, tmp_path / name)

    write("t.parquet", 90, lambda n: np.array(["train", "train", "ood_val"])[np.arange(n) % 3], ["a", "b", "c"])
    write(f"other.{suffix}", 40, lambda n: np.array(["test"] * n), ["new1", "new2", "a", "new3"])
    columns = ["--data.label", "label", "--data.group", "group", "--data.split", "split"]
    data = ["--data", "Table", "--data.path", str(tmp_path / "t.parquet"), *columns]
    run("fit", "--model", "DRU", *data, "--trainer.max_epochs", "1")
    run(
        "test",
        "--ckpt_path",
        "runs/version_0/checkpoints/qdcg10.ckpt",
        "--data.path",
        str(tmp_path / f"other.{suffix}"),
    )
    rows = read_csv(tmp_path / "runs/version_1/groups.csv")
    assert {(row["group"], row["count"], row["seen_in_training"]) for row in rows} == {
        ("a", "10", "true"),
        ("new1", "10", "false"),
        ("new2", "10", "false"),
        ("new3", "10", "false"),
    }


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_all_commands_are_named(capsys, words):
    main(words)
    shown = capsys.readouterr().out
    for command in ("fit", "validate", "test", "predict", "report", "split", "inspect"):
        assert re.search(rf"^  {command} ", shown, re.MULTILINE), command


def test_installed_command_ends_with_status_0(tmp_path):
    (command,) = entry_points(group="console_scripts", name="drurank")
    words = ["fit", "--model", "ERM", *SMALL, *QUIET, "--trainer.default_root_dir", tmp_path, "--trainer.max_epochs", 1]
    code = f"import sys; from {command.module} import {command.attr}; sys.exit({command.attr}())"
    run = subprocess.run([sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
