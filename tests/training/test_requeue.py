"""A job that SLURM starts again goes on from its own file, and no other fit does."""

import logging
import os
from pathlib import Path

import pytest
from lightning.pytorch import Callback, seed_everything
from lightning.pytorch.loggers import CSVLogger

from drurank.callbacks import best_by
from drurank.errors import InputError
from drurank.methods import DRU, ERM
from drurank.training import requeue
from fits import network, small
from runs import plain, read_csv, read_json

JOB = {
    "JOB_ID": "7",
    "JOB_NAME": "sweep",
    "NTASKS": "1",
    "NODEID": "0",
    "PROCID": "0",
    "LOCALID": "0",
    "NNODES": "1",
    "NODELIST": "n1",
}


@pytest.fixture(autouse=True)
def slurm(monkeypatch):
    for name, value in JOB.items():
        monkeypatch.setenv(f"SLURM_{name}", value)


class Stop(Callback):
    """Writes the file of a requeue in the middle of a validation, and ends the run there."""

    def __init__(self, epoch=1):
        self.epoch = epoch

    def on_validation_batch_end(self, trainer, *args, **kwargs):
        if trainer.current_epoch == self.epoch and not trainer.sanity_checking:
            trainer.save_checkpoint("hpc_ckpt_1.ckpt")
            raise KeyboardInterrupt


def fit(trainer, method=ERM, seed=3, callbacks=(), epochs=3, **options):
    seed_everything(seed, verbose=False)
    run = trainer(max_epochs=epochs, callbacks=list(callbacks), **options)
    module = method(network=network())
    run.fit(module, datamodule=small(eval_batch_size=8))
    return run, module


def interrupt(trainer, **options):
    with pytest.raises(SystemExit):
        fit(trainer, callbacks=[Stop()], **options)


def test_a_requeued_fit_goes_on_from_its_file_and_puts_it_away(trainer, tmp_path, caplog):
    straight, _ = fit(trainer)
    interrupt(trainer)
    assert plain("hpc_ckpt_1.ckpt")["drurank_job"] == {"job": "7", "seed": "3", "folder": str(tmp_path)}
    with caplog.at_level(logging.INFO):
        again, _ = fit(trainer)
    said = [message for message in caplog.messages if message.startswith("requeued job 7: the run goes on from ")]
    assert [Path(message.rpartition(" ")[2]).name for message in said] == ["hpc_ckpt_1.ckpt"]
    assert again.global_step == straight.global_step
    for name, value in straight.callback_metrics.items():
        assert float(again.callback_metrics[name]) == float(value), name
    assert sorted(path.name for path in tmp_path.glob("*.ckpt")) == ["requeued_1.ckpt"]
    _, other = fit(trainer, seed=4)
    assert other.progress.ended_epoch == 2, "the next fit in the folder begins anew"


@pytest.mark.parametrize(
    ("given", "env", "said"),
    [
        ({"seed": 4}, {}, "by job 7 with seed 3 .* this is job 7 with seed 4"),
        ({}, {"SLURM_JOB_ID": "8"}, "by job 7 with seed 3 .* this is job 8 with seed 3"),
        ({}, {"SLURM_ARRAY_JOB_ID": "9", "SLURM_ARRAY_TASK_ID": "2"}, "this is job 9_2"),
        ({"method": DRU}, {}, "the checkpoint was made with drurank.methods.ERM, not drurank.methods.DRU"),
    ],
)
def test_a_file_of_another_fit_is_refused(trainer, monkeypatch, given, env, said):
    interrupt(trainer)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=said):
        fit(trainer, **given)


def test_outside_slurm_nothing_is_taken_or_noted(trainer, monkeypatch, tmp_path):
    interrupt(trainer)
    for name in JOB:
        monkeypatch.delenv(f"SLURM_{name}")
    assert requeue.requeued_file(tmp_path) is None
    run, _ = fit(trainer, epochs=1)
    run.save_checkpoint("a.ckpt")
    assert "drurank_job" not in plain("a.ckpt")


def test_the_command_line_goes_on_in_the_folder_of_the_run(run, tmp_path, monkeypatch, refused):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    words = ["--model", "ERM", "--data", "Shortcut", "--data.groups", "[6,4,4]", "--data.group_size", "10"]
    words += ["--data.eval_batch_size", "8", "--trainer.max_epochs", "3"]
    stop = [f"--trainer.callbacks={__name__}.Stop"]
    with pytest.raises(SystemExit):
        run("fit", *words, *stop)
    assert os.listdir("runs") == ["version_0"]
    config = (tmp_path / "runs/version_0/config.yaml").read_bytes()
    assert "with seed 1" in refused("fit", *words, "--seed_everything", "1")
    assert (tmp_path / "runs/version_0/config.yaml").read_bytes() == config
    run("fit", *words)
    assert os.listdir("runs") == ["version_0"]
    rows = [row for row in read_csv("runs/version_0/metrics.csv") if "val_qdcg10" in row]
    assert [row["epoch"] for row in rows] == ["0", "1", "2"]
    assert read_json("runs/version_0/selection.json")["qdcg10"]["file"] == "checkpoints/qdcg10.ckpt"
    run("fit", *words)
    assert sorted(os.listdir("runs")) == ["version_0", "version_1"]
    straight = [row for row in read_csv("runs/version_1/metrics.csv") if "val_qdcg10" in row]
    assert [row["val_qdcg10"] for row in rows] == [row["val_qdcg10"] for row in straight]


@pytest.mark.parametrize("logger", [False, True], ids=["no logger", "a logger"])
def test_in_python_too_a_requeued_fit_goes_on_in_the_folder_of_the_run(trainer, tmp_path, logger):
    def options(stop=()):
        own = CSVLogger("logs") if logger else False
        return {"callbacks": [*best_by("worst"), *stop], "enable_checkpointing": True, "logger": own}

    with pytest.raises(SystemExit):
        fit(trainer, **options([Stop()]))
    (first,) = tmp_path.rglob("selection.json")
    fit(trainer, **options())
    assert list(tmp_path.rglob("selection.json")) == [first]
    assert list(tmp_path.rglob("last.ckpt")) == [first.parent / "checkpoints/last.ckpt"]
    assert plain(first.parent / "checkpoints/last.ckpt")["epoch"] == 2
