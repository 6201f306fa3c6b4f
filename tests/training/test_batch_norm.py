"""A network with batch norm and a last batch of one row: refused before it trains, and what else is left alone."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from drurank.data import GroupedDataset, Shortcut, evaluation_loader
from drurank.errors import InputError
from drurank.methods import DRU, ERM


def network(width=2, spatial=False, frozen=False):
    norm = nn.BatchNorm2d(4) if spatial else nn.BatchNorm1d(4)
    if spatial:
        return nn.Sequential(nn.Unflatten(1, (1, 1, width)), nn.Conv2d(1, 4, 1), norm, nn.Flatten(), nn.LazyLinear(2))
    return nn.Sequential(nn.Linear(width, 4), norm.requires_grad_(not frozen), nn.Dropout(0.5), nn.Linear(4, 2))


def shortcut(rows, **options):
    return Shortcut(groups=[1, 2, 2], group_size=rows, batch_size=8, **options)


@pytest.mark.parametrize("method", [ERM, DRU])
def test_a_last_batch_of_one_row_is_refused_as_training_begins(trainer, method):
    data = Shortcut(groups=[3, 2, 2], group_size=11, batch_size=8)
    width = data.sizes.in_features
    one = trainer()
    with pytest.raises(InputError, match="has one row, of which batch norm can take no variance; give drop_last=True"):
        one.fit(method(network=network(width)), datamodule=data)
    assert one.global_step == 0


@pytest.mark.parametrize("case", ["two rows", "dropped", "not reached", "no norm", "many values a row"])
def test_what_trains_is_let_alone(trainer, case):
    rows, options, limits = 17, {}, {}
    if case == "two rows":
        rows = 18
    elif case == "dropped":
        options = {"drop_last": True}
    elif case == "not reached":
        limits = {"limit_train_batches": 2}
    data = shortcut(rows, **options)
    width = data.sizes.in_features
    net = nn.Linear(width, 2) if case == "no norm" else network(width, spatial=case == "many values a row")
    if case == "many values a row":
        net(torch.zeros(2, width))
    one = trainer(**limits)
    one.fit(ERM(network=net), datamodule=data)
    assert one.global_step == {"two rows": 3, "dropped": 2, "not reached": 2}.get(case, 3)


def test_one_row_a_batch_is_told_otherwise(trainer):
    data = Shortcut(groups=[1, 2, 2], group_size=4, batch_size=1)
    with pytest.raises(InputError, match="give batch_size of 2 or more"):
        trainer().fit(ERM(network=network(data.sizes.in_features)), datamodule=data)


@pytest.mark.parametrize("dropped", [False, True])
def test_loaders_of_ones_own_are_looked_at_too(trainer, dropped):
    rows = TensorDataset(torch.randn(9, 2), torch.tensor([0, 1, 0, 1, 0, 1, 0, 1, 0]))
    train = GroupedDataset(rows, torch.arange(9) % 3)
    loaders = (
        DataLoader(train, 4, shuffle=True, drop_last=dropped),
        [
            DataLoader(GroupedDataset(rows, torch.arange(9) % 3, split="val"), 4),
            evaluation_loader(train),
        ],
    )
    method = ERM(network=network())
    if dropped:
        trainer().fit(method, *loaders)
    else:
        with pytest.raises(InputError, match="give drop_last=True"):
            trainer().fit(method, *loaders)


def test_looking_changes_neither_the_network_nor_the_run(trainer, monkeypatch):
    weights = []
    for looks in (True, False):
        torch.manual_seed(0)
        data = shortcut(17)
        net = network(data.sizes.in_features, spatial=True)
        net(torch.zeros(2, data.sizes.in_features))
        if not looks:
            monkeypatch.setattr("drurank.training.batch_norm._fails_on_one_row", lambda *args: False)
        trainer().fit(ERM(network=net), datamodule=data)
        weights.append(net.state_dict())
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
