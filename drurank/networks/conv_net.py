"""A small network for small pictures."""

from __future__ import annotations

from torch import Tensor, nn

from drurank.errors import InputError, check_count, check_number
from drurank.networks.sizes import Sizes


class ConvNet(nn.Module):
    """Convolutions of 3 x 3 with ReLU, each followed by a halving of both sides, and a linear classifier of the mean.

    It needs no package and no weights, for pictures of 16 to 64 pixels; for larger ones ``ImageClassifier`` does
    better.

    Args:
        sizes: sizes of the data, which the data module gives.
        channels: of each convolution.
        dropout: probability of dropping a channel's mean before the last layer in training, in [0, 1).

    Raises:
        InputError: if an argument is out of range, or the data gives no pictures.
    """

    def __init__(
        self,
        sizes: Sizes,
        channels: list[int] = [16, 32, 64],  # noqa: B006 - shown in the help; never changed
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if not sizes.image_size:
            raise InputError("ConvNet takes pictures and the data gives something else; give network=MLP for numbers")
        if not channels or 2 ** len(channels) > sizes.image_size:
            raise InputError(
                f"channels is {channels} and pictures have {sizes.image_size} pixels a side, which each layer halves; "
                "give one number or more, and fewer layers"
            )
        for count in channels:
            check_count("channels", count)
        check_number("dropout", dropout, high=1, below=True)
        parts: list[nn.Module] = []
        for before, after in zip([3, *channels], channels, strict=False):
            parts += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        self.layers, self.dropout = nn.Sequential(*parts), nn.Dropout(dropout)
        self.head = nn.Linear(channels[-1], sizes.num_classes)

    def features(self, pixels: Tensor) -> Tensor:
        """What the last layer sees, float ``[B, channels[-1]]``; arguments as of ``forward``."""
        values = pixels if pixels.is_floating_point() else pixels.to(self.head.weight.dtype) / 127.5 - 1
        seen: Tensor = self.dropout(self.layers(values).mean(dim=(2, 3)))
        return seen

    def forward(self, pixels: Tensor) -> Tensor:
        """Scores by class.

        Args:
            pixels: uint8 ``[B, 3, s, s]``, or floats about from -1 to 1.

        Returns:
            Logits, float ``[B, num_classes]``.
        """
        logits: Tensor = self.head(self.features(pixels))
        return logits
