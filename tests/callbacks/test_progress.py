"""The progress bar: what stands behind it, and what is logged while it is shown."""

import io
import logging
import sys

import pytest
import torch
from lightning.pytorch.callbacks import Callback

from drurank.callbacks import GroupProgressBar, best_by
from drurank.data import Shortcut
from drurank.methods import ERM


class Seen(Callback):
    """Notes what stands behind the bar after each step and at the end."""

    def __init__(self):
        self.steps = []

    def on_train_batch_end(self, trainer, method, outputs, batch, batch_idx):
        self.steps.append(trainer.progress_bar_callback.get_metrics(trainer, method))

    def on_train_end(self, trainer, method):
        self.last = trainer.progress_bar_callback.get_metrics(trainer, method)
        self.loss, self.worst = (float(trainer.callback_metrics[key]) for key in ("train_loss", "val_worst"))


def fit_with(trainer, tmp_path, *callbacks, **options):
    seen = Seen()
    kept = best_by("worst", dirpath=str(tmp_path / "checkpoints"))
    shown = {"enable_progress_bar": True, "enable_checkpointing": True, "max_epochs": 2, "log_every_n_steps": 2}
    trainer(callbacks=[*callbacks, *kept, seen], **{**shown, **options}).fit(
        ERM(optimizer=lambda parameters: torch.optim.SGD(parameters, 0.1)),
        datamodule=Shortcut(groups=[6, 4, 4], group_size=10, batch_size=16),
    )
    return seen


def test_the_loss_so_far_and_the_criterion_are_shown(trainer, tmp_path):
    seen = fit_with(trainer, tmp_path, GroupProgressBar())
    assert seen.steps[0] == {}, "before the first interval nothing is known"
    assert [list(one) for one in seen.steps[1:4]] == [["loss"]] * 3
    assert all(list(one) == ["loss", "val_worst"] for one in seen.steps[4:])
    assert seen.steps[1] == seen.steps[2] != seen.steps[3], "looked at once an interval, and at the end of an epoch"
    assert seen.last["loss"] == pytest.approx(seen.loss)
    assert seen.last["val_worst"] == pytest.approx(seen.worst)


def test_a_bar_of_lightnings_own_shows_both_by_epoch(trainer, tmp_path):
    seen = fit_with(trainer, tmp_path)
    assert seen.last["train_loss"] == pytest.approx(seen.loss)
    assert seen.last["val_worst"] == pytest.approx(seen.worst)
    assert not {key for key in seen.last if key.startswith("val_")} - {"val_worst"}, "one criterion only"


def test_what_is_logged_goes_to_standard_error_as_it_is_then(trainer, tmp_path, monkeypatch):
    logger = logging.getLogger("lightning.pytorch")
    handler, elsewhere = logging.StreamHandler(sys.stderr), logging.StreamHandler(io.StringIO())
    monkeypatch.setattr(logger, "handlers", [handler, elsewhere])
    before = [handler.stream, elsewhere.stream]
    now = io.StringIO()

    class Redirects(Callback):
        def on_train_start(self, trainer, method):
            monkeypatch.setattr(sys, "stderr", now)  # as a bar on a terminal does
            logger.warning("a message")

    fit_with(trainer, tmp_path, GroupProgressBar(), Redirects(), max_epochs=1)
    assert "a message\n" in now.getvalue()
    assert "a message\n" in elsewhere.stream.getvalue()
    assert [handler.stream, elsewhere.stream] == before


def test_the_command_line_shows_it_unless_another_is_given(monkeypatch):
    from drurank.cli.training import run

    shown = []
    monkeypatch.setattr("drurank.cli.group_cli.GroupCLI.fit", lambda self, *a, **k: None, raising=False)
    words = ["fit", "--model", "ERM", "--data", "Shortcut", "--data.groups", "[6,4,4]", "--data.group_size", "10"]
    words += ["--trainer.accelerator", "cpu"]
    for more in ([], ["--trainer.callbacks+", "TQDMProgressBar"], ["--trainer.enable_progress_bar", "false"]):
        bar = run([*words, *more]).trainer.progress_bar_callback
        shown.append(type(bar).__name__)
    assert shown == ["GroupProgressBar", "TQDMProgressBar", "NoneType"]
