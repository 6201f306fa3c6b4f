"""Const: every misclassified sample weighs more, whatever its group."""

import math

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from drurank.data import GroupedDataset
from drurank.errors import InputError
from drurank.methods import ERM, Const
from fits import own_network, own_rows, record_of


def test_const_upweights_every_misclassified_sample_and_erm_none():
    correct = [1, 0, -1, 0, 1]  # the third was never seen
    record = record_of(correct, [0, 0, 1, -1, 1], 2)  # the fourth has no group
    assert Const(2.5).reweight(record).tolist() == [1, 2.5, 1, 2.5, 1]
    assert ERM().reweight(record).tolist() == [1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Const(-2), "upweight_factor.*-2"),
        (lambda: Const(math.inf), "upweight_factor.*inf"),
        (lambda: Const(math.nan), "upweight_factor.*nan"),
    ],
)
def test_arguments_out_of_range_are_refused_by_name_and_value(make, named):
    with pytest.raises(InputError, match=named):
        make()


def test_title():
    assert Const().title == "Const+M"


def test_rows_without_a_group_are_upweighted_by_const(trainer):
    rows, groups = own_rows()[0], torch.tensor([-1, 0, 1, 2] * 6)
    module = Const(3, accuracy_from="training", network=own_network())
    trainer().fit(module, DataLoader(GroupedDataset(rows, groups), 4))
    assert module.record.correct.min() == 0
    np.testing.assert_array_equal(module.state["weight"], np.where(module.record.correct == 0, 3.0, 1.0))
