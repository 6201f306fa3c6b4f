"""Networks, each built from the sizes of the data. Any other ``nn.Module`` does as well."""

from drurank.networks.conv_net import ConvNet
from drurank.networks.image_classifier import ImageClassifier
from drurank.networks.mlp import MLP
from drurank.networks.sizes import Sizes
from drurank.networks.text_classifier import TextClassifier

__all__ = ["MLP", "ConvNet", "ImageClassifier", "Sizes", "TextClassifier"]
