"""What becomes of a training whose losses or weights turn nan or inf: it stops, or leaves those steps out."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import torch
import torch.distributed as dist
from lightning.pytorch.utilities.rank_zero import rank_zero_warn
from torch import Tensor

from drurank.data.dataset import GroupedDataset
from drurank.data.sampler import rank_and_world
from drurank.errors import InputError, check_choice
from drurank.methods.built import BuiltModule

OnNonfinite = Literal["stop", "skip"]
SHOWN = 5
NEVER = 2**62


class FiniteModule(BuiltModule):
    """Keeps nan and inf out of weights, ranks, figures and checkpoints.

    Args:
        on_nonfinite: see ``GroupModule``.
        detect: see ``GroupModule``.
        **kwargs: those of ``BuiltModule``.
    """

    nan_hint: ClassVar[str] = ""
    """What else, beside what all methods share, makes an objective nan or inf."""

    constant_state: ClassVar[tuple[str, ...]] = ("weight",)
    """Beginnings of the names of those entries of ``state`` that no step changes."""

    def __init__(self, on_nonfinite: OnNonfinite, detect: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_choice("on_nonfinite", on_nonfinite, OnNonfinite)
        self.on_nonfinite, self.detect = on_nonfinite, detect
        self._steps = self._skipped = 0

    def begin_watch(self, train: GroupedDataset) -> None:
        """Make the marks that are set on the device and looked at once a logging interval."""
        self._broken = torch.zeros((), dtype=torch.bool, device=self.device)
        self._bad = torch.zeros(len(train) if self.detect else 0, dtype=torch.bool, device=self.device)
        self._first_break = torch.full((), NEVER, dtype=torch.int64, device=self.device)

    def watch(self, losses: Tensor, objective: Tensor, index: Tensor, batch_idx: int) -> None:
        """Note a batch whose objective is not finite, and its rows; does not wait for the device."""
        broken = ~objective.detach().isfinite().all()
        if self.detect:
            # Where steps are not left out, every row is broken once the weights are.
            counts = ~self._broken if self.on_nonfinite == "stop" else torch.ones_like(self._broken)
            self._bad.index_put_((index,), self._bad[index] | (~losses.detach().isfinite() & counts))
            self._first_break = torch.where(broken & (self._first_break == NEVER), batch_idx, self._first_break)
        self._broken |= broken

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        """With ``skip`` note what a step changes beside the weights, so that it can be left out whole."""
        trainer: Any = self.trainer
        if self.on_nonfinite == "skip" and batch_idx % trainer.accumulate_grad_batches == 0:
            self._before = [(buffer, buffer.clone()) for buffer in self.buffers()]
            self._state_before = {
                name: value.clone() for name, value in self.state.items() if not name.startswith(self.constant_state)
            }

    def on_before_optimizer_step(self, optimizer: Any) -> None:
        """With ``skip`` leave a step out whose gradient is not finite, by handing the optimizer none."""
        if self.on_nonfinite != "skip":
            return
        gradients = [value.grad for group in optimizer.param_groups for value in group["params"]]
        present = [grad.coalesce().values() if grad.is_sparse else grad for grad in gradients if grad is not None]
        self._steps += 1
        if bool(torch.nn.utils.get_total_norm(present).isfinite()):
            return
        optimizer.zero_grad(set_to_none=True)
        with torch.no_grad():
            for buffer, before in self._before:
                buffer.copy_(before)
        constant = {name: value for name, value in self.state.items() if name.startswith(self.constant_state)}
        self.state = {**constant, **self._state_before}
        # The scaler of half precision tries large scales by itself; their steps are none that went wrong.
        self._skipped += getattr(self.trainer.precision_plugin, "scaler", None) is None

    def configure_gradient_clipping(self, optimizer: Any, *args: Any, **kwargs: Any) -> None:
        """Clip, unless the step is left out and there is no gradient."""
        if any(value.grad is not None for group in optimizer.param_groups for value in group["params"]):
            super().configure_gradient_clipping(optimizer, *args, **kwargs)

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Stop a run whose objective is not finite, looked at once a logging interval."""
        trainer: Any = self.trainer
        every = trainer.log_every_n_steps
        if not trainer.is_last_batch and (every == 0 or (batch_idx + 1) % every):
            return
        if rank_and_world()[1] > 1:
            dist.all_reduce(self._broken, op=dist.ReduceOp.MAX)
        if bool(self._broken) and self.on_nonfinite == "stop":
            raise InputError(
                f"the training loss became nan or inf in epoch {self.current_epoch}{self._rows_in_words()}; lower the "
                "learning rate, clip gradients (--trainer.gradient_clip_val 1), or look for extreme inputs "
                f"(detect=True names rows, on_nonfinite='skip' leaves such steps out){self.nan_hint}"
            )
        if trainer.is_last_batch and self._skipped:
            self._say_what_was_skipped()
        self._broken.zero_()

    def _say_what_was_skipped(self) -> None:
        steps, skipped = self._steps, self._skipped
        self._steps = self._skipped = 0
        words = f"{skipped} of {steps} steps of epoch {self.current_epoch} had a gradient that is nan or inf"
        if skipped == steps:
            raise InputError(
                f"{words}{self._rows_in_words()}, so nothing was learnt; lower the learning rate{self.nan_hint}"
            )
        rank_zero_warn(f"{words} and were left out{self._rows_in_words()}")
        self._bad.zero_()

    def _rows_in_words(self) -> str:
        if not self.detect:
            return ""
        if rank_and_world()[1] > 1:
            first = self._first_break.clone()
            dist.all_reduce(first, op=dist.ReduceOp.MIN)
            if self.on_nonfinite == "stop" and bool(first < self._first_break):
                self._bad.zero_()  # another process broke first, and so all weights before this one's batch
            dist.all_reduce(self._bad, op=dist.ReduceOp.MAX)
        train: GroupedDataset = self.trainer.train_dataloader.dataset  # type: ignore[union-attr]
        index = self._bad.nonzero().flatten().cpu()
        if not len(index):
            return ", with every loss finite (the weights of samples or steps too large)"
        more = f" and {len(index) - SHOWN:,} more" if len(index) > SHOWN else ""
        rows = ", ".join(str(int(train.rows[place])) for place in index[:SHOWN])
        codes = sorted({int(train.group[place]) for place in index})
        names = ", ".join(train.group_names[code] for code in codes[:SHOWN] if code >= 0) or "none"
        return f", first in training rows {rows}{more} (groups {names}{', ...' if len(codes) > SHOWN else ''})"

    def check_weights(self) -> None:
        """Refuse to go on with, or save, a network whose weights or buffers are not finite.

        Raises:
            InputError: naming one of them.
        """
        tensors = {name: value for name, value in self.state_dict().items() if isinstance(value, Tensor)}
        if not tensors or bool(torch.stack([value.isfinite().all() for value in tensors.values()]).all()):
            return
        broken = next(name for name, value in tensors.items() if not bool(value.isfinite().all()))
        raise InputError(
            f"{broken} became nan or inf in epoch {self.current_epoch}, and no checkpoint is written; lower the "
            "learning rate, or clip gradients (--trainer.gradient_clip_val 1)"
        )

    def on_train_end(self) -> None:
        """Refuse to end with weights that are nan or inf."""
        self.check_weights()

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Also refuse to save weights that are nan or inf."""
        self.check_weights()
        super().on_save_checkpoint(checkpoint)
