"""Options with which a method is ERM: the same parameters after two epochs."""

import pytest
import torch
from lightning.pytorch import seed_everything

from drurank.data import Shortcut
from drurank.methods import DRU, ERM, ChiSquare, Const, CVaR, Worst

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


def test_off_the_limit_it_is_not(fitted):
    plain = fitted(ERM())["head.weight"]
    for method in (DRU(), Const(), Worst(upweight="all"), CVaR(0.5), ChiSquare(1)):
        assert (fitted(method)["head.weight"] - plain).abs().max() > 1e-5
