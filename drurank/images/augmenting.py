"""Random changes of training pictures, the same for a row of an epoch wherever and in whatever batch it is read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from drurank.errors import InputError, nearest
from drurank.extras import check_installed

Augment = str | list[dict[str, Any]]
NONE = "none"
LEAST_AREA = 0.7
"""Of a picture that ``standard`` keeps; the ratio of sides is from 3/4 to 4/3. As group DRO's code does for birds."""


class Augmentation:
    """What is done to each training picture.

    Args:
        augment: ``light`` crops a square at random and flips left to right in half of the cases; ``standard`` crops
            70 to 100 % of the area, with sides of ratio 3/4 to 4/3, and flips likewise; or transforms of
            ``torchvision.transforms.v2`` by name in their order, as ``[{RandomCrop: {size: 224}}, ...]``.
        size: side of the squares that come out, in pixels.

    Raises:
        InputError: if torchvision is not installed, or there is no such transform.
    """

    def __init__(self, augment: Augment, size: int) -> None:
        check_installed("torchvision", "image", "an augmentation")
        self.augment, self.size = augment, size
        self._transform = _composed(_named(augment, size))

    def __reduce__(self) -> Any:
        """Make it again in another process."""
        return Augmentation, (self.augment, self.size)

    def __call__(self, squares: Tensor, rows: np.ndarray, epoch: int) -> Tensor:
        """Changed pictures.

        Args:
            squares: uint8 ``[B, 3, side, side]``.
            rows: places of the rows, int64 ``[B]``, which with the epoch and the seed of the run decide the changes.
            epoch: from 0.

        Returns:
            uint8 ``[B, 3, size, size]``.

        Raises:
            InputError: if the transforms give something else.
        """
        made = []
        with torch.random.fork_rng(devices=[]):
            for square, row in zip(squares, rows.tolist(), strict=True):
                torch.manual_seed(_seed_of(epoch, row))
                made.append(self._transform(square))
        wanted = (3, self.size, self.size)
        for one in made:
            if tuple(one.shape) != wanted or one.dtype != torch.uint8:
                raise InputError(
                    f"augment gives {one.dtype} of shape {tuple(one.shape)}, and uint8 of {wanted} is wanted; end it "
                    f"with {{RandomCrop: {{size: {self.size}}}}} or the like"
                )
        return torch.stack(made) if made else squares.new_zeros((0, *wanted))


def check_augment(augment: Augment) -> None:
    """Refuse what no augmentation is made of.

    Raises:
        InputError: naming it.
    """
    if isinstance(augment, str):
        if augment not in (NONE, "light", "standard"):
            raise InputError(
                f"augment is {augment!r}; give none, light, standard, or a list of transforms of "
                "torchvision.transforms.v2, as [{RandomHorizontalFlip: {p: 0.5}}]"
            )
        return
    for one in augment:
        if not (isinstance(one, Mapping) and len(one) == 1 and isinstance(next(iter(one.values())) or {}, Mapping)):
            raise InputError(f"augment has {one!r:.80}; give each transform as {{name: {{option: value}}}}")


def _seed_of(epoch: int, row: int) -> int:
    seed = os.environ.get("PL_GLOBAL_SEED", "0")
    return int.from_bytes(hashlib.blake2b(f"{seed} {epoch} {row}".encode(), digest_size=7).digest(), "little")


def _named(augment: Augment, size: int) -> Sequence[Mapping[str, Any]]:
    if not isinstance(augment, str):
        return augment
    flip = {"RandomHorizontalFlip": None}
    if augment == "light":
        return [{"RandomCrop": {"size": size}}, flip]
    return [{"RandomResizedCrop": {"size": size, "scale": [LEAST_AREA, 1.0], "antialias": True}}, flip]


def _composed(named: Sequence[Mapping[str, Any]]) -> Any:
    from torchvision.transforms import v2  # here, since it is an extra

    made = []
    for one in named:
        name, options = next(iter(one.items()))
        known = [key for key, value in vars(v2).items() if isinstance(value, type) and issubclass(value, v2.Transform)]
        if name not in known:
            raise InputError(f"torchvision.transforms.v2 has no transform {name!r}; {nearest(name, known)}")
        try:
            made.append(getattr(v2, name)(**(options or {})))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"augment: {name} cannot be made of {options!r} ({error}); give its own options"
            ) from error
    return v2.Compose(made)
