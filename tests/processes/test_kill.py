"""Runs that are killed, stopped by a signal, or meet a full disk: `make test-kill` does more of the first."""

import contextlib
import logging
import os
import random
import resource
import shutil
import signal
import time
from pathlib import Path

import pytest
import torch
from lightning.pytorch import Callback
from lightning.pytorch.cli import LightningArgumentParser
from lightning.pytorch.utilities.exceptions import SIGTERMException

from drurank.callbacks import best_by
from drurank.cli import main
from drurank.cli.training_parser import TrainingParser
from drurank.data import Shortcut
from drurank.methods import DRU
from drurank.run_folder.logger import RunLogger
from kill import Case, Straight, contents, differences, faults_of_files, kill, latest, process, trial, wait_until
from runs import read_csv

CASE = Case("JTT", 24, words=["--model.first_stage_epochs", "12", "--trainer.callbacks", "kill.Paced"])


@pytest.fixture(scope="module")
def end(run):
    """Runs words to their end in this process, which has imported all that it takes."""

    def call(words, root):
        run(*words)

    return call


@pytest.fixture(scope="module")
def straight(end, tmp_path_factory):
    root = tmp_path_factory.mktemp("straight")
    end(CASE.start(root), root)
    return Straight.of(latest(root))


@pytest.fixture(scope="module")
def finished(fit, tmp_path_factory):
    return fit(tmp_path_factory.mktemp("finished"), epochs=3)


@pytest.fixture
def copied(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "runs" / "version_0")


def test_killed_run_goes_on_to_the_same_end(straight, end, tmp_path):
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")  # pytest shows it where the test fails
    assert kill(CASE.start(tmp_path), tmp_path, write=2), "no write of the 48 was seen"
    assert faults_of_files(tmp_path) == []
    pace = 0.05
    paced = Straight(straight.contents, pace * CASE.epochs)
    found, _ = trial(CASE, tmp_path, 2, paced, random.Random(seed), end, pace)
    assert found == []


# ---- signals


def stop_after_first_epoch(root, how):
    """Begin a run, call ``how`` with its process id once it has kept an epoch; gives its exit status and output."""
    last = root / "version_0/checkpoints/last.ckpt"
    with process(CASE.start(root), root / "log", pace=0.2) as running:
        assert wait_until(last.is_file, running), (root / "log").read_text()
        how(running.pid)
        status = running.wait(100)
    assert faults_of_files(root) == []
    assert torch.load(last, weights_only=True)["epoch"] < CASE.epochs - 1, "it had not ended by itself"
    return status, (root / "log").read_text()


@pytest.mark.parametrize(("name", "status"), [("SIGTERM", 143), ("SIGINT", 130)])
def test_signal_ends_a_run_with_a_sentence_and_it_goes_on_to_the_same_end(straight, end, tmp_path, name, status):
    given, said = stop_after_first_epoch(tmp_path, lambda pid: os.kill(pid, getattr(signal, name)))
    assert given == status
    assert "Traceback" not in said
    last = tmp_path / "version_0/checkpoints/last.ckpt"
    lines = [line for line in said.splitlines() if line.startswith("stopped by ")]
    assert len(lines) == 1
    assert lines[0].startswith(f"stopped by {name} in epoch ")
    assert lines[0].endswith(f": go on with --ckpt_path {last}")
    end(CASE.go_on(tmp_path), tmp_path)
    assert differences(contents(latest(tmp_path)), straight.contents) == []


@pytest.mark.parametrize(
    ("first", "second"), [(signal.SIGTERM, signal.SIGINT), (signal.SIGINT, signal.SIGTERM)], ids=["TERM", "INT"]
)
def test_of_two_signals_the_first_decides(tmp_path, first, second):
    def both(pid):
        os.kill(pid, first)
        time.sleep(0.05)
        with contextlib.suppress(ProcessLookupError):  # it may have ended by then
            os.kill(pid, second)

    given, said = stop_after_first_epoch(tmp_path, both)
    assert given == 128 + first
    assert "Traceback" not in said
    (line,) = (line for line in said.splitlines() if line.startswith("stopped by "))
    assert line.startswith(f"stopped by {first.name}")


class Signal(Callback):
    """Sends this process SIGTERM while the first batch is trained on."""

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        os.kill(os.getpid(), signal.SIGTERM)


def test_signal_before_an_epoch_has_ended_leaves_no_file_that_would_not_be_exact(trainer, tmp_path, caplog):
    run = trainer(callbacks=[*best_by("worst", tmp_path / "files"), Signal()], enable_checkpointing=True)
    with (
        caplog.at_level(logging.INFO, "lightning.pytorch.utilities.rank_zero"),
        pytest.raises(SIGTERMException),
    ):
        run.fit(DRU(), datamodule=Shortcut(groups=[6, 4, 4], group_size=10, batch_size=16))
    said = "stopped by SIGTERM in epoch 0: no epoch had ended, so there is nothing to resume"
    assert said in [record.getMessage() for record in caplog.records]
    assert list(tmp_path.rglob("*.ckpt")) == []


def test_interrupt_while_modules_are_imported_is_no_traceback(monkeypatch, capsys):
    def interrupt(words):
        raise KeyboardInterrupt

    monkeypatch.setattr("drurank.cli.training.run", interrupt)
    with pytest.raises(SystemExit) as stop:
        main(["fit"])
    assert stop.value.code == 130
    assert capsys.readouterr().err == "stopped by SIGINT\n"


# ---- a full disk


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux can limit another process")
def test_disk_that_is_full_in_a_later_epoch_is_said_and_the_run_goes_on_to_the_same_end(straight, end, tmp_path):
    last = tmp_path / "version_0/checkpoints/last.ckpt"

    def fill(pid):
        hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (last.stat().st_size // 2, hard))

    status, said = stop_after_first_epoch(tmp_path, fill)
    assert status == 2
    assert "Traceback" not in said
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    places = [f"{last.parent}/{name}.ckpt" for name in ("last", "qdcg10")]
    assert len(errors) == 1
    assert errors[0] in [
        f"error: no space left to write {place} (File too large); free some space and run it again" for place in places
    ]
    end(CASE.go_on(tmp_path), tmp_path)
    assert differences(contents(latest(tmp_path)), straight.contents) == []


# ---- moments that a kill hits rarely


def test_run_killed_after_its_last_checkpoint_is_finished_by_going_on(run, finished, copied):
    text = (copied / "weights.csv").read_text()
    rows = text.splitlines(keepends=True)
    assert [row.startswith("3,") for row in rows] == [False] * 19 + [True] * 6
    (copied / "weights.csv").write_text("".join(rows[:-2]))
    *logged, last = (copied / "metrics.csv").read_text().splitlines(keepends=True)
    assert last.startswith("2,11,0."), "the mean training loss, which is logged last"
    (copied / "metrics.csv").write_text("".join(logged))
    (copied / "criteria.png").unlink()
    for name in (".config.yaml.17.drurank", "checkpoints/.last.ckpt.17.drurank"):
        (copied / name).write_bytes(b"half")
    run("fit", "--ckpt_path", copied / "checkpoints/last.ckpt")
    assert differences(contents(copied), contents(finished)) == []
    assert (copied / "criteria.png").is_file()


def test_going_on_without_training_leaves_what_came_after(run, copied):
    """As from the best checkpoint of a longer run, with the epochs that it has."""
    with (copied / "weights.csv").open("a") as rows:
        rows.write("4,later,10,0.5,0,1,1\n")
    before = (copied / "weights.csv").read_bytes()
    run("fit", "--ckpt_path", copied / "checkpoints/last.ckpt", "--trainer.max_epochs", "3")
    assert (copied / "weights.csv").read_bytes() == before


@pytest.mark.parametrize("torn", ["", "0.25,1", "0.25,11,0.5", "0.25,11,0.5,0.75,9\r\n"])
def test_metrics_of_earlier_epochs_are_there_at_every_moment_of_going_on(tmp_path, torn):
    file = tmp_path / "run/metrics.csv"
    file.parent.mkdir()
    head = "epoch,step,val_worst\r\n0,3,0.5\r\n1,7,0.625\r\n2,11,0.75\r\n"
    file.write_bytes((head + torn).encode())
    logger = RunLogger(tmp_path, version="run", before_step=8)
    assert logger.experiment is not None
    assert file.read_bytes().decode() == head + torn
    logger.log_metrics({"val_worst": 0.875, "val_p10": 0.25, "epoch": 2}, step=11)
    logger.save()
    logger.log_metrics({"train_loss": 0.125}, step=12)
    logger.save()
    assert read_csv(file) == [
        {"epoch": "0", "step": "3", "val_worst": "0.5"},
        {"epoch": "1", "step": "7", "val_worst": "0.625"},
        {"epoch": "2", "step": "11", "val_worst": "0.875", "val_p10": "0.25"},
        {"step": "12", "train_loss": "0.125"},
    ]
    assert [path.name for path in file.parent.iterdir()] == ["metrics.csv"]


def test_configuration_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    file = tmp_path / "config.yaml"
    file.write_text("seed: 1\n")

    def save(self, namespace, path, **kwargs):
        Path(path).write_text("se")
        raise KeyboardInterrupt

    monkeypatch.setattr(LightningArgumentParser, "save", save)
    with pytest.raises(KeyboardInterrupt):
        TrainingParser().save({}, str(file), overwrite=True)
    assert file.read_text() == "seed: 1\n"
    assert list(tmp_path.iterdir()) == [file]
