"""Small networks, data and records with given counts, and a callback that checks the weights of a training."""

import math

import numpy as np
import pytest
import torch
from lightning.pytorch import Callback
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from drurank.data import GroupedDataset, Shortcut
from drurank.networks import MLP
from drurank.training.record import EpochRecord
from reference import accuracies, cross_entropy, discounts, ranks, spread, unless_equal

CASE_1 = ([48, 27, 9, 4], [50, 30, 15, 5])  # accuracies .96, .9, .6, .8

TIED = ([5, 7, 5, 9, 7], [10] * 5)  # accuracies .5, .7, .5, .9, .7

ALIKE = {
    "200 groups": ([40] * 200, [50] * 200),
    "one group": ([7], [10]),
    "of several sizes": ([1, 2, 3, 5], [3, 6, 9, 15]),
    "all right": ([4, 9, 2], [4, 9, 2]),
    "all wrong": ([0, 0, 0], [4, 9, 2]),
}
"""Groups of which none is worse than another."""

HALF_DRAWN = ([1, 0, 0, -1, 1, 1, 1, -1], [0] * 4 + [1] * 4)
"""Predictions and groups; the last row of each group was never drawn, and the accuracies are 1/3 and 1."""


def plain_sgd(lr):
    return lambda params: torch.optim.SGD(params, lr=lr)


def small(**options):
    return Shortcut(**{"groups": [6, 4, 4], "group_size": 10, "batch_size": 16, **options})


def network(**options):
    return lambda sizes: MLP(sizes, **{"hidden": 8, "dropout": 0.0, **options})


def record_of(correct, group, m):
    """A record in force; ``correct`` may have leading dimensions."""
    correct = torch.as_tensor(correct)
    record = EpochRecord(torch.as_tensor(group), m)
    record.correct = correct.to(torch.int8)
    return record


def record_of_counts(right, count):
    group = np.repeat(np.arange(len(count)), count)
    correct = np.concatenate([np.arange(n) < r for r, n in zip(right, count, strict=True)])
    return record_of(correct, group, len(count)), correct, group


class Watch(Callback):
    """Notes, by epoch, the objective of each batch beside what it should be made of, and what the network gets right.

    For networks without dropout, whose logits are the same in the training step.
    """

    def __init__(self, train):
        self.rows = train[list(range(len(train)))]
        self.batches, self.right_in_training, self.right_at_end = [], [], []

    def on_train_epoch_start(self, trainer, module):
        self.batches.append([])
        self.right_in_training.append(np.full(len(self.rows["label"]), -1))

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        with torch.no_grad():
            logits = module(batch["inputs"]).numpy()
        index, label = batch["index"].numpy(), batch["label"].numpy()
        self.batches[-1].append({"index": index, "losses": cross_entropy(logits, label)})
        self.right_in_training[-1][index] = logits.argmax(axis=1) == label

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self.batches[-1][-1]["objective"] = float(outputs["loss"])

    def on_train_epoch_end(self, trainer, module):
        module.eval()
        with torch.no_grad():
            self.right_at_end.append((module(self.rows["inputs"]).argmax(dim=1) == self.rows["label"]).numpy())
        module.train()

    def assert_weights_follow(self, weights, accuracy_from):
        """Each epoch's objectives use ``weights(correct, group)`` of the epoch before, those of the first use 1."""
        group = self.rows["group"].numpy()
        weight, changed = np.ones(len(group)), 0
        for epoch, batches in enumerate(self.batches):
            drawn = np.concatenate([batch["index"] for batch in batches])
            assert sorted(drawn) == list(range(len(group))), "every sample once an epoch"
            for batch in batches:
                should = (weight[batch["index"]] * batch["losses"]).mean()
                assert batch["objective"] == pytest.approx(should, rel=1e-4), f"epoch {epoch}"
            correct = (self.right_at_end if accuracy_from == "evaluation" else self.right_in_training)[epoch]
            changed += not np.allclose(weight, weights(correct, group))
            weight = weights(correct, group)
        return changed


def dru_weights(correct, group, rank_by="quantile", upweight="misclassified", cutoff=100, ties="min", mean_1=False):
    accuracy = accuracies(correct, group, group.max() + 1)
    by_group = unless_equal(discounts(ranks(accuracy, rank_by, ties), cutoff), accuracy)
    weight = spread(by_group, correct, group, upweight)
    return weight / weight.mean() if mean_1 else weight


def own_rows(n=24, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 3, generator=generator)
    label = (x[:, 0] + 0.7 * torch.randn(n, generator=generator) > 0).long()
    return TensorDataset(x, label), [f"g{i % 4}" for i in range(n)]


def own_network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


def own_loaders():
    train = GroupedDataset(*own_rows())
    val = GroupedDataset(*own_rows(seed=1), split="val")
    return DataLoader(train, batch_size=5, shuffle=True), DataLoader(val, batch_size=7)


class Failing(nn.Module):
    """Gives nan in training, or, in evaluation, for rows whose first input is negative."""

    def __init__(self, training):
        super().__init__()
        self.linear, self.in_training = nn.Linear(3, 2), training

    def forward(self, x):
        if self.training:
            return self.linear(x) * (math.nan if self.in_training else 1)
        return torch.where(x[:, :1] < 0, math.nan, self.linear(x))
