"""What may be stacked: modules that do the same but for the values of their tensors."""

import pytest
import torch
from torch import nn

from drurank.stacked.structure import content, structure
from drurank.training.losses import CrossEntropy


class Scaled(nn.Module):
    def __init__(self, size=3, scale=1.0, act=torch.relu, shift=None):
        super().__init__()
        self.linear, self.scale, self.act = nn.Linear(2, size), scale, act
        self.shift = torch.zeros(2) if shift is None else shift
        self.register_buffer("seen", torch.tensor(0))


def test_values_of_parameters_and_buffers_do_not_matter():
    one, other = Scaled(), Scaled()
    other.seen += 1
    assert not torch.equal(one.linear.weight, other.linear.weight)
    assert structure(one) == structure(other)


@pytest.mark.parametrize(
    "changed",
    [
        {"size": 4},
        {"scale": 2.0},
        {"act": torch.tanh},
        {"act": lambda value: value},
        {"shift": torch.ones(2)},
    ],
)
def test_whatever_else_differs_keeps_them_apart(changed):
    assert structure(Scaled()) != structure(Scaled(**changed))


def test_hooks_frozen_parameters_and_evaluation_keep_them_apart():
    hooked, frozen, resting = Scaled(), Scaled(), Scaled().eval()
    hooked.register_forward_hook(lambda *_: None)
    frozen.linear.bias.requires_grad_(False)
    assert len({structure(one) for one in (Scaled(), hooked, frozen, resting)}) == 4


def test_losses_of_other_options_are_kept_apart():
    losses = (CrossEntropy(), CrossEntropy(label_smoothing=0.1), CrossEntropy([1.0, 2.0]), CrossEntropy([1.0, 3.0]))
    assert content(CrossEntropy()) == content(losses[0])
    assert content(CrossEntropy([1.0, 2.0])) == content(losses[2])
    assert len({content(loss) for loss in (*losses, nn.CrossEntropyLoss(reduction="none"))}) == 5
