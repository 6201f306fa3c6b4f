"""Weights of another project's file that a network starts from."""

import pytest
import torch
from torch import nn

from drurank.errors import InputError
from drurank.methods import ERM, JTT
from fits import network, own_loaders, own_network, plain_sgd, small


def wide():
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


def written(file, state, under=None):
    torch.save(state if under is None else {under: state, "epoch": 3}, file)
    return str(file)


def start(trainer, file, make=own_network, cls=ERM, **options):
    train, val = own_loaders()
    method = cls(network=make(), init_from=file, optimizer=plain_sgd(0.0), **options)
    run = trainer(max_epochs=2)
    run.fit(method, train, val)
    return method


@pytest.mark.parametrize("under", [None, "state_dict", "model_state_dict", "model"])
@pytest.mark.parametrize("prefix", ["", "model.", "module.net."])
def test_names_of_other_projects_are_understood(trainer, tmp_path, under, prefix):
    theirs = wide().state_dict()
    file = written(tmp_path / "a.pt", {prefix + name: value for name, value in theirs.items()}, under)
    method = start(trainer, file)
    for name, value in method.network.state_dict().items():
        assert torch.equal(value, theirs[name]), name


def test_what_does_not_fit_is_said_and_left_as_it_was(trainer, tmp_path):
    theirs = {f"model.{name}": value for name, value in wide().state_dict().items()}
    theirs["model.2.weight"], theirs["model.2.bias"] = torch.zeros(5, 4), torch.zeros(5)  # of five classes
    theirs["head.weight"] = torch.zeros(1)
    with pytest.warns(UserWarning, match=r"2 of the network's 4 tensors.*left as they were made: 2\.weight, 2\.bias"):
        method = start(trainer, written(tmp_path / "a.pt", theirs))
    assert torch.equal(method.network[0].weight, theirs["model.0.weight"])
    assert torch.equal(method.network[2].weight, own_network()[2].weight)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"other.weight": torch.zeros(2)}, "has nothing for this network: its entries are other.weight"),
        ({"epoch": 3}, "has no tensors"),
    ],
)
def test_a_file_of_something_else_is_refused(trainer, tmp_path, content, said):
    with pytest.raises(InputError, match=said):
        start(trainer, written(tmp_path / "a.pt", content))


def test_a_file_that_is_none_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"init_from=a\.pt: the file was not found"):
        ERM(init_from="a.pt")
    (tmp_path / "b.pt").write_text("text")
    with pytest.raises(InputError, match=r"init_from=b\.pt cannot be read as weights"):
        ERM(init_from="b.pt").starting.load(nn.Linear(1, 1))


def test_the_second_stage_of_jtt_starts_from_them_too(trainer, tmp_path):
    theirs = wide().state_dict()
    method = start(trainer, written(tmp_path / "a.pt", theirs), cls=JTT, accuracy_from="training")
    assert bool(method.state["second_stage"])
    assert torch.equal(method.network[0].weight, theirs["0.weight"])


def test_a_run_that_goes_on_keeps_its_own(trainer, tmp_path):
    file = written(tmp_path / "a.pt", network()(small().sizes).state_dict())
    first, run = ERM(network=network(), init_from=file), trainer()
    run.fit(first, datamodule=small())
    run.save_checkpoint("b.ckpt")
    assert "init_from" not in torch.load("b.ckpt", weights_only=True)["drurank_hyper_parameters"]
    loaded = torch.load("b.ckpt", weights_only=True)["state_dict"]
    loaded_again = ERM(network=network(), init_from=file)
    trainer(max_epochs=1).fit(loaded_again, datamodule=small(), ckpt_path="b.ckpt")
    for name, value in loaded_again.state_dict().items():
        assert torch.equal(value, loaded[name])
