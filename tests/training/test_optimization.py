"""Optimizer and schedule as they are given."""

import warnings
from functools import partial

import pytest
import torch
from lightning.pytorch.cli import ReduceLROnPlateau
from torch import nn

from drurank.errors import InputError
from drurank.methods import DRU
from drurank.networks import MLP
from drurank.training.optimization import Optimization, optimizers_in_words
from fits import network, plain_sgd, small


@pytest.mark.parametrize(("interval", "steps"), [("epoch", 2), ("step", 8)])  # 60 rows, batch 16: 4 steps an epoch
def test_scheduler_steps_by_its_interval(trainer, interval, steps):
    halve = lambda optimizer: torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)  # noqa: E731
    module = DRU(network=network(), optimizer=plain_sgd(1.0), lr_scheduler=halve, lr_interval=interval)
    run = trainer(max_epochs=2, gradient_clip_val=1e-6)
    run.fit(module, datamodule=small())
    assert run.optimizers[0].param_groups[0]["lr"] == pytest.approx(0.5**steps)


def test_scheduler_may_follow_a_criterion(trainer):
    plateau = lambda optimizer: ReduceLROnPlateau(optimizer, monitor="val_qdcg25", factor=0.1, patience=0)  # noqa: E731
    module = DRU(network=network(), optimizer=plain_sgd(1e-12), lr_scheduler=plateau)
    run = trainer(max_epochs=3)
    run.fit(module, datamodule=small())  # nothing is learnt, so the second and third epoch are no better
    assert run.optimizers[0].param_groups[0]["lr"] == pytest.approx(1e-14, rel=1e-3)


def test_network_may_say_its_parameter_groups(trainer):
    class Grouped(MLP):
        def parameter_groups(self):
            weights = [p for p in self.parameters() if p.ndim > 1]
            return [{"params": weights}, {"params": [p for p in self.parameters() if p.ndim == 1], "weight_decay": 0.0}]

    module = DRU(network=Grouped, optimizer=lambda params: torch.optim.AdamW(params, weight_decay=0.3))
    run = trainer()
    run.fit(module, datamodule=small())
    decay, none = run.optimizers[0].param_groups
    assert (decay["weight_decay"], none["weight_decay"]) == (0.3, 0.0)
    assert len(decay["params"]) == len(none["params"]) == 3


def no_monitor(key, mode):
    raise AssertionError("no criterion is followed")


def test_default_is_adamw_at_1e_3():
    optimizer = Optimization(None, None, "epoch").configure(nn.Linear(2, 2), None, no_monitor)
    assert type(optimizer) is torch.optim.AdamW
    assert optimizer.param_groups[0]["lr"] == 1e-3
    assert len(optimizer.param_groups[0]["params"]) == 2


def test_parameter_groups_of_the_network_are_taken():
    network = nn.Linear(2, 2)
    network.parameter_groups = lambda: [{"params": [network.weight], "lr": 0.5}, {"params": [network.bias]}]
    optimizer = Optimization(plain_sgd(0.1), None, "epoch").configure(network, network, no_monitor)
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.1]


def test_scheduler_that_follows_a_criterion_tells_it():
    told = []
    plateau = partial(ReduceLROnPlateau, monitor="val_worst", mode="max")
    made = Optimization(plain_sgd(0.1), plateau, "epoch").configure(
        nn.Linear(2, 2), None, lambda *asked: told.append(asked)
    )
    assert told == [("val_worst", "max")]
    assert (made["lr_scheduler"]["interval"], made["lr_scheduler"]["monitor"]) == ("epoch", "val_worst")


def test_network_that_does_not_train_is_refused():
    with pytest.raises(InputError, match="no parameter of the network requires a gradient"):
        Optimization(None, None, "epoch").configure(nn.Linear(2, 2).requires_grad_(False), None, no_monitor)


@pytest.mark.parametrize(("rate", "warned"), [(1e-3, True), (1e-4, False)])
def test_rate_above_the_highest_of_the_network_is_warned_of(rate, warned):
    network = nn.Linear(2, 2)
    network.highest_rate = 5e-4
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Optimization(plain_sgd(rate), None, "epoch").configure(network, network, no_monitor)
    assert any("the learning rate is 0.001; above 0.0005" in str(warning.message) for warning in caught) == warned


def test_state_is_class_and_arguments():
    rate = partial(torch.optim.SGD, lr=0.1, momentum=0.9)
    saved = Optimization(rate, partial(torch.optim.lr_scheduler.ExponentialLR, gamma=0.5), "step").state_dict()
    assert saved["optimizer"]["class_path"] == "torch.optim.sgd.SGD"
    assert (saved["optimizer"]["init_args"]["lr"], saved["optimizer"]["init_args"]["momentum"]) == (0.1, 0.9)
    assert saved["lr_scheduler"]["class_path"] == "torch.optim.lr_scheduler.ExponentialLR"
    assert (saved["lr_scheduler"]["init_args"]["gamma"], saved["lr_scheduler"]["interval"]) == (0.5, "step")


def test_state_without_a_scheduler_and_of_what_cannot_be_told():
    assert Optimization(plain_sgd(1), None, "epoch").state_dict() == {
        "optimizer": None,
        "lr_scheduler": {"class_path": "constant", "init_args": {}},
    }


def test_optimizers_in_words_are_class_and_defaults():
    said = optimizers_in_words([torch.optim.SGD(nn.Linear(1, 1).parameters(), lr=0.1, momentum=0.9)])
    assert said.startswith("SGD(lr=0.1, momentum=0.9,")
