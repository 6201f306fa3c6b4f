"""A small network for numbers and codes."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from drurank.errors import InputError, check_choice, check_count, check_number
from drurank.networks.sizes import Sizes

Activation = Literal["leaky_relu", "relu", "gelu", "silu"]
ACTIVATIONS: dict[str, type[nn.Module]] = {
    "leaky_relu": nn.LeakyReLU,
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
}


class MLP(nn.Module):
    """Feed-forward network; the defaults are the one of the paper's synthetic experiments.

    Args:
        sizes: sizes of the data, which the data module gives.
        hidden: width of each hidden layer.
        layers: number of linear layers, the last one included; 1 is a linear classifier.
        dropout: probability of dropping a hidden unit in training, in [0, 1).
        activation: leaky_relu, relu, gelu or silu, after each hidden layer.
        embedding_dim: width of the embedding of each categorical input, with ``encoding='embed'``.

    Raises:
        InputError: if an argument is out of range, or the data gives tokens of texts or pictures.
    """

    def __init__(
        self,
        sizes: Sizes,
        hidden: int = 128,
        layers: int = 3,
        dropout: float = 0.5,
        activation: Activation = "leaky_relu",
        embedding_dim: int = 16,
    ) -> None:
        super().__init__()
        if sizes.vocabulary:
            raise InputError(
                "the data gives tokens of texts and MLP takes numbers; give network=TextClassifier, or frozen=True for "
                "the features of a pretrained encoder"
            )
        if sizes.image_size:
            raise InputError(
                "the data gives pictures and MLP takes numbers; give network=ImageClassifier or ConvNet, or "
                "frozen=True for the features of a pretrained backbone"
            )
        check_choice("activation", activation, Activation)
        for name, value in (("hidden", hidden), ("layers", layers), ("embedding_dim", embedding_dim)):
            check_count(name, value)
        check_number("dropout", dropout, high=1, below=True)
        self.embeddings = nn.ModuleList(nn.Embedding(size, embedding_dim) for size in sizes.cardinalities)
        width = sizes.in_features + embedding_dim * len(sizes.cardinalities)
        parts: list[nn.Module] = []
        for _ in range(layers - 1):
            parts += [nn.Linear(width, hidden), ACTIVATIONS[activation](), nn.Dropout(dropout)]
            width = hidden
        self.hidden_layers = nn.Sequential(*parts)
        self.head = nn.Linear(width, sizes.num_classes)

    def features(self, numeric: Tensor, categorical: Tensor | None = None) -> Tensor:
        """What the last layer sees, float ``[B, hidden]``; arguments as of ``forward``."""
        if categorical is not None:
            embedded = [table(categorical[:, column]) for column, table in enumerate(self.embeddings)]
            numeric = torch.cat([numeric, *embedded], dim=1)
        hidden: Tensor = self.hidden_layers(numeric)
        return hidden

    def forward(self, numeric: Tensor, categorical: Tensor | None = None) -> Tensor:
        """Scores by class.

        Args:
            numeric: float ``[B, in_features]``.
            categorical: codes, int64 ``[B, len(cardinalities)]``.

        Returns:
            Logits, float ``[B, num_classes]``.
        """
        logits: Tensor = self.head(self.features(numeric, categorical))
        return logits
