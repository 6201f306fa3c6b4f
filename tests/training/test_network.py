"""How a method comes by its network."""

from dataclasses import asdict
from functools import partial

import pytest
import torch
from torch import nn

from drurank.errors import InputError
from drurank.methods import DRU, ERM
from drurank.networks import MLP, Sizes
from drurank.training.network import NetworkBuilder
from fits import network, own_loaders, own_network, small


def test_own_network_is_saved_once(trainer):
    train, _ = own_loaders()
    module = DRU(network=own_network(), accuracy_from="training")
    run = trainer()
    run.fit(module, train)
    run.save_checkpoint("own.ckpt")
    saved = torch.load("own.ckpt", weights_only=True)["state_dict"]
    assert sorted(saved) == ["network.0.bias", "network.0.weight", "network.2.bias", "network.2.weight"]


def test_network_class_without_a_data_module_is_refused(trainer):
    train, val = own_loaders()
    with pytest.raises(InputError, match="sizes"):
        trainer().fit(ERM(network=MLP), train, val)


def test_sizes_come_from_the_data(trainer):
    seen = []

    def factory(sizes):
        seen.append(sizes)
        return MLP(sizes)

    trainer().fit(ERM(network=factory), datamodule=small())
    assert seen == [Sizes(in_features=2, num_classes=2, cardinalities=())]


def test_what_is_built_can_be_built_again():
    builder = NetworkBuilder(partial(MLP, hidden=4))
    built = builder.build(Sizes(3, 2, cardinalities=(5,)))
    saved = builder.state_dict(built)
    assert saved["network"] == {"class_path": "drurank.networks.mlp.MLP", "init_args": MLP_ARGUMENTS}
    assert saved["sizes"]["cardinalities"] == [5], "a list, which a safe reader takes"
    again = NetworkBuilder(MLP)
    rebuilt = again.rebuild(saved, "DRU")
    shapes = [{name: value.shape for name, value in one.state_dict().items()} for one in (built, rebuilt)]
    assert shapes[0] == shapes[1]
    assert shapes[0]["head.weight"] == (2, 4)
    assert again.state_dict(rebuilt) == saved


MLP_ARGUMENTS = {"hidden": 4, "layers": 3, "dropout": 0.5, "activation": "leaky_relu", "embedding_dim": 16}


def test_given_object_is_kept_and_cannot_be_built_from_the_file():
    given = own_network()
    builder = NetworkBuilder(given)
    assert builder.given is given
    saved = builder.state_dict(given)
    assert saved == {"network": None, "sizes": None}
    with pytest.raises(InputError, match=r"give it again: DRU\.load_from_checkpoint\(path, network=\.\.\.\)"):
        NetworkBuilder(MLP).rebuild(saved, "DRU")


def test_function_is_rebuilt_where_it_is_given_again():
    builder = NetworkBuilder(network())
    plain = builder.state_dict(builder.build(Sizes(2, 2)))
    assert plain["network"] is None
    assert NetworkBuilder(network()).rebuild(plain, "DRU").head.weight.shape == (2, 8)
    with pytest.raises(InputError, match="was given as an object"):
        NetworkBuilder(MLP).rebuild(plain, "DRU")


def test_class_that_is_not_imported_is_refused():
    saved = {"network": {"class_path": "elsewhere.Net", "init_args": {}}, "sizes": {"in_features": 2, "num_classes": 2}}
    with pytest.raises(InputError, match=r"elsewhere\.Net is not imported; import elsewhere first"):
        NetworkBuilder(MLP).rebuild(saved, "DRU")


def test_network_says_more_arguments_for_its_rebuilding():
    made = nn.Linear(2, 2)
    made.saved_arguments = lambda: {"hidden": 7}
    assert NetworkBuilder(MLP).state_dict(made)["rebuild"] == {"hidden": 7}
    saved = {"network": {"class_path": "drurank.networks.mlp.MLP", "init_args": {}}, "sizes": asdict(Sizes(2, 2))}
    assert NetworkBuilder(MLP).rebuild({**saved, "rebuild": {"hidden": 7}}, "DRU").head.weight.shape == (2, 7)
