"""Generated data: the paper's, and one with a group effect by construction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from drurank.data.dataset import GroupedDataset, InMemory
from drurank.data.module import GroupDataModule
from drurank.errors import InputError
from drurank.networks import Sizes

SIGNAL_MEANS = ((0.25, 0.25), (0.25, -0.25), (-0.25, 0.25), (-0.25, -0.25))
SETTINGS: dict[int, tuple[Sequence[Sequence[float]], Sequence[float]]] = {
    1: (((1, 1, 1, 1), (1, 1, 1, 1), (1, 5, 1, 5)), (0.8, 0.8, 0.8)),
    2: (((1, 1, 1, 1), (1, 1, 1, 1), (1, 5, 1, 5)), (0.2, 0.2, 0.8)),
    3: (((0, 1, 1, 1), (1, 1, 1, 1), (1, 5, 1, 5)), (0.2, 0.2, 0.8)),
    4: (((1, 1, 0, 0), (1, 1, 0, 0), (0, 0, 1, 1)), (0.2, 0.2, 0.8)),
}
GENERATED = ("train", "ood_val", "ood_test")


class Generated(GroupDataModule):
    """What the generators share: three splits with groups of equal size, numbered one after the other.

    Args:
        groups: number of groups for training, OOD validation and OOD test.
        group_size: samples of a group.
        seed: of the generator; the same seed gives the same data.
        **kwargs: those of ``GroupDataModule``.
    """

    def __init__(self, groups: list[int], group_size: int, seed: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if len(groups) != 3 or min(groups) < 1 or group_size < 1:
            raise InputError(
                f"groups is {groups} and group_size {group_size}; give three whole numbers and one, each 1 or more"
            )
        if seed < 0:
            raise InputError(f"seed is {seed}; give a whole number of 0 or more")
        self.groups, self.group_size, self.seed = groups, group_size, seed

    @property
    def sizes(self) -> Sizes:
        """Two features, two classes."""
        return Sizes(in_features=2, num_classes=2)

    @property
    def label_names(self) -> list[str]:
        """0 and 1."""
        return ["0", "1"]

    def splits(self) -> list[str]:
        """All three."""
        return list(GENERATED)

    def make_dataset(self, split: str) -> GroupedDataset:
        """Generate one split; each has a stream of random numbers of its own."""
        place = GENERATED.index(split)
        m, before = self.groups[place], sum(self.groups[:place])
        x, y = self.draw(place, m, np.random.default_rng([self.seed, place]))
        inputs = torch.from_numpy(x.reshape(-1, *x.shape[2:]))
        rows = InMemory(
            inputs.float() if inputs.is_floating_point() else inputs, torch.from_numpy(y.reshape(-1)).long()
        )
        names = [
            f"{split}_{number}" for split, size in zip(GENERATED, self.groups, strict=True) for number in range(size)
        ]
        number = np.repeat(np.arange(before, before + m), self.group_size)
        return GroupedDataset(rows, number, split=split, group_names=names, num_seen=self.groups[0])

    @abstractmethod
    def draw(self, place: int, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Features ``[m, group_size, ...]`` and labels 0/1 ``[m, group_size]`` of split number ``place``."""


class Synthetic(Generated):
    """The synthetic data of the paper's appendix.

    A group has a strength ``a`` from a normal truncated to [0, 1], one of four idiosyncratic signals drawn by the
    prior, and, with chance ``U``, has that signal (``b = 1``, else 0). A sample is ``x = s + b a z`` with ``s`` from
    ``N(0, 4 I)`` and ``z`` from the group's signal ``N(mu_g, I)``; its label is 1 where ``sin(x_1 + x_2) + noise > 0``.
    Given ``x`` the label depends on no group, and the best classifier is right in 85.8 % of every group.

    Args:
        setting: 1 to 4; fixes the priors and the shares of groups that have a signal, unless they are given.
        priors: weight of each of the four signals for training, validation and test groups, three lists of four.
        signal_share: share ``U`` of groups that have a signal, for training, validation and test.
        groups: number of groups for training, validation and test.
        group_size: samples of a group.
        strength_mean: mean of the strength before it is truncated, in data units.
        strength_std: its standard deviation before it is truncated (the paper's 0.25 is a variance).
        shared_std: standard deviation of the shared signal.
        signal_std: standard deviation of each idiosyncratic signal.
        noise_std: standard deviation of the noise in the label (the paper's 0.25 is a variance).
        seed: of the generator; the same seed gives the same data.
        **kwargs: those of ``GroupDataModule``.

    Raises:
        InputError: if an argument is out of range.
    """

    def __init__(
        self,
        setting: int = 3,
        priors: list[list[float]] | None = None,
        signal_share: list[float] | None = None,
        groups: list[int] = [1000, 500, 500],  # noqa: B006 - shown in the help; never changed
        group_size: int = 75,
        strength_mean: float = 0.75,
        strength_std: float = 0.5,
        shared_std: float = 2.0,
        signal_std: float = 1.0,
        noise_std: float = 0.5,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(groups, group_size, seed, **kwargs)
        if setting not in SETTINGS:
            raise InputError(f"setting is {setting}; give 1, 2, 3 or 4")
        self.priors = np.array(priors or SETTINGS[setting][0], dtype=float)
        self.signal_share = np.array(signal_share or SETTINGS[setting][1], dtype=float)
        if self.priors.shape != (3, 4) or self.priors.min() < 0 or self.priors.sum(axis=1).min() <= 0:
            raise InputError(f"priors is {priors}; give three lists of four weights, 0 or more and not all 0")
        if self.signal_share.shape != (3,) or not ((self.signal_share >= 0) & (self.signal_share <= 1)).all():
            raise InputError(f"signal_share is {signal_share}; give three numbers from 0 to 1")
        spreads = {"strength_std": strength_std, "shared_std": shared_std, "signal_std": signal_std}
        for name, value in {**spreads, "noise_std": noise_std}.items():
            if value < 0 or (name == "strength_std" and value == 0):
                raise InputError(f"{name} is {value}; give a standard deviation above 0")
        self.strength_mean, self.strength_std = strength_mean, strength_std
        self.shared_std, self.signal_std, self.noise_std = shared_std, signal_std, noise_std

    def draw(self, place: int, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """See the class."""
        # scipy.stats takes a second to import, which the command line's help need not wait for.
        from scipy.stats import truncnorm

        low, high = (np.array([0.0, 1.0]) - self.strength_mean) / self.strength_std
        strength = truncnorm.rvs(low, high, self.strength_mean, self.strength_std, size=(m, 1, 1), random_state=rng)
        prior = self.priors[place] / self.priors[place].sum()
        mean = np.array(SIGNAL_MEANS)[rng.choice(4, size=m, p=prior)][:, None, :]
        has_signal = (rng.random(m) <= self.signal_share[place])[:, None, None]
        shape = (m, self.group_size, 2)
        shared = self.shared_std * rng.standard_normal(shape)
        signal = mean + self.signal_std * rng.standard_normal(shape)
        x = shared + has_signal * strength * signal
        noise = self.noise_std * rng.standard_normal(shape[:2])
        return x, np.sin(x.sum(axis=2)) + noise > 0


class Shortcut(Generated):
    """Data with a group effect by construction: a shortcut that holds in most groups and is reversed in some.

    Labels are balanced. The core feature is ``N(2y - 1, 1)``. The shortcut feature is ``2 (2s - 1) + N(0, 0.5^2)``,
    where ``s = y`` with chance ``agreement``, and with one minus that chance in the *flipped* groups. A classifier that
    trusts the shortcut fails them.

    Args:
        groups: number of groups for training, OOD validation and OOD test.
        group_size: samples of a group.
        flipped: share of flipped groups for training, OOD validation and OOD test.
        agreement: chance that the shortcut agrees with the label in a group that is not flipped.
        seed: of the generator; the same seed gives the same data.
        noisy: share of the training groups, the first of them, whose labels are drawn by lot; 0.1 is one in ten.
        **kwargs: those of ``GroupDataModule``.

    Raises:
        InputError: if an argument is out of range.
    """

    def __init__(
        self,
        groups: list[int] = [200, 100, 100],  # noqa: B006 - shown in the help; never changed
        group_size: int = 50,
        flipped: list[float] = [0.1, 0.3, 0.3],  # noqa: B006 - shown in the help; never changed
        agreement: float = 0.9,
        seed: int = 0,
        noisy: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(groups, group_size, seed, **kwargs)
        if len(flipped) != 3 or not all(0 <= share <= 1 for share in [*flipped, agreement, noisy]):
            raise InputError(
                f"flipped is {flipped}, agreement {agreement} and noisy {noisy}; give three shares and two shares, "
                "each from 0 to 1"
            )
        self.flipped, self.agreement, self.noisy = flipped, agreement, noisy

    def draw(self, place: int, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """See the class; the flipped groups are the last ones of the split."""
        y = np.tile(np.arange(self.group_size) % 2, (m, 1))
        flipped = np.arange(m) >= m - round(self.flipped[place] * m)
        chance = np.where(flipped, 1 - self.agreement, self.agreement)[:, None]
        x = self.draw_inputs(y, np.where(rng.random(y.shape) < chance, y, 1 - y), rng)
        by_lot = round(self.noisy * m) if place == 0 else 0
        y[:by_lot] = rng.integers(0, 2, y[:by_lot].shape)
        return x, y

    def draw_inputs(self, y: np.ndarray, s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Features ``[m, group_size, ...]`` of labels and of what the shortcut says, 0/1 ``[m, group_size]`` both."""
        core = 2 * y - 1 + rng.standard_normal(y.shape)
        shortcut = 2 * (2 * s - 1) + 0.5 * rng.standard_normal(y.shape)
        return np.stack([core, shortcut], axis=2)
