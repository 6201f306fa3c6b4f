"""Any network of timm or torchvision, with a new last layer."""

from __future__ import annotations

from typing import Any, Literal, Self

import torch
from torch import Tensor, nn

from drurank.errors import InputError, check_choice, check_number
from drurank.images.backbones import HUB, NONE, load_backbone
from drurank.images.normalising import normalised
from drurank.networks.sizes import Sizes

Freeze = Literal["none", "norm", "backbone"]
NORMS = (nn.modules.batchnorm._BatchNorm,)


class ImageClassifier(nn.Module):
    """Any classifier of pictures that timm or torchvision knows, fine-tuned, with a new linear last layer.

    It normalises pixels itself, by the mean and standard deviation that its weights were trained with, so an exported
    network takes pixels too.

    Args:
        sizes: sizes of the data, which the data module gives.
        backbone: as timm calls it (resnet50, convnext_tiny), or torchvision/resnet50.
        weights: hub: those that the package names, from the local cache or else the hub; none: random ones; or a file
            (.pth, .pt, .bin, .safetensors), whose own last layer is left out.
        freeze: what stays as it was loaded. ``none``; ``norm``: batch norms, with their means and variances, as is
            usual with small batches; ``backbone``: all but the last layer (the data's ``frozen`` computes that once).
        dropout: probability of dropping a feature before the last layer in training, in [0, 1).
        mean: of values from 0 to 1 by channel, in place of the network's own.
        std: standard deviation, likewise.

    Raises:
        InputError: if an argument is out of range, there is no such network, its weights are not found, or the data
            gives no pictures.
    """

    highest_rate = 1e-2
    """Learning rate of Adam above which fine-tuning almost always destroys the pretrained weights."""
    rebuilt_by = "mean"
    """The argument that a checkpoint must hold."""

    mean: Tensor
    std: Tensor

    def __init__(
        self,
        sizes: Sizes,
        backbone: str = "resnet50",
        weights: str = HUB,
        freeze: Freeze = "none",
        dropout: float = 0.0,
        mean: list[float] | None = None,
        std: list[float] | None = None,
    ) -> None:
        super().__init__()
        check_choice("freeze", freeze, Freeze)
        check_number("dropout", dropout, high=1, below=True)
        if not sizes.image_size:
            raise InputError(
                "ImageClassifier takes pictures and the data gives something else; give the data as Images with "
                "frozen=False, or network=MLP for numbers"
            )
        made = load_backbone(backbone, weights, sizes.image_size)
        for name, values in (("mean", mean), ("std", std)):
            if values is not None and (len(values) != 3 or (name == "std" and min(values) <= 0)):
                raise InputError(f"{name} is {values}; give three numbers, one a channel")
        self.backbone, self.freeze = made.module, freeze
        self._mean, self._std = list(mean or made.mean), list(std or made.std)
        self.register_buffer("mean", torch.tensor(self._mean).view(3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(self._std).view(3, 1, 1), persistent=False)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(made.width, sizes.num_classes)
        if freeze == "backbone":
            self.backbone.requires_grad_(False)
        if freeze == "norm":
            for norm in self._norms():
                norm.requires_grad_(False)
        self.train()

    def saved_arguments(self) -> dict[str, Any]:
        """The arguments that build it again for weights at hand, where neither file nor hub may be."""
        return {"weights": NONE, "mean": self._mean, "std": self._std}

    def train(self, mode: bool = True) -> Self:
        """As of any module, but what is frozen stays in evaluation mode."""
        super().train(mode)
        if self.freeze == "backbone":
            self.backbone.eval()
        if self.freeze == "norm":
            for norm in self._norms():
                norm.eval()
        return self

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Parameters for an optimizer: no weight decay on biases and norms, which are those of one dimension."""
        parameters = [parameter for parameter in self.parameters() if parameter.requires_grad]
        return [
            {"params": [parameter for parameter in parameters if parameter.ndim > 1]},
            {"params": [parameter for parameter in parameters if parameter.ndim <= 1], "weight_decay": 0.0},
        ]

    def features(self, pixels: Tensor) -> Tensor:
        """What the last layer sees, float ``[B, width]``; arguments as of ``forward``."""
        seen: Tensor = self.dropout(self.backbone(normalised(pixels, self.mean, self.std)))
        return seen

    def forward(self, pixels: Tensor) -> Tensor:
        """Scores by class.

        Args:
            pixels: uint8 ``[B, 3, s, s]``; floats are taken to be normalised already.

        Returns:
            Logits, float ``[B, num_classes]``.
        """
        logits: Tensor = self.head(self.features(pixels))
        return logits

    def _norms(self) -> list[nn.Module]:
        return [part for part in self.backbone.modules() if isinstance(part, NORMS)]
