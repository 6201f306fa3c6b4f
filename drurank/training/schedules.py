"""Learning-rate schedules that end with the training they are for, however long that is."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from lightning.pytorch.utilities.rank_zero import rank_zero_warn
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from drurank.errors import InputError, check_count, check_number


class Decay(LRScheduler, ABC):
    """Learning rate that rises linearly from 0, if asked to, and then falls to 0 at the horizon.

    Args:
        optimizer: whose learning rates are scheduled.
        warmup: share of the horizon in which the rate rises, in [0, 1).
        horizon: steps of the scheduler until the rate is 0. If not given, a method of this package sets it to the
            length of the stage that it trains: epochs or optimizer steps, as the scheduler's interval is.

    Raises:
        InputError: if an argument is out of range.
    """

    def __init__(self, optimizer: Optimizer, warmup: float = 0, horizon: int | None = None) -> None:
        check_number("warmup", warmup, high=1, below=True)
        if horizon is not None:
            check_count("horizon", horizon, ", or leave it out")
        self.warmup, self.horizon, self.own_horizon = warmup, horizon, horizon is not None
        super().__init__(optimizer)

    @abstractmethod
    def shape(self, done: float) -> float:
        """Share of the full rate once a share ``done`` of the fall, in [0, 1], is over."""

    def end_after(self, horizon: int) -> None:
        """Set the horizon, and the learning rates of a schedule in progress to what they are with it."""
        if self.horizon is not None and self.horizon != horizon:
            rank_zero_warn(
                f"{type(self).__name__} was to end after {self.horizon} of its steps and now ends after {horizon}: the "
                "run is not the one that was as long from the start"
            )
        self.horizon = horizon
        for group, rate in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
            group["lr"] = rate

    def get_lr(self) -> list[float | Tensor]:
        """Rate of each parameter group at this step."""
        share = self._share()
        return [rate * share for rate in self.base_lrs]

    def _share(self) -> float:
        if self.last_epoch == 0:
            return 0.0 if self.warmup else 1.0
        if self.horizon is None:
            raise InputError(f"{type(self).__name__} does not know its horizon; give horizon=<number of its steps>")
        rise = self.warmup * self.horizon
        if self.last_epoch < rise:
            return self.last_epoch / rise
        return self.shape(min((self.last_epoch - rise) / (self.horizon - rise), 1.0))


class LinearDecay(Decay):
    """Learning rate that falls along a line to 0 at the horizon; see ``Decay``."""

    def shape(self, done: float) -> float:
        """``1 - done``."""
        return 1 - done


class CosineDecay(Decay):
    """Learning rate that falls along half a cosine to 0 at the horizon; see ``Decay``."""

    def shape(self, done: float) -> float:
        """``(1 + cos(pi done)) / 2``."""
        return (1 + math.cos(math.pi * done)) / 2
