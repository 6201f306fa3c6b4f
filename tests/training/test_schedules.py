"""Schedules that end with the training: rates by hand and by torch's own."""

import pytest
import torch
from lightning.pytorch import Callback
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR

from drurank.data import Shortcut
from drurank.errors import InputError
from drurank.methods import ERM
from drurank.training.schedules import CosineDecay, LinearDecay

SIZE = {"groups": [6, 4, 4], "group_size": 10, "batch_size": 16}  # 60 training rows, 4 batches


class Rates(Callback):
    """Notes the rate of each step."""

    def __init__(self):
        self.seen = []

    def on_before_zero_grad(self, trainer, module, optimizer):
        self.seen.append(optimizer.param_groups[0]["lr"])


def rates(make, steps, rate=1.0):
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=rate)
    scheduler, found = make(optimizer), []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


@pytest.mark.parametrize(
    ("make", "want"),
    [
        (lambda o: LinearDecay(o, horizon=4), [1, 0.75, 0.5, 0.25, 0, 0]),
        # A quarter of 8 steps rises, 0, 1/2, then 6 steps fall
        (lambda o: LinearDecay(o, warmup=0.25, horizon=8), [0, 1 / 2, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6, 0]),
        # (1 + cos(pi t / 4)) / 2
        (lambda o: CosineDecay(o, horizon=4), [1, 0.853553, 0.5, 0.146447, 0, 0]),
        (lambda o: CosineDecay(o, warmup=0.5, horizon=4), [0, 0.5, 1, 0.5, 0]),
        (lambda o: LinearDecay(o, horizon=1), [1, 0]),
        # A third of 4 steps is 1.333: one step at 1 / 1.333, the fall takes 2.667 from there
        (lambda o: LinearDecay(o, warmup=1 / 3, horizon=4), [0, 0.75, 0.75, 0.375, 0]),
    ],
)
def test_by_hand(make, want):
    assert rates(make, len(want)) == pytest.approx(want, abs=1e-6)


@pytest.mark.parametrize("length", [1, 3, 10])
def test_as_those_of_torch(length):
    line = rates(lambda o: LinearDecay(o, horizon=length), length, rate=0.3)
    assert line == pytest.approx(rates(lambda o: LinearLR(o, 1.0, 0.0, length), length, rate=0.3))
    wave = rates(lambda o: CosineDecay(o, horizon=length), length, rate=0.3)
    assert wave == pytest.approx(rates(lambda o: CosineAnnealingLR(o, length), length, rate=0.3))


@pytest.mark.parametrize(
    ("options", "interval", "want"),
    [
        ({"max_epochs": 3}, "epoch", 3),
        ({"max_epochs": 3}, "step", 12),
        (
            {"max_epochs": 3, "accumulate_grad_batches": 3},
            "step",
            6,
        ),  # of 4 batches: after 3 and after the last
        ({"max_epochs": 3, "limit_train_batches": 2}, "step", 6),
        ({"max_epochs": 3, "max_steps": 5}, "step", 5),
        ({"max_epochs": 3, "max_steps": 5}, "epoch", 2),
        ({"max_epochs": -1, "max_steps": 7}, "step", 7),
    ],
)
def test_horizon_is_the_length_of_the_training(trainer, options, interval, want):
    run = trainer(**options)
    run.fit(ERM(lr_scheduler=LinearDecay, lr_interval=interval), datamodule=Shortcut(**SIZE))
    scheduler = run.lr_scheduler_configs[0].scheduler
    assert scheduler.horizon == want
    if interval == "step":
        assert run.optimizers[0].param_groups[0]["lr"] == 0


def test_own_horizon_stays(trainer):
    run = trainer(max_epochs=2)
    run.fit(ERM(lr_scheduler=lambda o: LinearDecay(o, horizon=4)), datamodule=Shortcut(**SIZE))
    assert run.optimizers[0].param_groups[0]["lr"] == pytest.approx(0.5e-3)


def test_longer_run_resumed_falls_more_slowly(trainer, tmp_path):
    method = ERM(lr_scheduler=LinearDecay)
    first = trainer(max_epochs=2, enable_checkpointing=True, default_root_dir=tmp_path)
    first.fit(method, datamodule=Shortcut(**SIZE))
    longer = trainer(max_epochs=4)
    path = first.checkpoint_callback.best_model_path
    rates = Rates()
    longer.callbacks.append(rates)
    longer.fit(ERM(lr_scheduler=LinearDecay), datamodule=Shortcut(**SIZE), ckpt_path=path)
    assert rates.seen == pytest.approx([0.5e-3] * 4 + [0.25e-3] * 4)  # 1e-3 (1 - t / 4) in epochs 2 and 3


@pytest.mark.parametrize("warmup", [0, 0.25])
def test_rates_of_every_step(trainer, warmup):
    rates = Rates()
    trainer(max_epochs=2, callbacks=[rates]).fit(
        ERM(lr_scheduler=lambda o: LinearDecay(o, warmup), lr_interval="step"), datamodule=Shortcut(**SIZE)
    )
    rise = [0, 0.5, *(1 - t / 6 for t in range(6))]
    assert rates.seen == pytest.approx([1e-3 * x for x in (rise if warmup else [1 - t / 8 for t in range(8)])])


def test_warmup_by_epochs_is_refused(trainer):
    with pytest.raises(InputError, match="a warmup by epochs trains the first one at a rate of 0"):
        trainer().fit(ERM(lr_scheduler=lambda o: LinearDecay(o, 0.1)), datamodule=Shortcut(**SIZE))


def test_command_line(fit, tmp_path):
    words = ["--model.lr_scheduler", "LinearDecay", "--model.lr_scheduler.warmup", 0.1, "--model.lr_interval", "step"]
    assert (fit(tmp_path, *words, method="ERM", epochs=2) / "selection.json").is_file()


@pytest.mark.parametrize(
    ("options", "said"),
    [({"warmup": 1}, "warmup is 1"), ({"warmup": -0.1}, "warmup is -0.1"), ({"horizon": 0}, "horizon is 0")],
)
def test_out_of_range_is_refused(options, said):
    with pytest.raises(InputError, match=said):
        LinearDecay(torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1), **options)


def test_without_a_horizon_it_says_so():
    with pytest.raises(InputError, match="LinearDecay does not know its horizon"):
        rates(LinearDecay, 1)
