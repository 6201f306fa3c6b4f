"""What is known of a factory, and how a network is made from it."""

from functools import partial

import pytest
import torch
from torch import nn

from clashing import Network, WithoutSizes
from drurank.networks import MLP, Sizes
from drurank.networks.factory import describe_factory, find_factory, make_network, takes_sizes

SIZES = Sizes(in_features=3, num_classes=4)


class Inherits(MLP):
    def __init__(self, *args, hidden: int = 2, **kwargs):
        super().__init__(*args, hidden=hidden, **kwargs)


class FirstArgument(nn.Module):
    """Asks for the sizes under another name, as in Python alone is possible."""

    def __init__(self, dims, width: int = 3):
        super().__init__()
        self.layer = nn.Linear(dims.in_features, width)


class LastArgument(nn.Module):
    def __init__(self, width: int = 3, *, sizes):
        super().__init__()
        self.layer = nn.Linear(sizes.in_features, width)


def plain(width=3, depth=1):
    return nn.Linear(width, depth)


def asking(width=3, *, sizes):
    return nn.Linear(sizes.in_features, width)


def made_by_command_line(kind, *args, **kwargs):
    return kind(*args, **kwargs)


made_by_command_line.__module__ = "jsonargparse._instantiation"


def of_activation(activation, width=3):
    return nn.Sequential(nn.Linear(3, width), activation())


def of_activation_and_sizes(activation, sizes):
    return nn.Sequential(nn.Linear(sizes.in_features, 3), activation())


@pytest.mark.parametrize(
    ("factory", "asks"),
    [
        (MLP, True),
        (Network, True),
        (Inherits, True),
        (FirstArgument, True),
        (LastArgument, True),
        (lambda any_name: MLP(any_name), True),
        (partial(made_by_command_line, MLP, hidden=4), True),
        (partial(made_by_command_line, LastArgument, width=4), True),
        (asking, True),
        (partial(asking, 5), True),
        (partial(made_by_command_line, asking, width=4), True),
        (lambda *given: MLP(*given), True),
        (plain, False),
        (partial(plain, 2), False),
        (partial(made_by_command_line, plain, width=2), False),
        (lambda: nn.Linear(2, 3), False),
        (WithoutSizes, False),
        (partial(WithoutSizes, 6), False),
        (partial(made_by_command_line, WithoutSizes, width=6), False),
        (partial(nn.Linear, 3, 4), False),
        (partial(of_activation, nn.ReLU), False),
        (partial(of_activation_and_sizes, nn.ReLU), True),
        (partial(made_by_command_line, made_by_command_line, WithoutSizes, width=6), False),
        (partial(made_by_command_line, nn.Linear, in_features=3, out_features=4), False),
    ],
)
def test_network_gets_the_sizes_only_if_it_asks(factory, asks):
    assert takes_sizes(factory) == asks
    assert isinstance(make_network(factory, SIZES), nn.Module)
    if not asks:
        assert isinstance(make_network(factory, None), nn.Module)


def test_network_without_sizes_is_built_again_from_its_description():
    described = describe_factory(partial(made_by_command_line, WithoutSizes, width=6))
    assert described == {"class_path": "clashing.WithoutSizes", "init_args": {"width": 6, "dropout": 0.25}}
    again = make_network(find_factory(described), None)
    assert again.layers[0].weight.shape == (6, 2)


def test_a_function_is_not_described_as_a_class_that_it_is_given():
    assert describe_factory(partial(of_activation, nn.ReLU)) is None
    assert isinstance(make_network(partial(of_activation_and_sizes, nn.ReLU), SIZES), nn.Sequential)


def test_arguments_by_place_are_in_no_description():
    assert describe_factory(partial(WithoutSizes, 6)) is None


def test_sizes_and_parameters_are_in_no_description():
    assert describe_factory(partial(LastArgument, 4)) is None
    assert describe_factory(partial(LastArgument, width=4))["init_args"] == {"width": 4}
    adam = describe_factory(partial(torch.optim.AdamW, lr=0.5), torch.optim.Optimizer)["init_args"]
    assert adam["lr"] == 0.5
    assert "params" not in adam
