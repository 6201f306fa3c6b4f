"""What somebody removes from a run's folder while it trains is written anew, or the run says that it is lost."""

import shutil
import warnings

import pytest
import yaml

from drurank.callbacks import GroupReport
from drurank.callbacks.selection import LastCheckpoint
from drurank.run_folder.place import run_folder
from drurank.run_folder.selection import read_selection
from drurank.run_folder.weights import COLUMNS
from runs import FIT, plain, read_csv, read_json

EPOCHS = 2
WORDS = [*FIT, "--select", "qdcg10,worst", "--trainer.max_epochs", EPOCHS]


@pytest.fixture
def during(monkeypatch, tmp_path):
    """Do something to the run's folder at the beginning of its last epoch, or at the end of it."""

    def arrange(act, hook="on_train_epoch_start", by=LastCheckpoint):
        def when(self, trainer, module):
            if trainer.current_epoch >= EPOCHS - 1:
                act(run_folder(trainer))

        monkeypatch.setattr(by, hook, when, raising=False)
        return tmp_path / "runs/version_0"

    return arrange


def whole(folder):
    """Look at every file of a run that was meddled with."""
    weights = read_csv(folder / "weights.csv")
    assert weights[0].keys() <= set(COLUMNS)
    assert {row["epoch"] for row in weights} >= {str(EPOCHS)}
    logged = read_csv(folder / "metrics.csv")
    assert any("val_qdcg10" in row and row["epoch"] == str(EPOCHS - 1) for row in logged)
    assert yaml.safe_load((folder / "config.yaml").read_text())["model"]["class_path"] == "drurank.methods.DRU"
    noted = read_json(folder / "selection.json")
    assert noted.keys() == {"qdcg10", "worst"}
    for name, entry in read_selection(folder).items():
        saved = plain(entry["file"])
        assert saved["epoch"] == entry["epoch"]
        values = [row.get(f"val_{name}") for row in logged if row.get("epoch") == str(entry["epoch"])]
        assert all(float(value) == pytest.approx(entry["value"]) for value in values if value)
    assert plain(folder / "checkpoints/last.ckpt")["epoch"] == EPOCHS - 1


def remove(*names):
    return lambda folder: [(folder / name).unlink() for name in names]


def empty(*names):
    return lambda folder: [(folder / name).write_text("") for name in names]


FILES = ("weights.csv", "metrics.csv", "config.yaml", "selection.json")


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (
            remove(*FILES),
            (
                "weights.csv was removed or changed while the run trained; it is written anew from epoch 2 on",
                "metrics.csv was removed or changed while the run went on; it is written anew from step",
                "config.yaml was removed while the run trained; it is written anew",
            ),
        ),
        (empty(*FILES[:2]), ("weights.csv was removed or changed", "metrics.csv was removed or changed")),
        (
            lambda folder: shutil.rmtree(folder / "checkpoints"),
            ("checkpoints/qdcg10.ckpt, the best by qdcg10 so far, was removed while the run trained; the best from",),
        ),
        (shutil.rmtree, ("the best by worst so far, was removed", "config.yaml was removed")),
    ],
    ids=["files", "emptied", "checkpoints", "folder"],
)
def test_what_is_removed_is_written_anew_and_said(run, during, tmp_path, act, said):
    folder = during(act)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        run(*WORDS, "--trainer.default_root_dir", tmp_path / "runs")
    told = " ".join(str(one.message) for one in seen)
    assert all(sentence in told for sentence in said), told
    whole(folder)


def test_selection_removed_after_the_last_validation_is_noted_again(run, during, tmp_path):
    folder = during(remove("selection.json"), "on_train_end", GroupReport)
    with pytest.warns(UserWarning, match="selection.json lacks qdcg10, as if somebody had removed it"):
        run(*WORDS, "--trainer.default_root_dir", tmp_path / "runs")
    whole(folder)


def test_a_checkpoint_removed_at_the_very_end_ends_the_run_with_a_sentence(refused, during, tmp_path):
    folder = during(remove("checkpoints/qdcg10.ckpt"), "on_train_end")
    said = refused(*WORDS, "--trainer.default_root_dir", tmp_path / "runs")
    assert said == (
        f"{folder}/checkpoints/qdcg10.ckpt was removed while the run trained, and no epoch is left to write it anew; "
        "fit again"
    )


@pytest.mark.parametrize("name", ["weights.csv", "metrics.csv", "selection.json", "."])
def test_something_else_in_its_place_ends_the_run_with_a_sentence(refused, during, tmp_path, name):
    def act(folder):
        place = folder / name
        shutil.rmtree(place) if place.is_dir() else place.unlink()
        place.write_text("") if name == "." else place.mkdir()

    during(act)
    said = refused(*WORDS, "--trainer.default_root_dir", tmp_path / "runs")
    assert " cannot be used: " in said
    assert ("version_0" if name == "." else name) in said
