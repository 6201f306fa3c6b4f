"""A network that does not fit the data ends in a sentence with its name, the shape and torch's message."""

import pytest
import torch
from torch import nn

from drurank.errors import InputError
from drurank.networks.calling import call


class Pair(nn.Module):
    """Takes two named tensors."""

    def forward(self, one, other):
        return one + other


@pytest.mark.parametrize(
    ("network", "inputs", "said"),
    [
        (
            nn.Linear(3, 2),
            torch.zeros(4, 5),
            r"network Linear cannot take inputs of shape \[4, 5\]: mat1 and",
        ),
        (nn.Conv2d(3, 2, 1), torch.zeros(4, 5, 6, 6), r"Conv2d cannot take inputs of shape \[4, 5, 6, 6\]: .*channels"),
        (nn.Conv2d(3, 2, 1), torch.zeros(4, 5), r"Conv2d cannot take inputs of shape \[4, 5\]: Expected 3D"),
        (nn.LayerNorm(3), torch.zeros(4, 5), r"LayerNorm cannot take inputs of shape \[4, 5\]: .*normalized_shape"),
        (nn.GRU(3, 2), torch.zeros(4, 5), r"GRU cannot take inputs of shape \[4, 5\]: input.size"),
        (
            nn.BatchNorm1d(3),
            torch.zeros(4, 5),
            r"BatchNorm1d cannot take inputs of shape \[4, 5\]: running_mean",
        ),
        (nn.Unflatten(1, (2, 3)), torch.zeros(4, 5), r"Unflatten cannot take inputs of shape \[4, 5\]: .*"),
        (
            Pair(),
            {"one": torch.zeros(4, 5), "other": torch.zeros(4, 3)},
            r"Pair cannot take inputs of shapes one \[4, 5\], other \[4, 3\]: The size of tensor a",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_shapes_that_do_not_go_together_are_said(network, inputs, said):
    with pytest.raises(InputError, match=said) as found:
        call(network, inputs)
    assert str(found.value).endswith("with .in_features and .num_classes")


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("CUDA error: device-side assert triggered"),
        torch.OutOfMemoryError("Tried to allocate a tensor of this size"),
        RuntimeError("Storage size calculation overflowed with sizes=[9]"),
        KeyError("shape"),
    ],
    ids=str,
)
def test_other_errors_stay_as_they_are(error):
    class Broken(nn.Module):
        def forward(self, inputs):
            raise error

    with pytest.raises(type(error)) as found:
        call(Broken(), torch.zeros(1))
    assert found.value is error
