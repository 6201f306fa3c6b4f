"""What becomes of a training whose losses or weights turn nan or inf: it stops, or leaves those steps out."""

from __future__ import annotations

import sys
from typing import Any, Literal

import torch
import torch.distributed as dist
from lightning.pytorch.utilities.rank_zero import rank_zero_warn
from torch import Tensor, nn
from torch.optim import Optimizer

from drurank.data.dataset import GroupedDataset
from drurank.errors import InputError, NonFiniteError, check_choice
from drurank.processes import max_over_processes_, rank_and_world, sum_over_processes_
from drurank.training.lean_callback import LeanCallback

OnNonfinite = Literal["stop", "skip"]
SHOWN = 5
NEVER = 2**62


class NonFiniteWatch(LeanCallback):
    """Keeps nan and inf out of weights, ranks, figures and checkpoints; a method attaches it to its trainer.

    Marks are set on the device at each step and looked at once a logging interval.

    Args:
        on_nonfinite: ``stop`` ends the run, ``skip`` leaves out steps whose gradient is not finite.
        detect: name the training rows whose loss was the first to be nan or inf.
        hint: what else, beside what all methods share, makes the objective nan or inf.

    Raises:
        InputError: if ``on_nonfinite`` is neither.
    """

    def __init__(self, on_nonfinite: OnNonfinite, detect: bool, hint: str = "") -> None:
        check_choice("on_nonfinite", on_nonfinite, OnNonfinite)
        self.on_nonfinite, self.detect, self.hint = on_nonfinite, detect, hint
        self._steps = self._skipped = 0
        self._mark = self._zero = self._bad = self._first_break = torch.zeros(0)
        """A sum that is 0 as long as every objective is finite, and nan once one was not."""
        self._loss, self._rows = torch.zeros(()), 0
        if not self.skips:
            self.on_before_optimizer_step = None  # type: ignore[assignment,method-assign]
        self._before: list[tuple[Tensor, Tensor]] = []
        self._state_before: dict[str, Tensor] = {}

    @property
    def skips(self) -> bool:
        """Whether steps that are not finite are left out."""
        return self.on_nonfinite == "skip"

    def begin(self, rows: int, device: torch.device) -> None:
        """Make the marks, for a training set of so many rows."""
        self._steps = self._skipped = 0
        self._mark, self._zero = torch.zeros((), device=device), torch.zeros((), device=device)
        self._bad = torch.zeros(rows if self.detect else 0, dtype=torch.bool, device=device)
        self._first_break = torch.full((), NEVER, dtype=torch.int64, device=device)
        self._loss, self._rows = torch.zeros((), device=device), 0

    def begin_step(self, method: Any, batch_idx: int) -> None:
        """With ``skip`` keep what a step changes beside the weights, so that it can be left out whole.

        Called by the method's step, since callbacks run before a method's own hook, which may begin a stage.
        """
        if self.skips and batch_idx % method.trainer.accumulate_grad_batches == 0:
            self._before = [(buffer, buffer.clone()) for buffer in method.buffers()]
            self._state_before = {
                name: value.clone()
                for name, value in method.state.items()
                if not name.startswith(method.constant_state)
            }

    def note(self, losses: Tensor, objective: Tensor, index: Tensor, batch_idx: int) -> None:
        """Mark a batch whose objective is not finite, and its rows; does not wait for the device.

        Args:
            losses: float ``[B]``.
            objective: float scalar.
            index: rows of the batch, int64 ``[B]``.
            batch_idx: number of the batch in the epoch.
        """
        objective = objective.detach()
        if self.detect:
            # Where steps are not left out, every row is broken once the weights are.
            counts = torch.ones_like(self._mark, dtype=torch.bool) if self.skips else self._mark == 0
            self._bad.index_put_((index,), self._bad[index] | (~losses.detach().isfinite() & counts))
            broken = ~objective.isfinite().all()
            self._first_break = torch.where(broken & (self._first_break == NEVER), batch_idx, self._first_break)
        # Of nan and inf 0 times is nan: one operation where isfinite takes four.
        self._mark.addcmul_(objective if objective.ndim == 0 else objective.sum(), self._zero)

    def count(self, losses: Tensor) -> None:
        """Add a batch to the mean loss of the epoch; what is not finite counts as 0 where steps are left out.

        Args:
            losses: float ``[B]``; without the weights of a method, so that methods can be compared by their mean.
        """
        losses = losses.detach().nan_to_num(0, 0, 0) if self.skips else losses.detach()
        self._loss += losses.sum()
        self._rows += losses.shape[-1]

    def losses(self) -> Tensor:
        """Sum and number of the losses of rows drawn since the last mean, of all processes; every one must call it."""
        return sum_over_processes_(torch.stack([self._loss, torch.full_like(self._loss, self._rows)]))

    def go_on_from(self, losses: Tensor) -> None:
        """Count on from what ``losses`` gave in a run that was stopped within an epoch."""
        if rank_and_world()[0] == 0:
            self._loss.copy_(losses[0])
            self._rows = int(losses[1])

    def take_epoch(self, loss: Tensor, mark: Tensor, rows: int) -> None:
        """Take over what was noted and counted elsewhere of an epoch: the sums of losses and of the mark, and rows."""
        self._loss.copy_(loss)
        self._mark.copy_(mark)
        self._rows = rows

    def loss_so_far(self) -> float | None:
        """Mean loss of the rows that this process drew since the last ``mean_loss``; waits for the device."""
        return float(self._loss) / self._rows if self._rows else None

    def mean_loss(self) -> Tensor | None:
        """Mean loss of the rows drawn since the last call, of all processes, float scalar; every one must call it.

        ``None`` where no row was drawn.
        """
        total = self.losses()
        self._loss.zero_()
        self._rows = 0
        return total[0] / total[1] if bool(total[1]) else None

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        """With ``skip``, and there only, leave a step out whose gradient is not finite: the optimizer gets none."""
        gradients = [value.grad for group in optimizer.param_groups for value in group["params"]]
        present = [grad.coalesce().values() if grad.is_sparse else grad for grad in gradients if grad is not None]
        self._steps += 1
        if bool(nn.utils.get_total_norm(present).isfinite()):
            return
        scaled = getattr(trainer.precision_plugin, "scaler", None) is not None
        if not scaled:  # the scaler of half precision leaves such a step out by itself
            optimizer.zero_grad(set_to_none=True)
        with torch.no_grad():
            for buffer, before in self._before:
                buffer.copy_(before)
        state = pl_module.state
        constant = {name: value for name, value in state.items() if name.startswith(pl_module.constant_state)}
        pl_module.state = {**constant, **self._state_before}
        # The scaler tries large scales by itself; those steps did not go wrong.
        self._skipped += not scaled

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Stop a run whose objective is not finite, looked at once a logging interval."""
        every = trainer.log_every_n_steps
        if not trainer.is_last_batch and (every == 0 or (batch_idx + 1) % every):
            return
        sum_over_processes_(self._mark)
        if not self.skips and float(self._mark) != 0:
            raise NonFiniteError(
                f"the training loss became nan or inf in epoch {trainer.current_epoch}{self._rows_in_words(trainer)}; "
                "lower the learning rate, clip gradients (gradient_clip_val=1), or look for extreme inputs "
                f"(detect=True names rows, on_nonfinite='skip' leaves such steps out){self.hint}"
            )
        self._mark.zero_()

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Say what was left out, and rank no groups by a network that is broken, before the method's own hook."""
        steps, skipped = self._steps, self._skipped
        self._steps = self._skipped = 0
        if skipped:
            self._say_what_was_skipped(trainer, steps, skipped)
        check_weights(pl_module)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Do not end with weights that are nan or inf."""
        check_weights(pl_module)

    def _say_what_was_skipped(self, trainer: Any, steps: int, skipped: int) -> None:
        words = f"{skipped} of {steps} steps of epoch {trainer.current_epoch} had a gradient that is nan or inf"
        if skipped == steps:
            raise NonFiniteError(
                f"{words}{self._rows_in_words(trainer)}, so nothing was learned; lower the learning rate{self.hint}"
            )
        rank_zero_warn(f"{words} and were left out{self._rows_in_words(trainer)}")
        self._bad.zero_()

    def _rows_in_words(self, trainer: Any) -> str:
        if not self.detect:
            return ""
        if rank_and_world()[1] > 1:
            first = self._first_break.clone()
            dist.all_reduce(first, op=dist.ReduceOp.MIN)
            if not self.skips and bool(first < self._first_break):
                self._bad.zero_()  # another process broke first, and so all weights before this one's batch
            max_over_processes_(self._bad)
        train: GroupedDataset = trainer.train_dataloader.dataset
        index = self._bad.nonzero().flatten().cpu()
        if not len(index):
            return ", although every loss was finite (sample weights or steps may be too large)"
        more = f" and {len(index) - SHOWN:,} more" if len(index) > SHOWN else ""
        rows = ", ".join(str(int(train.rows[place])) for place in index[:SHOWN])
        groups = train.groups_at(index)
        names = ", ".join(groups[:SHOWN]) or "none"
        return f", first in training rows {rows}{more} (groups {names}{', ...' if len(groups) > SHOWN else ''})"


def has_gradient(optimizer: Optimizer) -> bool:
    """Whether a step would change anything; where it was left out it would not."""
    return any(value.grad is not None for group in optimizer.param_groups for value in group["params"])


def check_weights(module: Any) -> None:
    """Refuse to go on with, or save, a network whose weights or buffers are not finite.

    Raises:
        InputError: naming one of them.
    """
    broken = broken_entry(module.state_dict())
    if broken is not None:
        if isinstance(ending := sys.exception(), InputError):
            raise ending  # a callback saves as the run ends with it: the reason stays the first one
        raise NonFiniteError(
            f"{broken} became nan or inf in epoch {module.current_epoch}, and no checkpoint is written; lower the "
            "learning rate, or clip gradients (gradient_clip_val=1)"
        )


def broken_entry(state: dict[str, Any]) -> str | None:
    """Name of the first tensor that holds nan or inf, if there is one; waits for the device once if there is none."""
    tensors = {name: value for name, value in state.items() if isinstance(value, Tensor)}
    if not tensors or bool(torch.stack([value.isfinite().all() for value in tensors.values()]).all()):
        return None
    return next(name for name, value in tensors.items() if not bool(value.isfinite().all()))
