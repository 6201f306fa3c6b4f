"""Just Train Twice: the errors of a short training weigh more in a second one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Literal

import torch
from lightning.pytorch.utilities.rank_zero import rank_zero_info, rank_zero_warn
from torch import Tensor
from torch.nn.parameter import is_lazy

from drurank.errors import InputError, check_choice, check_count
from drurank.methods.const import check_factor
from drurank.methods.group_module import AccuracyFrom, GroupModule
from drurank.training import method_checks
from drurank.training.record import UNKNOWN, EpochRecord
from drurank.training.roll import needed
from drurank.training.stages import Stages

Semantics = Literal["reweight", "repeat"]


class JTT(GroupModule):
    """Just Train Twice: trains ERM for some epochs, then anew with more weight on what that got wrong.

    After ``first_stage_epochs`` epochs the misclassified training samples are the error set. Then the network goes back
    to its initial weights, with a fresh optimizer and schedule and the row orders of the first epochs, and trains for
    the rest of ``max_epochs`` with the error set upweighted. Needs no groups in training. Epochs of the first stage are
    never chosen as best and end no run early, so ``trainer.max_epochs`` must be the larger. (Liu, Haghgoo, Chen,
    Raghunathan, Koh, Sagawa, Liang, Finn: Just Train Twice, 2021.)

    Args:
        first_stage_epochs: ``T``, epochs of the first stage, 1 or more, of the trainer's ``max_epochs``, which counts
            both. With 0 there would be no network to take errors from.
        upweight_factor: ``lambda``, weight of the first stage's errors, above 0. Where errors are many a large one
            leaves little weight to the rest, as a line at the start of the second stage says.
        semantics: ``reweight``: a sample of the error set weighs ``lambda``; ``repeat``: ``1 + lambda``, as where it is
            repeated ``lambda`` times beside itself. No row is drawn twice in either.
        accuracy_from: whose predictions are the errors. ``evaluation``: a pass over the training set in evaluation mode
            at the end of epoch ``T``; ``training``: those made while epoch ``T`` ran.
        **kwargs: those of ``GroupModule``.

    Raises:
        InputError: if an option is out of range.
    """

    chooses_late = True
    constant_state = ("weight", "initial.", "second_stage")
    fit_checks = (method_checks.weights_can_be_replaced, method_checks.both_stages_train)
    begun_checks = (method_checks.second_stage_is_reached,)
    fixed_options = ("first_stage_epochs", "upweight_factor", "semantics", "accuracy_from")

    def __init__(
        self,
        first_stage_epochs: int = 1,
        upweight_factor: float = 5,
        semantics: Semantics = "reweight",
        accuracy_from: AccuracyFrom | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        why = ": a network that has not trained has no errors to learn from (for none, use ERM)"
        check_count("first_stage_epochs", first_stage_epochs, why)
        check_choice("semantics", semantics, Semantics)
        self.take_accuracy_from(accuracy_from)
        self.first_stage_epochs, self.stages = first_stage_epochs, Stages(starts_anew_at=first_stage_epochs)
        self.upweight_factor, self.semantics = check_factor(upweight_factor), semantics

    def reweights_after(self, epoch: int) -> bool:
        """Only the last epoch of the first stage gives weights."""
        return epoch + 1 >= self.first_stage_epochs and not bool(self.state["second_stage"])

    def reweight(self, record: EpochRecord) -> Tensor:
        """``lambda``, or ``1 + lambda``, for the samples that are wrong, else 1."""
        wrong = record.correct == 0
        if not bool(wrong.any()):
            rank_zero_warn(f"epoch {self.first_stage_epochs} has no errors, so all samples weigh 1 in the second stage")
        factor = self.upweight_factor + (self.semantics == "repeat")
        return torch.where(wrong, factor, torch.ones_like(wrong, dtype=torch.float32))

    def first_state(self) -> dict[str, Tensor]:
        """Also the network's initial weights, and whether they were put back."""
        initial = {f"initial.{name}": value.detach().cpu().clone() for name, value in self._tensors()}
        return {**super().first_state(), "second_stage": torch.tensor(False), **initial}

    @needed
    def on_train_end(self) -> None:
        """Say so where the run ended, as by ``max_time``, before there was anything to choose."""
        super().on_train_end()
        if not self.searching and not bool(self.state["second_stage"]):
            rank_zero_warn("the run ended within the first stage of JTT, so there is no checkpoint to choose")

    def _tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Parameters and buffers, those that no ``state_dict`` holds among them."""
        for name, value in itertools.chain(self.named_parameters(), self.named_buffers()):
            if is_lazy(value):
                raise InputError(
                    f"{name} has no shape before the first batch, so it has no initial weights to go back to; give its "
                    "layer its sizes"
                )
            yield name, value

    @needed
    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        """Begin the second stage where the first is over, but not in the few steps of a search for a rate."""
        if self.selectable and not self.searching and not bool(self.state["second_stage"]):
            self._begin_second_stage()
        super().on_train_batch_start(batch, batch_idx)

    def _begin_second_stage(self) -> None:
        if bool((self.record.correct == UNKNOWN).all()):
            raise InputError(
                f"the errors of epoch {self.first_stage_epochs} are not known; go on from a checkpoint that was "
                "written after its validation, or from an earlier one"
            )
        with torch.no_grad():
            for name, value in self._tensors():
                value.copy_(self.state.pop(f"initial.{name}"))
        trainer: Any = self.trainer
        trainer.strategy.setup_optimizers(trainer)
        self.stages.end_schedules(trainer, self.current_epoch)
        self.state["second_stage"] = torch.tensor(True)
        wrong = int((self.record.correct == 0).sum())
        weight = self.state["weight"]
        share = float(weight[self.record.correct == 0].sum() / weight.sum())
        rank_zero_info(
            f"JTT: second stage with {wrong:,} of {len(weight):,} rows upweighted, which are {share:.0%} of the weight"
        )
