"""Options with which a method is ERM: the same parameters after two epochs."""

import pytest
import torch
from lightning.pytorch import seed_everything

from drurank.data import Shortcut
from drurank.methods import DRU, ERM, ChiSquare, Const, CVaR, GroupDRO, Worst

LIMITS = {
    "DRU, cutoff 0": lambda: DRU(cutoff=0),
    "DRU+G, cutoff 0": lambda: DRU(cutoff=0, upweight="all", rank_by="index"),
    "Const, factor 1": lambda: Const(upweight_factor=1),
    "Worst, factor 1": lambda: Worst(upweight_factor=1, upweight="all"),
    "CVaR, alpha 1": lambda: CVaR(1),
    "ChiSquare, radius 0": lambda: ChiSquare(0),
}


@pytest.fixture
def fitted(trainer):
    def fit(method):
        seed_everything(0, verbose=False)  # dropout by epoch, whatever else draws from the generator
        trainer(max_epochs=2).fit(method, datamodule=Shortcut(groups=[6, 4, 4], group_size=10, batch_size=16))
        return method.network.state_dict()

    return fit


@pytest.mark.parametrize("name", LIMITS)
def test_limit_is_erm(fitted, name):
    found = fitted(LIMITS[name]())
    for key, value in fitted(ERM()).items():
        torch.testing.assert_close(found[key], value, rtol=0, atol=1e-6)


class SumOfGroupMeans(ERM):
    """``(1/m) sum_g L_g`` over the groups of the batch, by a loop."""

    sampler = "balanced"

    def reduce(self, losses, batch, state):
        group = batch["group"]
        return torch.stack([losses[group == number].mean() for number in group.unique()]).sum() / 6


@pytest.mark.parametrize("preset", ["wilds", "sagawa"])
def test_group_dro_without_steps_is_the_sum_of_group_means(fitted, preset):
    found = fitted(GroupDRO(preset, step_size=0))
    for key, value in fitted(SumOfGroupMeans()).items():
        torch.testing.assert_close(found[key], value, rtol=0, atol=1e-6)


def test_off_the_limit_it_is_not(fitted):
    plain = fitted(ERM())["head.weight"]
    for method in (DRU(), Const(), Worst(upweight="all"), CVaR(0.5), ChiSquare(1)):
        assert (fitted(method)["head.weight"] - plain).abs().max() > 1e-5
