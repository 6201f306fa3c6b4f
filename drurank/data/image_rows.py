"""Rows of pictures, and of what a frozen backbone makes of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from drurank.data.dataset import Batch, InMemory
from drurank.data.sampler import Places
from drurank.images.augmenting import Augmentation
from drurank.images.normalising import middle
from drurank.images.pixels import Pixels


class ImageRows:
    """Rows whose inputs are squares of pixels.

    Args:
        pixels: of all pictures of a table.
        rows: places of these rows in it, int64 ``[n]``.
        label: int64 ``[n]``.
        marks: of each row's picture, uint8 ``[n, 16]``, which tell these rows from those of other data.
        size: side of the squares that are given, in pixels; they are the middle of those of ``pixels``.
        augmentation: changes pictures of training instead.
    """

    def __init__(
        self,
        pixels: Pixels,
        rows: np.ndarray,
        label: Tensor,
        marks: Tensor,
        size: int,
        augmentation: Augmentation | None = None,
    ) -> None:
        self.pixels, self.rows, self.label, self.marks = pixels, rows, label, marks
        self.size, self.augmentation = size, augmentation

    @property
    def changes_by_epoch(self) -> bool:
        """Whether a row is another one in each epoch, so that ``cut_batch`` wants to know it."""
        return self.augmentation is not None

    @property
    def tensors(self) -> Iterable[Tensor]:
        """What tells these rows from those of other data."""
        return self.marks, self.label

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.label)

    def __getitem__(self, index: int) -> Batch:
        """One row as a dict of inputs and label."""
        batch = self.cut_batch(np.array([range(len(self))[index]]))
        return {name: value[0] for name, value in batch.items()}

    def cut_batch(self, places: Places, epoch: int | None = None) -> Batch:
        """Rows as a dict of inputs, uint8 ``[B, 3, size, size]``, and label.

        Args:
            places: of the rows, int64 ``[B]``.
            epoch: of a training epoch, from 0; its pictures are changed where there is an augmentation.
        """
        squares, label = self.pixels.squares(self.rows[places]), self.label[torch.from_numpy(places)]
        if self.augmentation is not None and epoch is not None:
            return {"inputs": self.augmentation(torch.from_numpy(squares), places, epoch), "label": label}
        return {"inputs": torch.from_numpy(np.ascontiguousarray(middle(squares, self.size))), "label": label}


class PictureFeatures(InMemory):
    """Rows whose inputs are features of pictures.

    Args:
        features: float32 ``[n, d]``.
        label: int64 ``[n]``.
        marks: of each row's picture, uint8 ``[n, 16]``, which do not depend on how a machine rounds.
        pixels: of all pictures of a table.
        rows: places of these rows in it, int64 ``[n]``.
    """

    def __init__(self, features: Tensor, label: Tensor, marks: Tensor, pixels: Pixels, rows: np.ndarray) -> None:
        super().__init__(features, label)
        self.marks, self.pixels, self.rows = marks, pixels, rows

    @property
    def tensors(self) -> Any:
        """What tells these rows from those of other data."""
        return self.marks, self.label


def picture_of(rows: Any, place: int) -> np.ndarray | None:
    """The picture of a row of a dataset, uint8 ``[3, side, side]``; ``None`` where rows are no pictures."""
    if isinstance(rows, ImageRows | PictureFeatures):
        square: np.ndarray = rows.pixels.squares(rows.rows[[place]])[0]
        return square
    inputs = getattr(rows, "inputs", None)
    if isinstance(inputs, Tensor) and inputs.dtype == torch.uint8 and inputs.ndim == 4 and inputs.shape[1] == 3:
        found: np.ndarray = inputs[place].numpy()
        return found
    return None
