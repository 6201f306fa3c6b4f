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


class FiniteModule(BuiltModule):
    """Keeps nan and inf out of weights, ranks, figures and checkpoints.

    Args:
        on_nonfinite: see ``GroupModule``.
        detect: see ``GroupModule``.
        **kwargs: those of ``BuiltModule``.
    """

    nan_hint: ClassVar[str] = ""
    """What else, beside what all methods share, makes an objective nan or inf."""

    def __init__(self, on_nonfinite: OnNonfinite, detect: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_choice("on_nonfinite", on_nonfinite, OnNonfinite)
        self.on_nonfinite, self.detect = on_nonfinite, detect
        self._steps = self._skipped = 0

    def begin_watch(self, train: GroupedDataset) -> None:
        """Make the marks that are set on the device and looked at once a logging interval."""
        self._broken = torch.zeros((), dtype=torch.bool, device=self.device)
        self._bad = torch.zeros(len(train) if self.detect else 0, dtype=torch.bool, device=self.device)

    def watch(self, losses: Tensor, objective: Tensor, index: Tensor) -> None:
        """Note a batch whose objective is not finite, and its rows; does not wait for the device."""
        if self.detect:
            # Once the weights are broken every row is.
            self._bad.index_put_((index,), self._bad[index] | (~losses.detach().isfinite() & ~self._broken))
        self._broken |= ~objective.detach().isfinite().all()

    def on_before_optimizer_step(self, optimizer: Any) -> None:
        """With ``skip`` leave a step out whose gradient is not finite, by handing the optimizer none."""
        if self.on_nonfinite != "skip":
            return
        gradients = [value.grad for group in optimizer.param_groups for value in group["params"]]
        present = [gradient for gradient in gradients if gradient is not None]
        self._steps += 1
        if not bool(torch.nn.utils.get_total_norm(present).isfinite()):
            optimizer.zero_grad(set_to_none=True)
            self._skipped += 1

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
                "learning rate, clip gradients (--trainer.gradient_clip_val 1), or look for extreme inputs"
                f"{self.nan_hint}"
            )
        if trainer.is_last_batch and self._skipped:
            self._say_what_was_skipped()
        self._broken.zero_()

    def _say_what_was_skipped(self) -> None:
        steps, skipped = self._steps, self._skipped
        self._steps = self._skipped = 0
        words = f"{skipped} of {steps} steps of epoch {self.current_epoch} had a gradient that is nan or inf"
        if skipped == steps:
            raise InputError(f"{words}{self._rows_in_words()}, so nothing was learnt; lower the learning rate")
        rank_zero_warn(f"{words} and were left out{self._rows_in_words()}")

    def _rows_in_words(self) -> str:
        if not self.detect:
            return ""
        if rank_and_world()[1] > 1:
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

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Also refuse to save weights that are nan or inf.

        Raises:
            InputError: naming one of them.
        """
        broken = [name for name, value in self.named_parameters() if not bool(value.isfinite().all())]
        if broken:
            raise InputError(
                f"{broken[0]} became nan or inf in epoch {self.current_epoch}, and no checkpoint is written; lower the "
                "learning rate, or clip gradients (--trainer.gradient_clip_val 1)"
            )
        super().on_save_checkpoint(checkpoint)
