"""Random changes of training pictures, the same for a row of an epoch wherever and in whatever batch it is read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
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
        side: of those that go in.

    Raises:
        InputError: if torchvision is not installed, there is no such transform, or it does not take such squares.
    """

    def __init__(self, augment: Augment, size: int, side: int) -> None:
        check_installed("torchvision", "image", "an augmentation")
        self.augment, self.size, self.side = augment, size, side
        self._transform = _composed(_named(augment, size))
        self(torch.zeros(1, 3, side, side, dtype=torch.uint8), np.zeros(1, np.int64), 0)

    def __reduce__(self) -> Any:
        """Make it again in another process."""
        return Augmentation, (self.augment, self.size, self.side)

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
                made.append(self._changed(square))
        wanted = (3, self.size, self.size)
        for one in made:
            if not isinstance(one, Tensor) or tuple(one.shape) != wanted or one.dtype != torch.uint8:
                kind = f"{one.dtype} of {tuple(one.shape)}" if isinstance(one, Tensor) else f"a {type(one).__name__}"
                raise InputError(
                    f"augment gives {kind}, and uint8 of {wanted} is wanted; end it "
                    f"with {{RandomCrop: {{size: {self.size}}}}} or the like"
                )
        return torch.stack(made) if made else squares.new_zeros((0, *wanted))

    def _changed(self, square: Tensor) -> Any:
        try:
            return self._transform(square)
        except Exception as error:  # each transform has its own
            said = " ".join(f"{type(error).__name__}: {error}".split())[:160]
            raise InputError(
                f"augment cannot be applied to pictures of {self.side} x {self.side} pixels ({said}); give other "
                "transforms or options"
            ) from error


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
    if not augment:
        raise InputError("augment is an empty list; give none, or one transform or more")
    for one in augment:
        named = isinstance(one, Mapping) and len(one) == 1 and isinstance(next(iter(one)), str)
        if not named or not isinstance(next(iter(one.values())) or {}, Mapping):
            raise InputError(f"augment has {one!r:.80}; give each transform as {{name: {{option: value}}}}")
        if _holds_mapping((next(iter(one.values())) or {}).values()):
            raise InputError(f"augment has {one!r:.80}, with transforms within a transform; name them one by one")


def _holds_mapping(values: Iterable[Any]) -> bool:
    return any(isinstance(one, Mapping) or (isinstance(one, list) and _holds_mapping(one)) for one in values)


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
        except Exception as error:  # each transform has its own
            raise InputError(
                f"augment: {name} cannot be made of {options!r} ({error}); give its own options"
            ) from error
    return v2.Compose(made)
