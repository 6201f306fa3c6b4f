"""Stages: which epochs are which, and callbacks that see only those that may be chosen."""

from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch import Callback
from lightning.pytorch.callbacks import EarlyStopping, GradientAccumulationScheduler, ModelCheckpoint
from torch import nn

from drurank.errors import InputError
from drurank.training.schedules import LinearDecay
from drurank.training.stages import SelectableOnly, Stages, choose_only_selectable, steps_of_epoch, steps_of_run


def run(**options):
    """A trainer of 5 epochs of 4 batches."""
    values = {"num_training_batches": 4, "accumulate_grad_batches": 1, "max_epochs": 5, "max_steps": -1}
    return SimpleNamespace(**{**values, "callbacks": [], "lr_scheduler_configs": [], **options})


def test_epochs_of_one_stage():
    stages = Stages()
    assert [stages.epoch_of(epoch) for epoch in range(4)] == [0, 1, 2, 3]
    assert all(stages.is_last(epoch) for epoch in range(4))


def test_epochs_of_two_stages():
    stages = Stages(starts_anew_at=2)
    assert [stages.epoch_of(epoch) for epoch in range(5)] == [0, 1, 0, 1, 2]
    assert [stages.is_last(epoch) for epoch in range(5)] == [False, False, True, True, True]


def test_seed_is_by_epoch_of_the_stage_and_by_process(monkeypatch):
    def draw(epoch, rank=0):
        Stages(2).seed(epoch, rank)
        return float(torch.rand(()))

    monkeypatch.setenv("PL_GLOBAL_SEED", "3")
    assert draw(0) == draw(2) != draw(1)
    assert draw(0) != draw(0, rank=1)
    torch.manual_seed(3 * 1_000_003 + 1 * 7_919 + 2)
    want = float(torch.rand(()))
    assert draw(3, rank=2) == want
    monkeypatch.delenv("PL_GLOBAL_SEED")
    assert draw(0) != draw(0), "without a seed nothing is set"


@pytest.mark.parametrize(("accumulate", "steps"), [(1, 4), (3, 2), (8, 1)])
def test_steps_of_an_epoch(accumulate, steps):
    assert steps_of_epoch(run(accumulate_grad_batches=accumulate)) == steps


@pytest.mark.parametrize(
    ("options", "steps"),
    [({}, 20), ({"max_steps": 7}, 7), ({"max_epochs": -1}, None), ({"max_epochs": -1, "max_steps": 9}, 9)],
)
def test_steps_of_a_run(options, steps):
    assert steps_of_run(run(**options)) == steps


def schedule(interval, **options):
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1)
    return SimpleNamespace(scheduler=LinearDecay(optimizer, **options), interval=interval, frequency=1)


@pytest.mark.parametrize(("epoch", "epochs", "steps"), [(0, 2, 8), (1, 2, 8), (2, 3, 12), (4, 3, 12)])
def test_schedule_ends_with_its_stage(epoch, epochs, steps):
    configs = [schedule("epoch"), schedule("step"), schedule("step", horizon=100)]
    Stages(2).end_schedules(run(lr_scheduler_configs=configs), epoch)
    assert [config.scheduler.horizon for config in configs] == [epochs, steps, 100]


def test_schedule_whose_end_is_not_known_is_refused():
    trainer = run(lr_scheduler_configs=[schedule("step")], callbacks=[GradientAccumulationScheduler({0: 2})])
    with pytest.raises(InputError, match="give lr_scheduler a horizon"):
        Stages().end_schedules(trainer, 0)


class Noting(Callback):
    """Notes which of its hooks are called."""

    def __init__(self):
        self.monitor, self.called = "val_worst", []

    def on_train_batch_end(self, trainer, method, *of_batch):
        self.called.append(("on_train_batch_end", *of_batch))

    def on_train_epoch_end(self, trainer, method):
        self.called.append("on_train_epoch_end")

    def on_validation_end(self, trainer, method):
        self.called.append("on_validation_end")

    def on_train_end(self, trainer, method):
        self.called.append("on_train_end")


def test_hooks_that_choose_are_called_only_where_the_epoch_may_be_chosen():
    callback = Noting()
    wrapped = SelectableOnly(callback)
    for selectable in (False, True):
        method = SimpleNamespace(selectable=selectable)
        wrapped.on_train_batch_end(None, method, "outputs", "batch", 3)
        wrapped.on_train_epoch_end(None, method)
        wrapped.on_validation_end(None, method)
        wrapped.on_train_end(None, method)
    batch = ("on_train_batch_end", "outputs", "batch", 3)
    assert callback.called == ["on_train_end", batch, "on_train_epoch_end", "on_validation_end", "on_train_end"]


@pytest.mark.parametrize(
    "make", [lambda: ModelCheckpoint(monitor="val_worst", mode="max"), lambda: EarlyStopping("val_worst")]
)
def test_wrapped_callback_is_to_all_others_the_callback(make):
    callback = make()
    before = dict(vars(callback))
    wrapped = SelectableOnly(callback)
    assert vars(callback) == before, "no method of it is replaced"
    assert isinstance(wrapped, type(callback))
    assert isinstance(wrapped, Callback)
    assert wrapped.state_key == callback.state_key
    assert wrapped.state_dict() == callback.state_dict()
    assert wrapped.monitor == "val_worst"
    wrapped.mode = "elsewhere"
    assert callback.mode == "elsewhere"
    assert vars(callback) == {**before, "mode": "elsewhere"}


def test_only_callbacks_that_monitor_are_wrapped_and_once():
    noting, other = Noting(), Callback()
    trainer = run(callbacks=[noting, other])
    for _ in range(2):
        choose_only_selectable(trainer)
        assert trainer.callbacks[1] is other
        assert type(trainer.callbacks[0]) is SelectableOnly
        assert trainer.callbacks[0].callback is noting


@pytest.mark.parametrize("more", [[], [ModelCheckpoint()]])
def test_that_no_last_checkpoint_is_saved_is_said_where_nothing_else_does(recwarn, more):
    choose_only_selectable(run(callbacks=[ModelCheckpoint(monitor="val_worst", save_last=True), *more]))
    assert any("no last checkpoint is saved" in str(warning.message) for warning in recwarn) == (not more)
