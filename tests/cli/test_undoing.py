"""A command that ends before it has done anything leaves everything as it was."""

import json
import logging
import os
import signal
from pathlib import Path

import pytest
from lightning.pytorch import Callback

from drurank.cli import main
from drurank.errors import InputError
from runs import FIT, QUIET

BEFORE = ("setup", "on_train_start", "on_after_backward")
"""Some hooks of a fit that come before the end of its first batch."""

FROM = "what is not typed comes from"


class Ends(Callback):
    """Refuses, or interrupts the process, in a hook."""

    def __init__(self, hook: str, interrupts: bool = False, writes: bool = False):
        def end(trainer, *args, **kwargs):
            if writes:
                (Path(trainer.logger.log_dir) / "mine.txt").touch()
            if interrupts:
                os.kill(os.getpid(), signal.SIGINT)
            else:
                raise InputError("not now")

        setattr(self, hook, end)


def contents(folder):
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}


def ending(hook, **options):
    named = [word for name, value in options.items() for word in (f"--trainer.callbacks.{name}", str(value))]
    return ["--trainer.callbacks+", f"{__name__}.Ends", "--trainer.callbacks.hook", hook, *named]


@pytest.mark.parametrize("hook", BEFORE)
def test_a_fit_that_is_refused_leaves_no_folder_and_a_resume_each_file_of_the_run(done, refused, tmp_path, hook):
    where = ["--trainer.default_root_dir", tmp_path / "deep" / "runs"]
    assert refused(*FIT, *where, *ending(hook)) == "not now"
    assert list(tmp_path.iterdir()) == []
    before = contents(done)
    resume = ["fit", "--ckpt_path", done / "checkpoints/last.ckpt", "--trainer.max_epochs", 5, "--model.cutoff", 5]
    assert refused(*resume, *ending(hook)) == f"not now; {FROM} {done / 'config.yaml'}"
    assert contents(done) == before
    assert list(tmp_path.iterdir()) == []


def test_an_error_within_a_run_does_not_name_the_file_of_its_options(copied, refused):
    resume = ["fit", "--ckpt_path", copied / "checkpoints/last.ckpt", "--trainer.max_epochs", 5]
    assert refused(*resume, *ending("on_train_epoch_end")) == "not now"
    assert refused("test", "--run", copied, *ending("on_test_epoch_end")) == "not now"


def test_an_error_of_a_file_that_was_typed_names_no_other(done, refused, tmp_path):
    (tmp_path / "p.csv").write_text("mine")
    said = refused("predict", "--run", done, "--output", "p.csv", "--by_class", "true")
    assert said == "p.csv exists; give another output, or --overwrite true to replace it"
    columns = ["--data.label", "y", "--data.group", "g", "--data.split", "s"]
    said = refused("test", "--run", done, "--data", "Table", "--data.path", "gone.csv", *columns)
    assert "gone.csv" in said
    assert str(done) not in said


def test_a_folder_that_was_there_keeps_what_it_had(refused, tmp_path):
    folder = tmp_path / "logs/mine/version_0"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("kept")
    (folder / ".lock").write_text("somebody else's")
    before = contents(tmp_path)
    named = ["--trainer.logger", "TensorBoardLogger", "--trainer.logger.save_dir", tmp_path / "logs"]
    named += ["--trainer.logger.name", "mine", "--trainer.logger.version", 0]
    assert refused(*FIT, *named, *ending("on_train_start")) == "not now"
    assert contents(tmp_path) == before


@pytest.mark.parametrize(("command", "part"), [("validate", "validation"), ("test", "test"), ("predict", "predict")])
def test_an_evaluation_that_is_refused_leaves_no_folder(done, refused, tmp_path, command, part):
    before = contents(done)
    of_run = ["--run", done, "--trainer.default_root_dir", tmp_path / "new"]
    assert refused(command, *of_run, *ending(f"on_{part}_start")) == f"not now; {FROM} {done / 'config.yaml'}"
    assert list(tmp_path.iterdir()) == []
    assert contents(done) == before


def interrupted(capsys, *words):
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit) as stop:
            main([*map(str, words), *QUIET])
    finally:
        signal.signal(signal.SIGINT, handler)
    assert stop.value.code == 130
    return capsys.readouterr().err


def test_an_interrupt_before_the_first_checkpoint_removes_the_folder_and_says_so(tmp_path, capsys):
    said = interrupted(capsys, *FIT, *ending("on_train_batch_start", interrupts=True))
    assert "runs/version_0 held no checkpoint yet and was removed\n" in said
    assert list(tmp_path.iterdir()) == []
    # What is not ours stays once the run has begun.
    own = ending("on_train_epoch_end", interrupts=True, writes=True)
    assert "removed" not in interrupted(capsys, *FIT, *own)
    assert (tmp_path / "runs/version_0/mine.txt").is_file()


@pytest.mark.parametrize(
    ("command", "part", "more"),
    [("fit", "train", " in epoch 0: no epoch had ended, so there is nothing to resume")]
    + [(command, part, "") for command, part in (("validate", "validation"), ("test", "test"), ("predict", "predict"))],
)
def test_an_interrupt_ends_every_command_with_status_130_and_one_sentence(done, capsys, caplog, command, part, more):
    words = FIT if command == "fit" else [command, "--run", done]
    with caplog.at_level(logging.INFO):
        interrupted(capsys, *words, *ending(f"on_{part}_batch_start", interrupts=True))
    said = [record.getMessage() for record in caplog.records if "stopped" in record.getMessage()]
    assert said == [f"stopped by SIGINT{more}"]


@pytest.mark.parametrize("command", ["split", "inspect", "report", "study"])
def test_an_interrupt_of_other_commands_is_the_same(capsys, monkeypatch, command):
    def interrupt(words):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"drurank.cli.{command}.run", interrupt)
    assert interrupted(capsys, command) == "stopped by SIGINT\n"


def test_folders_of_other_loggers_and_of_the_user_are_never_touched(refused, run, tmp_path):
    """Those that a resume names, and one that holds what is somebody else's."""
    home = tmp_path / "home"
    (home / "sub").mkdir(parents=True)
    for name in ("thesis.txt", "sub/config.yaml", "hparams.yaml"):
        (home / name).write_text("mine")
    loggers = [{"class_path": "CSVLogger", "init_args": {"save_dir": "logs"}}]
    loggers += [{"class_path": "TensorBoardLogger", "init_args": {"save_dir": "board"}}]
    run(*FIT, "--trainer.max_epochs", 1, "--trainer.logger", json.dumps(loggers))
    last = next(tmp_path.rglob("last.ckpt"))
    other = [loggers[0], {"class_path": "CSVLogger", "init_args": {"save_dir": str(home), "name": "", "version": ""}}]
    before = contents(tmp_path)
    resume = ["fit", "--ckpt_path", last, "--trainer.max_epochs", 9]
    for more in ([], ["--trainer.logger", json.dumps(other)]):
        assert "SGD" in refused(*resume, *more, "--model.optimizer", "SGD", "--model.optimizer.lr", 0.5)
        assert contents(tmp_path) == before
    refused("fit", "--ckpt_path", last, "--trainer.max_epochs", 0, "--trainer.logger", json.dumps(other))
    assert contents(tmp_path) == before


def test_what_another_program_writes_meanwhile_stays(refused, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "notes.txt").write_text("old")
    named = json.dumps([{"class_path": "CSVLogger", "init_args": {"save_dir": str(folder), "name": "", "version": ""}}])
    refused(*FIT, "--trainer.logger", named, *ending("on_train_start", writes=True))
    assert sorted(path.name for path in folder.iterdir()) == ["mine.txt", "notes.txt"]
