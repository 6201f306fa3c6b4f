"""Rows of tokens, and of what a frozen encoder makes of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from drurank.data.dataset import Batch, InMemory
from drurank.data.sampler import Places
from drurank.text.tokens import Tokens


class TextRows:
    """Rows whose inputs are the tokens of texts, each batch padded to its own longest.

    Args:
        tokens: of all texts of a file.
        rows: places of these rows in it, int64 ``[n]``.
        label: int64 ``[n]``.
    """

    def __init__(self, tokens: Tokens, rows: np.ndarray, label: Tensor) -> None:
        self.tokens, self.rows, self.label = tokens, rows, label

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.label)

    def __getitem__(self, index: int) -> Batch:
        """One row as a dict of inputs and label."""
        batch = self.cut_batch(np.array([range(len(self))[index]]))
        return {"inputs": {name: value[0] for name, value in batch["inputs"].items()}, "label": batch["label"][0]}

    def cut_batch(self, places: Places) -> Batch:
        """Rows as a dict of inputs and label."""
        return {"inputs": self.tokens.batch(self.rows[places]), "label": self.label[torch.from_numpy(places)]}

    @property
    def lengths(self) -> Tensor:
        """Tokens of each row, int64 ``[n]``, by which alike ones are put into a batch."""
        return torch.from_numpy(self.tokens.lengths[self.rows])

    @property
    def tensors(self) -> Iterator[Tensor]:
        """What tells these rows from those of other data, a piece at a time."""
        yield from self.tokens.contents(self.rows)
        yield self.label


class FeatureRows(InMemory):
    """Rows whose inputs are features of texts.

    Args:
        features: float32 ``[n, d]``.
        texts: the same rows as tokens, which do not depend on how a machine rounds.
    """

    def __init__(self, features: Tensor, texts: TextRows) -> None:
        super().__init__(features, texts.label)
        self.texts = texts

    @property
    def tensors(self) -> Iterator[Tensor]:
        """What tells these rows from those of other data, a piece at a time."""
        return self.texts.tensors
