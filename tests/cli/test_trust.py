"""Checkpoints, configurations, tables and names of others are read, and no code in them is run."""

import os
import pickle
import shutil
from pathlib import Path

import pytest
import torch

from drurank.data import Shortcut
from drurank.errors import InputError
from drurank.methods import DRU
from runs import SMALL, read_csv


class Evil:
    """Makes a file as soon as it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.fixture(scope="module")
def made(tmp_path_factory, fit):
    return fit(tmp_path_factory.mktemp("runs"), epochs=1)


@pytest.fixture
def evil(made, tmp_path):
    """A checkpoint of ours with an object in it that runs code when it is unpickled."""
    saved = torch.load(made / "checkpoints/last.ckpt", weights_only=True)
    torch.save({**saved, "extra": Evil(tmp_path / "done")}, tmp_path / "evil.ckpt")
    return tmp_path / "evil.ckpt"


@pytest.mark.parametrize("command", ["fit", "validate", "test", "predict"])
def test_checkpoint_with_code_is_refused(refused, evil, tmp_path, command):
    said = refused(command, "--model", "DRU", *SMALL, "--ckpt_path", evil, "--trainer.default_root_dir", tmp_path / "r")
    assert "evil.ckpt is not a checkpoint of drurank" in said
    assert not (tmp_path / "done").exists()


def test_checkpoint_with_code_is_refused_in_python(trainer, evil, tmp_path):
    with pytest.raises(pickle.UnpicklingError):
        DRU.load_from_checkpoint(evil)
    with pytest.raises(pickle.UnpicklingError):
        trainer().fit(DRU(), datamodule=Shortcut(groups=[6, 4, 4], group_size=10), ckpt_path=evil)
    assert not (tmp_path / "done").exists()


NO_NETWORKS = ["os.system", "subprocess.Popen", "tests.nowhere.Network", "builtins.exec", "drurank.cli.main"]
NO_NETWORKS += ["torch.load", "torch.hub.load", "torch.os.system", "torch.optim.SGD", "torch.Tensor", "numpy.memmap"]
NO_NETWORKS += ["Linear", ".", ""]


@pytest.mark.parametrize("path", NO_NETWORKS)
def test_checkpoint_cannot_name_what_is_called(made, tmp_path, path):
    saved = torch.load(made / "checkpoints/last.ckpt", weights_only=True)
    saved["drurank"]["network"] = {"class_path": path, "init_args": {}}
    del saved["drurank_written"]  # by which the change would be found first
    torch.save(saved, tmp_path / "named.ckpt")
    with pytest.raises(ValueError, match="is not imported"):
        DRU.load_from_checkpoint(tmp_path / "named.ckpt")


@pytest.mark.parametrize("rebuild", [{}, {"pooling": "mean"}, {"config": None}])
def test_checkpoint_loads_no_encoder_of_its_choosing(made, tmp_path, rebuild):
    saved = torch.load(made / "checkpoints/last.ckpt", weights_only=True)
    network = {"class_path": "drurank.networks.text_classifier.TextClassifier", "init_args": {"pretrained": "some/one"}}
    saved["drurank"] |= {"network": network, "rebuild": rebuild}
    saved["drurank"]["sizes"] = {"in_features": 0, "num_classes": 2, "vocabulary": 80, "max_length": 9}
    del saved["drurank_written"]
    torch.save(saved, tmp_path / "named.ckpt")
    with pytest.raises(InputError, match="it lacks 'config' of its network TextClassifier"):
        DRU.load_from_checkpoint(tmp_path / "named.ckpt")


def test_every_file_of_a_run_can_be_read_safely(made):
    files = [*made.rglob("*.ckpt")]
    assert files
    for file in files:
        torch.load(file, weights_only=True)


@pytest.mark.parametrize("text", ["!!python/object/apply:os.mkdir [done]", "model: !!python/name:os.system ''"])
def test_configuration_with_code_is_refused(refused, tmp_path, text):
    (tmp_path / "evil.yaml").write_text(text)
    refused("fit", "--config", tmp_path / "evil.yaml")
    assert not Path("done").exists()


def test_run_whose_configuration_holds_code_is_refused(made, refused, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(made, run)
    (run / "config.yaml").write_text("!!python/object/apply:os.mkdir [done]")
    assert "config.yaml cannot be read" in refused("test", "--run", run)
    assert not Path("done").exists()


def test_pickled_table_is_refused(refused, tmp_path):
    path = tmp_path / "table.pkl"
    path.write_bytes(pickle.dumps(Evil(tmp_path / "done")))
    refused("fit", "--model", "ERM", "--data", "Table", "--data.path", path, "--data.label", "y")
    assert not (tmp_path / "done").exists()


NAMES = [
    "../../above",
    "/absolute",
    "[bold red]marked[/]",
    "<script>alert(1)</script>",
    "=1+1",
    "a\\b",
    "[/]",
    "x" * 300,
]


def test_names_from_data_stay_names(run, pictures, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")  # so that no name is on two lines
    rows = [f'{i % 7},{i % 2},"{NAMES[i % 8]}",{part}' for part in ("train", "id_val", "id_test") for i in range(80)]
    path = tmp_path / "names.csv"
    path.write_text("\n".join(["a,y,g,part", *rows]))
    data = ["--data.path", path, "--data.label", "y", "--data.group", "g", "--data.split", "part"]
    before = set(tmp_path.parent.iterdir())
    where = ["--trainer.default_root_dir", tmp_path / "runs", "--trainer.max_epochs", 1]
    run("fit", "--model", "DRU", "--data", "Table", *data, *where)
    capsys.readouterr()
    run("test", "--run", tmp_path / "runs/version_0")
    shown = capsys.readouterr().out
    for name in ("[bold red]marked[/]", "<script>", "=1+1", "[/]"):
        assert name in shown, name
    groups = read_csv(tmp_path / "runs/version_0/test/qdcg10/groups.csv")
    assert {row["group"] for row in groups} == set(NAMES)
    assert set(tmp_path.parent.iterdir()) == before
    assert not Path("/absolute").exists()
    assert {entry.name for entry in tmp_path.iterdir()} == {"names.csv", "runs"}
