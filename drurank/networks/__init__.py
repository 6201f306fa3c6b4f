"""Networks, each built from the sizes of the data. Any other ``nn.Module`` does as well."""

from drurank.networks.mlp import MLP
from drurank.networks.sizes import Sizes
from drurank.networks.text_classifier import TextClassifier

__all__ = ["MLP", "Sizes", "TextClassifier"]
