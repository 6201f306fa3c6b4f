"""Losses by sample, the own and torch's."""

import numpy as np
import pytest
import torch
from lightning.pytorch import Callback
from torch import nn

from drurank.errors import InputError
from drurank.methods import DRU, ERM
from drurank.training.losses import CrossEntropy
from fits import network, small
from reference import cross_entropy


@pytest.mark.parametrize("options", [{"label_smoothing": 0.2}, {"weight": torch.tensor([1.0, 5.0])}])
def test_any_loss_by_sample_trains(trainer, options):
    class First(Callback):
        def on_train_batch_start(self, trainer, module, batch, batch_idx):
            logits = module(batch["inputs"]).detach().double().numpy()
            by_class = np.stack([cross_entropy(logits, np.full(len(logits), c)) for c in (0, 1)], axis=1)
            label = batch["label"].numpy()
            smooth = options.get("label_smoothing", 0.0)
            of_label = (1 - smooth) * by_class[np.arange(len(label)), label] + smooth * by_class.mean(axis=1)
            scale = np.asarray(options.get("weight", [1.0, 1.0]))[label]
            self.should = (scale * of_label).mean()

        def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
            assert float(outputs["loss"]) == pytest.approx(self.should, rel=1e-5)

    first = First()
    loss = nn.CrossEntropyLoss(reduction="none", **options)
    trainer(callbacks=[first]).fit(DRU(network=network(), loss=loss), datamodule=small())
    assert first.should > 0


def test_checkpoint_of_a_run_with_class_weights_loads_alone(trainer):
    loss = nn.CrossEntropyLoss(reduction="none", weight=torch.tensor([1.0, 5.0]))
    run = trainer()
    run.fit(DRU(loss=loss), datamodule=small())
    run.save_checkpoint("class_weights.ckpt")
    again = DRU.load_from_checkpoint("class_weights.ckpt")
    torch.testing.assert_close(again.network.head.weight, run.lightning_module.network.head.weight)


def test_loss_that_is_a_mean_is_refused():
    with pytest.raises(InputError, match=r"reduction='mean'.*reduction='none'"):
        ERM(loss=nn.CrossEntropyLoss())


@pytest.mark.parametrize("shape", [(3,), (3, 1)])
def test_cross_entropy_needs_two_scores_a_sample(shape):
    with pytest.raises(InputError, match="an output for each of two classes or more"):
        CrossEntropy()(torch.zeros(shape), torch.zeros(3).long())
