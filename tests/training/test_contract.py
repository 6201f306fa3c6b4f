"""What your own batches, losses, notion of right and weights must be."""

import math

import pytest
from torch import nn

from drurank.errors import InputError
from drurank.methods import ERM
from fits import network, small


def test_method_that_gives_nan_weights_is_stopped(trainer):
    class Broken(ERM):
        def reweight(self, record):
            return super().reweight(record) * math.nan

    with pytest.raises(InputError, match=r"Broken.*nan"):
        trainer(max_epochs=2).fit(Broken(network=network()), datamodule=small())


def test_loss_of_a_whole_batch_is_refused_at_the_first_step(trainer):
    class Mean(nn.Module):
        def forward(self, logits, label):
            return nn.functional.cross_entropy(logits, label)

    with pytest.raises(InputError, match="one value per sample"):
        trainer().fit(ERM(network=network(), loss=Mean()), datamodule=small())
