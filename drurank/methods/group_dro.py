"""Group DRO: the worst-case mixture of groups, followed online."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from drurank.dcg import precise
from drurank.errors import InputError, check_choice, check_number
from drurank.methods.erm import ERM
from drurank.ranking import add_group_sums_
from drurank.training.global_batch import gather_rows, weighted_sum
from drurank.training.record import EpochRecord

STEP_SIZE = 0.01
Preset = Literal["wilds", "sagawa"]


class GroupDRO(ERM):
    r"""Group distributionally robust optimisation, online: groups with high loss gain weight step by step.

    .. math:: q_g \leftarrow q_g e^{\eta L_g}, \quad q \leftarrow q / \sum_g q_g, \quad
        \text{objective} = \sum_g q_g L_g

    with ``L_g`` the mean loss of group ``g`` in the global batch, 0 where it is absent; ``q`` is updated before it is
    used, with gradient accumulation in each of a step's parts. With ``wilds`` losses must be 0 or more. Batches hold
    each group as often as any other (the sampler ``balanced``). ``preset="wilds"`` starts with equal ``q`` on the
    groups that training has; a step touches the groups of its batch alone and costs the same for any number of groups.
    ``preset="sagawa"`` looks at all groups in each step, whose cost grows with their number, and adds to the losses
    that move ``q`` the generalisation adjustment ``C / sqrt(n_g)``, or takes the greedy form. (Sagawa, Koh, Hashimoto,
    Liang: Distributionally Robust Neural Networks for Group Shifts, 2020; Koh et al.: WILDS, 2021.)

    Args:
        preset: ``wilds``: a step moves the weights of the groups of its batch alone, at the same cost for any number of
            groups. ``sagawa``: it looks at all groups, with the three options below.
        step_size: ``eta`` in ``q_g e^(eta L_g)``, how fast the weights of groups follow their losses, 0 or more; not of
            the greedy form.
        generalization_adjustment: ``C`` of ``C / sqrt(n_g)``, which is added to the loss that moves the weight of a
            group of ``n_g`` training rows, 0 or more; of ``sagawa``.
        normalize_loss: divide the adjusted losses that move ``q`` by their sum; of ``sagawa``.
        alpha: instead of ``q``, weigh the groups with the highest running losses that make up this share of the
            training rows (greedy form), between 0 and 1; of ``sagawa``.
        ema: share of a new batch in the running losses of the greedy form; 0.1, if not given.
        **kwargs: those of ``GroupModule``.

    Raises:
        InputError: if an option is out of range, or would have no effect.
    """

    needs_groups = True
    one_group_a_row = True
    sampler = "balanced"
    nan_hint = "; with preset='wilds' no loss may be negative"

    def __init__(
        self,
        preset: Preset = "wilds",
        step_size: float = STEP_SIZE,
        generalization_adjustment: float = 0,
        normalize_loss: bool = False,
        alpha: float | None = None,
        ema: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_choice("preset", preset, Preset)
        for name, value in (("step_size", step_size), ("generalization_adjustment", generalization_adjustment)):
            check_number(name, value)
        for name, share in (("alpha", alpha), ("ema", ema)):
            if share is not None:
                check_number(name, share, 0, 1, above=True, below=True)
        if preset == "wilds" and (generalization_adjustment or normalize_loss or alpha is not None):
            raise InputError(
                "generalization_adjustment, normalize_loss and alpha are of preset='sagawa'; give that, or leave them "
                "out"
            )
        if ema is not None and alpha is None:
            raise InputError(f"ema is {ema} and is of the greedy form; give alpha too, or leave it out")
        if alpha is not None and (normalize_loss or step_size != STEP_SIZE):
            raise InputError("normalize_loss and step_size move q, which the greedy form has not; give them or alpha")
        self.preset, self.step_size, self.generalization_adjustment = preset, step_size, generalization_adjustment
        self.normalize_loss, self.alpha, self.ema = normalize_loss, alpha, 0.1 if ema is None else ema

    def reduce(self, losses: Tensor, batch: dict[str, Any], state: dict[str, Tensor]) -> Tensor:
        """``sum_g q_g L_g`` over the groups of the global batch; moves ``q`` in ``state``."""
        exact = precise(losses)
        largest = batch.get("largest")
        group = gather_rows(batch["group"], fill=-1, largest=largest)
        everywhere = gather_rows(losses.detach().to(exact), fill=0.0, largest=largest)
        step = self._wilds if self.preset == "wilds" else self._sagawa
        return weighted_sum(step(everywhere, group, state), losses)

    def first_state(self) -> dict[str, Tensor]:
        """Also ``q``, equal on the groups that training has, and what else moves it."""
        state = super().first_state()
        return {**state, **self._start(precise(state["weight"]))}

    def reweight(self, record: EpochRecord) -> Tensor:
        """All ones; renews the normaliser of ``q`` once an epoch."""
        total = self.state["log_q"].logsumexp(dim=-1, keepdim=True)
        self.state["log_q"] -= total
        self.state["log_z"] = torch.zeros_like(self.state["log_z"])
        return super().reweight(record)

    def _start(self, dtype: torch.dtype) -> dict[str, Tensor]:
        group, groups = self.record.group, self.record.num_groups
        rows = add_group_sums_(torch.zeros(groups, dtype=dtype, device=group.device), torch.ones_like(group), group)
        log_q = torch.where(rows > 0, 0.0, -torch.inf).to(dtype)
        state = {"log_q": log_q, "log_z": log_q.logsumexp(dim=-1)}
        if self.preset == "sagawa":
            state |= {"rows": rows, "running": torch.full_like(log_q, torch.nan if self.alpha is not None else 0.0)}
        return state

    def _wilds(self, losses: Tensor, group: Tensor, state: dict[str, Tensor]) -> Tensor:
        """Weight of each row of the global batch, ``[..., N]``; touches the groups of the batch alone.

        With ``u_g`` the logarithm of ``q_g`` before normalisation and ``x_g = eta L_g``, the normaliser grows by
        ``sum_g e^{u_g + x_g} (1 - e^{-x_g})``, in which nothing cancels, nor overflows in the log domain.
        """
        # A group's place is that of its first row in the order of the groups; at the others of its rows x is 0.
        ordered, none = group.sort().values, group < 0
        place, index = torch.searchsorted(ordered, group), ordered.clamp(min=0)
        count = torch.searchsorted(ordered, ordered, right=True) - torch.searchsorted(ordered, ordered)
        count = count.to(losses.dtype)
        own = losses.masked_fill(none, 0)
        x = self.step_size * (torch.zeros_like(own).scatter_add_(-1, place.expand(own.shape), own) / count)
        log_q = state["log_q"].index_select(-1, index) + x
        state["log_q"].index_add_(-1, index, x)
        # Of a negative x the logarithm is nan, which stops the run: it would make the normaliser a difference, whose
        # digits go step by step.
        grown = log_q + torch.log(-torch.expm1(-x))
        state["log_z"] = torch.logaddexp(state["log_z"], grown.logsumexp(dim=-1))
        q = (log_q - state["log_z"].unsqueeze(-1)).exp() / count
        return q.index_select(-1, place).masked_fill(none, 0)

    def _sagawa(self, losses: Tensor, group: Tensor, state: dict[str, Tensor]) -> Tensor:
        """Weight of each row of the global batch, ``[..., N]``; looks at all groups."""
        summed = add_group_sums_(torch.zeros_like(state["log_q"]), losses, group)
        count = add_group_sums_(torch.zeros_like(state["rows"]), torch.ones_like(group), group)
        mean = summed / count.clamp(min=1)
        adjusted = mean + self._adjustment(state["rows"])
        if self.alpha is not None:
            q = self._greedy(self.alpha, mean, count > 0, state)
        else:
            total = adjusted.sum(dim=-1, keepdim=True)
            moved = adjusted / torch.where(total == 0, 1.0, total) if self.normalize_loss else adjusted
            log_q = state["log_q"] + self.step_size * moved
            state["log_q"] = log_q - log_q.logsumexp(dim=-1, keepdim=True)
            state["log_z"] = torch.zeros_like(state["log_z"])
            q = state["log_q"].exp()
        index = group.clamp(min=0)
        return torch.where(group >= 0, q[..., index] / count.clamp(min=1)[index], 0.0)

    def _adjustment(self, rows: Tensor) -> Tensor:
        """``C / sqrt(n_g)``."""
        return self.generalization_adjustment / rows.clamp(min=1).sqrt()

    def _greedy(self, alpha: float, mean: Tensor, present: Tensor, state: dict[str, Tensor]) -> Tensor:
        """Groups of the highest running losses that make up a share ``alpha`` of the rows, each ``p_g / alpha``."""
        known = torch.where(state["running"].isnan(), mean, (1 - self.ema) * state["running"] + self.ema * mean)
        state["running"] = torch.where(present, known, state["running"])
        reference = state["running"].nan_to_num(nan=-torch.inf) + self._adjustment(state["rows"])
        share = (state["rows"] / state["rows"].sum()).expand(reference.shape)
        order = reference.argsort(dim=-1, descending=True, stable=True)
        ahead = share.gather(-1, order).cumsum(dim=-1)
        taken = (alpha - (ahead - share.gather(-1, order))).clamp(min=0)
        weight = torch.minimum(taken, share.gather(-1, order)) / alpha
        return torch.zeros_like(reference).scatter(-1, order, weight)
