"""Two runs with each logger, the real packages, offline: a folder for each run, and what the logger gets."""

import json
import os
from pathlib import Path

import pytest
import yaml

from drurank.cli import main
from drurank.run_folder.logger import RunLogger
from runs import FIT, QUIET, read_csv, read_json

pytest.importorskip("tensorboard")
pytest.importorskip("wandb")
pytest.importorskip("mlflow")

OFFLINE = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ALLOW_FILE_STORE": "true",
    "WANDB_ERROR_REPORTING": "false",
    "WANDB_SILENT": "true",
}
OF_A_FIT = {
    "config.yaml",
    "loggers.json",
    "selection.json",
    "weights.csv",
    "criteria.png",
    "checkpoints/qdcg10.ckpt",
    "checkpoints/last.ckpt",
}


@pytest.fixture
def offline(tmp_path, monkeypatch):
    """Loggers that write to this test's folder and ask no server."""
    for name, value in OFFLINE.items():
        monkeypatch.setenv(name, value)
    for name in ("WANDB_DATA_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "of wandb"))
    yield
    import wandb

    wandb.finish()
    wandb.teardown()


def call(*words):
    os.environ.pop("PL_GLOBAL_SEED", None)
    return main([*map(str, words), *QUIET])


def class_of(kind, **options):
    """A logger in a configuration."""
    return {"class_path": f"lightning.pytorch.loggers.{kind}", "init_args": options}


LOGGERS = {
    "none": False,
    "csv": class_of("CSVLogger", save_dir="logs", name="mine"),
    "tensorboard": class_of("TensorBoardLogger", save_dir="logs"),
    "wandb": class_of("WandbLogger", save_dir="logs", project="mine", offline=True),
    "mlflow": class_of("MLFlowLogger", experiment_name="mine", tracking_uri="sqlite:///logs.db"),
    "mlflow files": class_of("MLFlowLogger", experiment_name="mine", save_dir="files"),
    "several": [class_of("TensorBoardLogger", save_dir="logs"), class_of("CSVLogger", save_dir="tables")],
}
PARENTS = {
    "none": "runs",
    "csv": "logs/mine",
    "tensorboard": "logs/lightning_logs",
    "wandb": "logs/mine",
    "mlflow": "runs/1",
    "mlflow files": "files/[0-9]*",
    "several": "logs/lightning_logs",
}


def of_csv(folder):
    rows = read_csv(folder / "metrics.csv")
    made = yaml.safe_load((folder / "hparams.yaml").read_text())
    return {
        "made": {**made, "network/hidden": made["network"]["hidden"], "data/class": made["data"]["class"]},
        "values": [float(row["val_qdcg10"]) for row in rows if "val_qdcg10" in row],
        "pictures": None,
        "files": None,
    }


def of_tensorboard(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams.metadata import SESSION_START_INFO_TAG
    from tensorboard.plugins.hparams.metadata import parse_session_start_info_plugin_data as parsed

    events = EventAccumulator(str(folder)).Reload()
    info = events.summary_metadata[SESSION_START_INFO_TAG].plugin_data.content
    made = {name: getattr(value, value.WhichOneof("kind")) for name, value in parsed(info).hparams.items()}
    return {
        "made": {
            name: int(value) if isinstance(value, float) and value == int(value) else value
            for name, value in made.items()
        },
        "values": [event.value for event in events.Scalars("val_qdcg10")],
        "pictures": set(events.Tags()["images"]),
        "files": {tag.partition("/")[0] for tag in events.Tags()["tensors"] if "text_summary" in tag},
    }


def of_mlflow(uri):
    def read(folder):
        from mlflow import MlflowClient

        client, run = MlflowClient(uri), folder.name
        files = [file.path for file in client.list_artifacts(run)]
        return {
            "made": client.get_run(run).data.params,
            "values": [metric.value for metric in client.get_metric_history(run, "val_qdcg10")],
            "pictures": {Path(name).stem for name in files if name.endswith(".png")},
            "files": {Path(name).stem for name in files if not name.endswith(".png")},
        }

    return read


def of_wandb(folder):
    import wandb

    assert wandb.run.id == folder.name
    made, summary = dict(wandb.run.config), wandb.run.summary
    config = (folder / "config.yaml").read_bytes()
    kept = [path for path in Path("of wandb").rglob("*") if path.is_file()]
    media = (file.name for file in Path("logs/wandb").glob(f"offline-run-*-{folder.name}/files/media/images/*.png"))
    return {
        "made": {**made, "network/hidden": made["network"]["hidden"], "data/class": made["data"]["class"]},
        "values": [summary["val_qdcg10"]],  # of a run in progress only the last one can be read
        "pictures": {name.partition("_")[0] for name in media},
        "files": {"config"} if any(path.read_bytes() == config for path in kept) else set(),
    }


READERS = {
    "csv": of_csv,
    "tensorboard": of_tensorboard,
    "wandb": of_wandb,
    "mlflow": of_mlflow("sqlite:///logs.db"),
    "mlflow files": of_mlflow("file:files"),
    "several": of_tensorboard,
}


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fit(words, parent):
    before = set(Path().glob(f"{parent}/*"))
    call(*FIT, "--trainer.max_epochs", 1, *words)
    (made,) = {folder for folder in set(Path().glob(f"{parent}/*")) - before if (folder / "config.yaml").is_file()}
    return made


def finish_wandb():
    import wandb

    wandb.finish()


@pytest.mark.parametrize("kind", LOGGERS)
def test_each_run_has_its_own_folder_and_its_loggers_get_what_they_take(kind, offline):
    words = ["--trainer.logger", json.dumps(LOGGERS[kind])]
    one = fit([*words, "--seed_everything", 3], PARENTS[kind])
    before = contents(one)
    assert before.keys() >= OF_A_FIT
    if kind in READERS:
        found = READERS[kind](one)
        made = {name: str(found["made"][name]) for name in ("method", "network/hidden", "seed", "data/class")}
        assert made == {"method": "DRU", "network/hidden": "128", "seed": "3", "data/class": "Shortcut"}
        assert found["made"]["title"] == "qDRU+M"
        assert "AdamW" in str([value for name, value in found["made"].items() if name.startswith("optimizer")])
        best = read_json(one / "selection.json")["qdcg10"]
        assert found["values"] == [pytest.approx(best["value"], rel=1e-6)]
        assert found["pictures"] in (None, {"criteria"})
        assert found["files"] in (None, {"config"})
    finish_wandb()

    other = fit([*words, "--seed_everything", 4], PARENTS[kind])
    finish_wandb()
    assert contents(one) == before
    assert contents(other).keys() >= OF_A_FIT
    seeds = [yaml.safe_load((run / "config.yaml").read_text())["seed_everything"] for run in (one, other)]
    assert seeds == [3, 4]
    names = ("selection.json", "weights.csv", "loggers.json", "last.ckpt")
    assert {run_folder_of(path) for name in names for path in Path().rglob(name)} == {one, other}

    call("test", "--run", one)
    assert {"report.json", "groups.csv", "groups.png", "config.yaml"} <= contents(one / "test/qdcg10").keys()
    assert read_json(one / "test/qdcg10/report.json")["checkpoint"] == str(one / "checkpoints/qdcg10.ckpt")
    assert {name: content for name, content in contents(one).items() if not name.startswith("test/")} == before

    if kind == "mlflow files":
        return
    call("fit", "--ckpt_path", one / "checkpoints/last.ckpt", "--trainer.max_epochs", 2)
    assert [row["epoch"] for row in read_csv(one / "weights.csv")] == ["0"] * 6 + ["1"] * 6 + ["2"] * 6
    assert (one / "config.yaml").read_bytes() != before["config.yaml"]
    if kind in READERS and kind != "wandb":
        assert len(READERS[kind](one)["values"]) == 2, "the logger goes on in its run"
    if kind == "wandb":
        assert READERS[kind](one)["values"]
    assert {run_folder_of(path) for path in Path().rglob("loggers.json")} == {one, other}


def run_folder_of(path):
    return path.parent.parent if path.parent.name == "checkpoints" else path.parent


def test_a_version_that_is_taken_is_refused(refused):
    words = [*FIT, "--trainer.max_epochs", 1, "--trainer.logger", "CSVLogger", "--trainer.logger.save_dir", "logs"]
    words += ["--trainer.logger.name", "", "--trainer.logger.version", "first"]
    call(*words)
    before = contents(Path("logs/first"))
    said = refused(*words)
    assert said.startswith("logs/first holds a run; give the logger another version, or go on with --ckpt_path")
    assert contents(Path("logs/first")) == before


def test_hyperparameters_are_written_in_one_step(tmp_path, monkeypatch):
    logger = RunLogger(tmp_path)
    logger.log_hyperparams({"lr": 0.1})
    file = Path(logger.log_dir) / "hparams.yaml"
    assert yaml.safe_load(file.read_text()) == {"lr": 0.1}

    def killed(path, hparams):
        Path(path).write_text("")
        raise KeyboardInterrupt

    monkeypatch.setattr("drurank.run_folder.logger.save_hparams_to_yaml", killed)
    with pytest.raises(KeyboardInterrupt):
        logger.log_hyperparams({"lr": 0.2})
    assert yaml.safe_load(file.read_text()) == {"lr": 0.1}
    assert [path.name for path in file.parent.iterdir()] == ["hparams.yaml"]
