"""A pretrained encoder of texts with a classifier on top."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from drurank.errors import InputError, check_choice, check_number
from drurank.networks.sizes import Sizes
from drurank.text.pooling import Pooling, pool, refuse_longer
from drurank.text.pretrained import fingerprint_of, load_encoder, load_tokenizer, refuse_unknown_tokens

WHOLE_MASK = (
    "albert",
    "bert",
    "camembert",
    "distilbert",
    "electra",
    "ernie",
    "mobilebert",
    "roberta",
    "xlm-roberta",
)
"""Encoders each of whose tokens looks at all others; a whole mask would undo what others hide, as what comes later."""


class TextClassifier(nn.Module):
    """Any encoder that ``transformers.AutoModel`` loads, fine-tuned, with a classifier on top.

    The classifier is that of ``DistilBertForSequenceClassification``: linear, ReLU, dropout, linear. Weights are
    float32 whatever the file holds, dropout is on in training, and no code that a model brings is run.

    Args:
        sizes: sizes of the data, which the data module gives.
        pretrained: local folder, or name on the hub; that of the data's tokenizer, if not given.
        pooling: which output of the encoder is classified: the ``first`` token's, or the ``mean`` over tokens.
        dropout: probability of dropping a unit before the last layer in training, in [0, 1); the encoder has its own.
        config: ``encoder.config.to_dict()``, from which the encoder is built with random weights instead of
            ``pretrained``; used when a checkpoint is loaded.

    Raises:
        InputError: if an argument is out of range, the data gives no tokens, the encoder is not found, or it takes
            other tokens or shorter texts than the data gives.
    """

    highest_rate = 1e-4
    """Learning rate above which fine-tuning almost always destroys the pretrained weights."""
    rebuilt_by = "config"
    """The argument that a checkpoint must hold."""

    def __init__(
        self,
        sizes: Sizes,
        pretrained: str | None = None,
        pooling: Pooling = "first",
        dropout: float = 0.2,
        config: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        check_choice("pooling", pooling, Pooling)
        check_number("dropout", dropout, high=1, below=True)
        name = pretrained or sizes.tokenizer
        if not sizes.vocabulary:
            raise InputError(
                "TextClassifier takes tokens of texts and the data gives others; give the data as Text with "
                "frozen=False, or network=MLP for numbers and ImageClassifier for pictures"
            )
        self._name = name
        self.encoder: Any = load_encoder(name, config)
        if config is None and pretrained not in (None, sizes.tokenizer):
            _refuse_other_tokens(name, sizes)
        _refuse_sizes(name, self.encoder, sizes, names_token=config is None)
        if pooling == "first" and _reads_on_only(self.encoder):
            raise InputError(
                f"the encoder {name} reads from left to right, so its first token sees nothing of the text; give "
                "pooling='mean'"
            )
        self.pooling = pooling
        width = self.encoder.config.hidden_size
        self.dense, self.dropout = nn.Linear(width, width), nn.Dropout(dropout)
        self.head = nn.Linear(width, sizes.num_classes)
        for layer in (self.dense, self.head):
            nn.init.normal_(layer.weight, std=getattr(self.encoder.config, "initializer_range", 0.02))
            nn.init.zeros_(layer.bias)
        # These would wait for the device at each batch to see whether its mask is all true, but take a whole one as is.
        attention = getattr(self.encoder.config, "_attn_implementation", None)
        alike = self.encoder.config.model_type in WHOLE_MASK and not _reads_on_only(self.encoder)
        self._takes_whole_mask = alike and attention == "sdpa"

    def check_tokens(self, sizes: Sizes) -> None:
        """Refuse texts of other data that have a token without an embedding.

        Raises:
            InputError: naming the token.
        """
        if sizes.largest_token is not None:
            refuse_unknown_tokens(sizes.largest_token, self.encoder, self._name, sizes.tokenizer)

    def saved_arguments(self) -> dict[str, Any]:
        """The arguments that build it again for weights at hand, where neither folder nor hub may be."""
        return {"config": self.encoder.config.to_dict()}

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Parameters for an optimizer: no weight decay on biases and norms, which are those of one dimension."""
        parameters = [parameter for parameter in self.parameters() if parameter.requires_grad]
        return [
            {"params": [parameter for parameter in parameters if parameter.ndim > 1]},
            {"params": [parameter for parameter in parameters if parameter.ndim <= 1], "weight_decay": 0.0},
        ]

    def features(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """What the last layer sees in evaluation, float ``[B, hidden_size]``; arguments as of ``forward``."""
        if len(input_ids) == 0:
            # An encoder takes no batch without rows, and a process without a share still takes part in the gradients.
            return self.features(input_ids.new_zeros(1, 1))[:0]
        pooled = pool(self.encode(input_ids, attention_mask), attention_mask, self.pooling)
        features: Tensor = self.dropout(torch.relu(self.dense(pooled)))
        return features

    def encode(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """The encoder's output for each token, float ``[B, T, hidden_size]``; arguments as of ``forward``."""
        mask = attention_mask
        if mask is not None and self._takes_whole_mask:
            mask = mask.bool()[:, None, None, :].expand(-1, 1, mask.shape[1], -1)
        encoded: Tensor = self.encoder(input_ids=input_ids, attention_mask=mask).last_hidden_state
        return encoded

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Scores by class.

        Args:
            input_ids: tokens, int64 ``[B, T]``.
            attention_mask: 1 at tokens and 0 at padding, int64 ``[B, T]``; ``None`` where nothing is padded.

        Returns:
            Logits, float ``[B, num_classes]``.
        """
        logits: Tensor = self.head(self.features(input_ids, attention_mask))
        return logits


def _refuse_other_tokens(name: str, sizes: Sizes) -> None:
    """Stop if the encoder comes with another tokenizer than the one used on the texts."""
    try:
        own = load_tokenizer(name)
    except InputError:
        return  # A folder of weights alone.
    if fingerprint_of(own) != fingerprint_of(load_tokenizer(sizes.tokenizer)):
        raise InputError(
            f"the encoder {name} comes with another tokenizer than {sizes.tokenizer}, which tokenized the texts; give "
            f"tokenizer={name!r}"
        )


def _refuse_sizes(name: str, encoder: Any, sizes: Sizes, *, names_token: bool) -> None:
    """Stop if the encoder takes other tokens or shorter texts; a checkpoint's own tokenizer is not asked for a name."""
    largest = sizes.vocabulary - 1 if sizes.largest_token is None else sizes.largest_token
    refuse_unknown_tokens(largest, encoder, name, sizes.tokenizer if names_token else None)
    refuse_longer(sizes.max_length, encoder, name)


def _reads_on_only(encoder: Any) -> bool:
    """Whether each token sees those before it alone, so that the first one sees nothing of a text."""
    return any(getattr(module, "is_causal", False) is True for module in encoder.modules())
