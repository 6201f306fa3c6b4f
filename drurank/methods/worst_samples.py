"""Objectives that look at the worst samples of a batch, whatever their groups: CVaR and chi-square DRO."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import Any

import torch
from torch import Tensor

from drurank.dcg import precise
from drurank.errors import check_number
from drurank.methods.erm import ERM
from drurank.training.global_batch import gather_rows, weighted_sum


@cache
def _numbers(most: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """1, 2, ..., ``most``; kept, since a batch has few sizes and making them takes as long as four other operations."""
    return torch.arange(1, most + 1, dtype=dtype, device=device)


class WorstSamples(ERM, ABC):
    """Weights the losses of the global batch by a function of them all; what CVaR and chi-square DRO share."""

    @abstractmethod
    def shares(self, losses: Tensor) -> Tensor:
        """Share of each sample in the objective.

        Args:
            losses: of the global batch, float ``[..., N]``, without gradient, ``-inf`` in places that hold no sample.

        Returns:
            Shares, ``[..., N]``, that sum to 1; 0 where there is no sample.
        """

    def reduce(self, losses: Tensor, batch: dict[str, Any], state: dict[str, Tensor]) -> Tensor:
        """``sum_i p_i loss_i`` over the global batch, with the shares ``p`` of this process's samples."""
        everywhere = gather_rows(losses.detach(), fill=-torch.inf, largest=batch.get("largest"))
        return weighted_sum(self.shares(everywhere), losses)


class CVaR(WorstSamples):
    r"""Conditional value at risk: the mean loss of the worst share ``alpha`` of a batch's samples.

    .. math:: \max_p \sum_i p_i \ell_i, \quad 0 \le p_i \le 1 / (\alpha n), \; \sum_i p_i = 1

    over the ``n`` samples of the global batch: the ``floor(alpha n)`` worst weigh ``1 / (alpha n)`` each and the next
    one the rest. With ``alpha n <= 1`` it is the largest loss, with ``alpha = 1`` ERM. It depends on the batch size
    (with gradient accumulation that of a step's parts): small batches know little about the worst ``alpha``. (Levy,
    Carmon, Duchi, Sidford: Large-Scale Methods for Distributionally Robust Optimization, 2020.)

    Args:
        alpha: share of the samples that counts, above 0, up to 1.
        **kwargs: those of ``GroupModule``.

    Raises:
        InputError: if ``alpha`` is out of range.
    """

    def __init__(self, alpha: float = 0.1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_number("alpha", alpha, 0, 1, above=True)
        self.alpha = alpha

    def shares(self, losses: Tensor) -> Tensor:
        """The worst ``alpha n`` in equal shares; see the class."""
        rows = (losses > -torch.inf).sum(dim=-1, keepdim=True).to(losses.dtype)
        limit = (self.alpha * rows).clamp(min=1)
        place = losses.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)
        return (limit - place).clamp(0, 1) / limit


class ChiSquare(WorstSamples):
    r"""Chi-square DRO: the worst mean loss over all shares within a chi-square radius of equal ones.

    .. math:: \max_p \sum_i p_i \ell_i, \quad \frac{1}{2 n} \sum_i (n p_i - 1)^2 \le \rho, \; \sum_i p_i = 1

    over the ``n`` samples of the global batch. The solution is ``p_i`` proportional to ``max(loss_i - eta, 0)``. With
    ``radius = 0`` it is ERM; from ``(n - 1) / 2`` on it is the largest loss. (Levy, Carmon, Duchi, Sidford: Large-Scale
    Methods for Distributionally Robust Optimization, 2020.)

    Args:
        radius: ``rho``, how far from equal the shares of the samples of a batch may be, 0 or more: 0 is ERM, and from
            ``(n - 1) / 2`` on all is on the worst sample.
        **kwargs: those of ``GroupModule``.

    Raises:
        InputError: if ``radius`` is out of range.
    """

    def __init__(self, radius: float = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_number("radius", radius)
        self.radius = radius

    def shares(self, losses: Tensor) -> Tensor:
        r"""In proportion to ``max(loss_i - eta, 0)``; see the class.

        If ``k`` samples get a share, with mean ``mu`` and variance ``s^2`` of their losses, the constraint holds with
        equality for ``mu - eta = sqrt(n s^2 / ((1 + 2 rho) k - n))``; ``k`` is the largest for which the ``k``-th loss
        is above ``eta``.
        """
        value = (losses - losses.amax(dim=-1, keepdim=True)).to(precise(losses))
        known = value > -torch.inf
        rows = known.sum(dim=-1, keepdim=True, dtype=value.dtype)
        # Places without a sample come last and are -inf, of which eta is nan.
        ordered = value.sort(dim=-1, descending=True).values
        k = _numbers(losses.shape[-1], value.dtype, value.device)
        mean = ordered.cumsum(-1) / k
        variance = (ordered.square().cumsum(-1) / k - mean.square()).clamp(min=0)
        room = (1 + 2 * self.radius) * k - rows
        eta = mean - (rows * variance / room.clamp(min=1e-12)).sqrt()
        able = (room > 0) & (ordered > eta)
        chosen = eta.gather(-1, (able * k).argmax(dim=-1, keepdim=True))
        # Where no number of samples fits, the largest losses, which are equal, share alike; so do all with no radius.
        share = torch.where(able.any(dim=-1, keepdim=True), (value - chosen).clamp(min=0), value == 0)
        share = known.to(value.dtype) if 1 + 2 * self.radius == 1 else share
        return (share / share.sum(dim=-1, keepdim=True)).to(losses.dtype)
