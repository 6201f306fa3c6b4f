"""Checkpoints that the command line made are loaded without it."""

from functools import partial

import pytest
import torch
from lightning.pytorch import Trainer
from torch import nn

from drurank.data import Shortcut
from drurank.errors import InputError
from drurank.methods import DRU, ERM
from drurank.networks import MLP
from own_network import TwoLayers


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["--model.network", "MLP", "--model.network.hidden", "7", "--model.network.layers", "2"], MLP),
        (["--model.network", "own_network.TwoLayers", "--model.network.width", "3"], TwoLayers),
    ],
)
def test_checkpoint_loads_by_itself_and_on_other_data(fit, words, kind):
    folder = fit("runs", *words, epochs=1)
    file = folder / "checkpoints/last.ckpt"
    method = DRU.load_from_checkpoint(file)
    assert type(method.network) is kind
    saved = torch.load(file, weights_only=True)["state_dict"]
    torch.testing.assert_close(dict(method.state_dict()), dict(saved), rtol=0, atol=0)
    trainer = Trainer(accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False)
    (result,) = trainer.test(method, datamodule=Shortcut(groups=[3, 2, 5], group_size=4), verbose=False)
    batch = Shortcut(groups=[3, 2, 5], group_size=4).dataset("ood_test")[list(range(20))]
    with torch.no_grad():
        right = method.eval()(batch["inputs"]).argmax(dim=1) == batch["label"]
    assert result["test_overall"] == pytest.approx(float(right.double().mean()))


def fitted(trainer, network):
    run = trainer()
    run.fit(DRU(network=network), datamodule=Shortcut(groups=[4, 3, 3], group_size=6))
    run.save_checkpoint("python.ckpt")
    return run.lightning_module


def test_network_given_as_a_partial_is_built_again(trainer):
    module = fitted(trainer, partial(MLP, hidden=9, dropout=0.25))
    again = DRU.load_from_checkpoint("python.ckpt")
    assert again.network.head.in_features == 9
    assert again.network.hidden_layers[2].p == 0.25
    torch.testing.assert_close(again.network.head.weight, module.network.head.weight)


@pytest.mark.parametrize(
    "network", [nn.Linear(2, 2), lambda sizes: nn.Linear(sizes.in_features, 2)], ids=["object", "lambda"]
)
def test_network_given_as_an_object_is_asked_for_again(trainer, network):
    module = fitted(trainer, network)
    with pytest.raises(InputError, match=r"DRU.load_from_checkpoint\(path, network=\.\.\.\)"):
        DRU.load_from_checkpoint("python.ckpt")
    again = DRU.load_from_checkpoint("python.ckpt", network=nn.Linear(2, 2))
    torch.testing.assert_close(again.network.weight, module.network.weight)


def test_checkpoint_of_another_program_is_refused(trainer):
    torch.save({"state_dict": {}, "pytorch-lightning_version": "2.6.6"}, "foreign.ckpt")
    with pytest.raises(InputError, match="not made by drurank"):
        ERM.load_from_checkpoint("foreign.ckpt")
