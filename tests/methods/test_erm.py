"""ERM: every sample weighs 1."""

import numpy as np

from drurank.methods import ERM
from fits import Watch, network, small


def test_erm_weighs_every_sample_1(trainer):
    data = small()
    watch = Watch(data.dataset("train"))
    trainer(max_epochs=2, callbacks=[watch]).fit(ERM(network=network()), datamodule=data)
    assert watch.assert_weights_follow(lambda correct, group: np.ones(len(group)), "evaluation") == 0


def test_title():
    assert ERM().title == "ERM"
