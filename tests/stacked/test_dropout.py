"""With dropout, too, a candidate is the same in any stack and alone."""

import logging
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional

from drurank.data import Shortcut
from drurank.data.dataset import InMemory
from drurank.methods import DRU, ERM, JTT
from drurank.networks import MLP
from side_by_side import Trained, both_ways, distance, fit_alone, fit_stacked, sgd

SMALL = {"groups": [6, 4, 4], "group_size": 20}
KINDS = [ERM, DRU, partial(JTT, first_stage_epochs=1)]


class Own(nn.Module):
    """Calls dropout as a function, of tensors of several shapes, and in place."""

    def __init__(self, sizes):
        super().__init__()
        self.first, self.last = nn.Linear(sizes.in_features, 6), nn.Linear(3, sizes.num_classes)

    def forward(self, inputs):
        hidden = functional.dropout(functional.relu(self.first(inputs)), 0.3, self.training)
        hidden = functional.dropout(hidden.view(-1, 2, 3).mean(dim=1), p=0.2, training=self.training, inplace=True)
        return functional.dropout(self.last(hidden), 0.0)


class Noisy(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layer = nn.Linear(sizes.in_features, sizes.num_classes)

    def forward(self, inputs):
        return self.layer(inputs + torch.randn_like(inputs) if self.training else inputs)


class Moody(Own):
    """Calls dropout at every second step alone, where ``counts``, or of one half of the columns, at each."""

    def __init__(self, sizes, counts=True):
        super().__init__(sizes)
        self.calls, self.counts = 0, counts

    def forward(self, inputs):
        self.calls += self.training
        if self.calls % 2 and not self.counts:
            inputs = functional.dropout(inputs[:, :1], 0.5, self.training) + inputs
        elif self.calls % 2 or not self.counts:
            inputs = functional.dropout(inputs, 0.5, self.training)
        return super().forward(inputs)


class Falling(Own):
    """Drops fewer and fewer."""

    def __init__(self, sizes):
        super().__init__(sizes)
        self.calls = 1

    def forward(self, inputs):
        self.calls += self.training
        return super().forward(functional.dropout(inputs, 1 / self.calls, self.training))


NETWORKS = {"module": lambda sizes: MLP(sizes, hidden=8, dropout=0.5), "function": Own}


def method(network, k, optimizer=None):
    return KINDS[k % 3](network=network, optimizer=optimizer or sgd(0.1 * (k // 2 + 1)))


def fits(root, numbers, network=NETWORKS["module"], epochs=3, optimizer=None):
    makers = {k: partial(method, network, k, optimizer) for k in numbers}
    return [Trained(make, root / str(k), seed=k, epochs=epochs, data=SMALL) for k, make in makers.items()]


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_a_candidate_draws_as_it_does_alone(tmp_path, monkeypatch, network):
    alone, stacked, sizes = both_ways(partial(method, network), 4, tmp_path, monkeypatch, data=SMALL)
    assert sizes == [4] * 3
    for one, other in zip(alone, stacked, strict=True):
        assert (one.error, other.error) == (None, None)
        assert distance(one.method, other.method) < 1e-5
        assert float(one.trainer.callback_metrics["train_loss"]) == pytest.approx(
            float(other.trainer.callback_metrics["train_loss"]), rel=1e-4
        )


def test_a_candidate_draws_as_it_does_alone_where_torch_draws_by_a_library(tmp_path, monkeypatch):
    monkeypatch.setattr("drurank.stacked.dropout._draws_by_64_bits", lambda: False)
    test_a_candidate_draws_as_it_does_alone(tmp_path, monkeypatch, Own)


def test_another_rate_of_dropout_is_told_apart(tmp_path):
    (one,) = fit_alone(fits(tmp_path / "alone", [0], epochs=1))
    (other, _) = fit_stacked(fits(tmp_path, [0, 1], lambda sizes: MLP(sizes, hidden=8, dropout=0.3), epochs=1))
    assert distance(one.method, other.method) > 1e-3


@pytest.mark.parametrize("optimizer", [None, partial(torch.optim.AdamW, lr=0.05)], ids=["SGD", "AdamW"])
def test_the_stack_and_its_order_change_nothing(tmp_path, optimizer):
    whole = fit_stacked(fits(tmp_path / "whole", range(5), optimizer=optimizer))
    parts = [
        fit_stacked(fits(tmp_path / f"part{number}", part, optimizer=optimizer))
        for number, part in enumerate(([4, 0], [3, 1, 2]))
    ]
    by_seed = {one.seed: one for one in (*parts[0], *parts[1])}
    assert [distance(one.method, by_seed[one.seed].method) for one in whole] == [0] * 5  # not by rounding either


def test_a_stack_that_goes_on_among_others_draws_what_a_straight_one_does(tmp_path):
    straight = fit_stacked(fits(tmp_path / "straight", range(3), epochs=4))
    fit_stacked(fits(tmp_path, range(3), epochs=2))
    again = fits(tmp_path, [2, 0], epochs=4)
    for one in again:
        one.resumed = one.folder / "last.ckpt"
    fit_stacked(again)
    assert [one.error for one in again] == [None, None]
    assert [distance(one.method, straight[one.seed].method) < 1e-5 for one in again] == [True, True]


class Jittered(Shortcut):
    """Data whose training batches are drawn with noise."""

    def make_dataset(self, split):
        made = super().make_dataset(split)
        if split == "train":
            made.dataset = InMemory(made.dataset.inputs, made.dataset.label, jitter)
        return made


def jitter(inputs):
    return inputs + torch.randn_like(inputs)


@pytest.mark.parametrize(
    ("network", "options", "said"),
    [
        (Noisy, {}, "the network draws random numbers by more than torch.nn.functional.dropout"),
        (
            MLP,
            {"data_class": Jittered, "data": {**SMALL, "batch_size": 8}},
            "random numbers are drawn where the rows of a batch are made",
        ),
        (Moody, {}, "the network calls dropout otherwise at one step than at another"),
        (Falling, {}, "the network calls dropout otherwise at one step than at another"),
        (partial(Moody, counts=False), {}, "the network calls dropout otherwise at one step than at another"),
    ],
)
def test_other_random_numbers_are_drawn_alone(tmp_path, monkeypatch, caplog, network, options, said):
    with caplog.at_level(logging.INFO, "lightning.pytorch.utilities.rank_zero"):
        alone, stacked, sizes = both_ways(partial(method, network), 2, tmp_path, monkeypatch, epochs=2, **options)
    assert [one.error for one in (*alone, *stacked)] == [None] * 4
    assert sizes == [2], "the one that was tried"
    assert [said in record.getMessage() for record in caplog.records].count(True) == 2
    assert [distance(one.method, other.method) for one, other in zip(alone, stacked, strict=True)] == [0, 0]


def test_without_a_seed_no_two_epochs_draw_the_same(tmp_path, monkeypatch):
    drawn = []

    class Kept(nn.Module):
        def __init__(self, sizes):
            super().__init__()
            self.layer = nn.Linear(sizes.in_features, 2)

        def forward(self, inputs):
            kept = functional.dropout(torch.ones_like(inputs), 0.5, self.training)
            return self.layer(inputs * kept)

    from drurank.stacked import epoch

    begin = epoch.OwnDropout.__init__

    def noting(self, generators):
        drawn.append([generator.get_state() for generator in generators])
        begin(self, generators)

    monkeypatch.setattr(epoch.OwnDropout, "__init__", noting)
    monkeypatch.setattr("drurank.training.stages.Stages.seed", lambda *given: None)
    fit_stacked(fits(tmp_path, [0, 1], Kept, epochs=2))
    (first, second) = drawn
    assert not any(torch.equal(one, other) for one, other in zip(first, second, strict=True))
