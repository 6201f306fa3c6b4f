"""With dropout a stack draws otherwise than a fit alone, but from the same distribution."""

import numpy as np
import pytest
import torch
from scipy.stats import ks_2samp, ttest_rel

from drurank.methods import DRU
from drurank.networks import MLP
from side_by_side import Trained, fit_alone, fit_stacked, sgd

SEEDS = range(20)
SMALL = {"groups": [6, 4, 4], "group_size": 20}


def fits(root, dropout):
    def make():
        return DRU(network=lambda sizes: MLP(sizes, hidden=8, dropout=dropout), optimizer=sgd(0.1))

    return [Trained(make, root / str(seed), seed=seed, epochs=2, data=SMALL) for seed in SEEDS]


def outcome(trained):
    """Training loss and length of the parameters of each seed, ``[2, 20]``."""
    losses = [float(one.trainer.callback_metrics["train_loss"]) for one in trained]
    lengths = [
        float(torch.cat([each.flatten() for each in one.method.network.parameters()]).norm().detach())
        for one in trained
    ]
    return np.array([losses, lengths])


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return outcome(fit_alone(fits(tmp_path_factory.mktemp("alone"), 0.5)))


def test_twenty_seeds_have_the_same_distribution_alone_and_stacked(alone, tmp_path):
    stacked = outcome(fit_stacked(fits(tmp_path, 0.5)))
    assert not np.isclose(alone, stacked, rtol=1e-4).any()  # they were drawn otherwise
    for one, other in zip(alone, stacked, strict=True):
        # Seeds share weights and order of the rows, so they are pairs.
        assert ttest_rel(one, other).pvalue > 0.01
        assert ks_2samp(one, other).pvalue > 0.01


def test_another_rate_of_dropout_is_told_apart(alone, tmp_path):
    other = outcome(fit_stacked(fits(tmp_path, 0.3)))
    assert all(ttest_rel(one, two).pvalue < 1e-3 for one, two in zip(alone, other, strict=True))
