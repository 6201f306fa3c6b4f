"""What every method does alike in training: objective, record, weights."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import asdict
from typing import Any, ClassVar, Literal

import torch
import torch.distributed as dist
from lightning.fabric.plugins import TorchCheckpointIO
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from lightning.pytorch.utilities.rank_zero import rank_zero_info, rank_zero_warn
from torch import Tensor, nn

from drurank.data.dataset import GroupedDataset
from drurank.data.orders import Draw
from drurank.data.sampler import rank_and_world
from drurank.dcg import RankBy
from drurank.errors import InputError
from drurank.methods.built import LRInterval
from drurank.methods.finite import FiniteModule, OnNonfinite
from drurank.networks import MLP
from drurank.networks.factory import NetworkFactory
from drurank.ranking import Ties
from drurank.run_folder.checkpoint_io import ReplacingCheckpointIO
from drurank.training.global_batch import gather_predictions
from drurank.training.loaders import batch_size_of, batches_of, check_training_pass, draws_again, training_set
from drurank.training.losses import CrossEntropy
from drurank.training.record import EpochRecord
from drurank.training.stages import SHARDED

AccuracyFrom = Literal["evaluation", "training"]


class GroupModule(FiniteModule, ABC):
    """Base of the methods: trains any network on the mean of ``w_i loss_i`` over the global batch.

    A method overrides ``reweight``, how an epoch's record becomes weights, or ``reduce``, how a batch's losses become
    the objective, and nothing else. After each epoch ``on_train_epoch_end`` hands the record to ``reweight`` and puts
    the weights it returns in force.

    Args:
        network: makes the network from the sizes of the data; in Python also a network itself.
        loss: gives one value per sample from logits ``[B, C]`` and labels ``[B]``; ``CrossEntropy``, if not given,
            which takes class weights and label smoothing. A loss of torch's needs ``reduction="none"``.
        optimizer: makes the optimizer from the parameters; AdamW with a learning rate of 1e-3, if not given.
        lr_scheduler: makes the learning-rate scheduler from the optimizer; the rate is constant, if not given.
            ``LinearDecay`` and ``CosineDecay`` end with the training, whatever its length.
        lr_interval: whether the scheduler steps at each ``epoch`` or each optimizer ``step``.
        min_count: criteria leave out groups with fewer samples.
        shrink: criteria and ranks take as a group's accuracy its posterior mean, which is the nearer to that of all
            groups the fewer samples it has, so that tiny groups do not lead by luck, see
            :func:`drurank.spread.shrunk_accuracy`.
        on_nonfinite: what becomes of a loss or gradient that is nan or inf: ``stop`` ends the run within a logging
            interval; ``skip`` leaves those steps out and says how many, for one wait for the device a step.
        detect: name in that message the training rows and their groups whose loss was the first to be nan or inf, for
            a byte a training row.

    Raises:
        InputError: if the loss gives one value for a batch, or ``min_count`` is less than 1.
    """

    rank_by: RankBy = "quantile"
    ties: Ties = "min"
    accuracy_from: AccuracyFrom = "training"
    needs_groups: bool = False
    sampler: ClassVar[Draw] = "shuffle"

    def __init__(
        self,
        network: NetworkFactory = MLP,
        loss: nn.Module | None = None,
        optimizer: OptimizerCallable | None = None,
        lr_scheduler: LRSchedulerCallable | None = None,
        lr_interval: LRInterval = "epoch",
        min_count: int = 1,
        shrink: bool = False,
        on_nonfinite: OnNonfinite = "stop",
        detect: bool = False,
    ) -> None:
        super().__init__(
            network=network,
            optimizer=optimizer,
            lr_scheduler=lr_scheduler,
            lr_interval=lr_interval,
            min_count=min_count,
            shrink=shrink,
            on_nonfinite=on_nonfinite,
            detect=detect,
        )
        self.save_hyperparameters(ignore=["network", "loss", "optimizer", "lr_scheduler"])
        if getattr(loss, "reduction", "none") != "none":
            raise InputError(f"the loss has reduction={loss.reduction!r}; give it reduction='none'")  # type: ignore[union-attr]
        self.loss = loss if loss is not None else CrossEntropy()

    @property
    def title(self) -> str:
        """How the method is called in tables."""
        return type(self).__name__

    def reweights_after(self, epoch: int) -> bool:
        """Whether the end of this epoch gives new weights."""
        return True

    @abstractmethod
    def reweight(self, record: EpochRecord) -> Tensor:
        """How an epoch's record becomes weights.

        Args:
            record: what is known of the training samples; its tables may have leading dimensions.

        Returns:
            Weights by training sample, float ``[..., n]``.
        """

    def reduce(self, losses: Tensor, batch: dict[str, Any], state: dict[str, Tensor]) -> Tensor:
        """How a batch's losses become the objective: the weighted mean over the global batch.

        Args:
            losses: float ``[..., B]``.
            batch: the batch, and under ``share`` the number of processes over the rows of the global batch. Gradients
                are averaged over processes, so an override must scale a sum over this process's rows by it:
                ``objective = sum_i(...) * batch["share"]`` is then the mean over the global batch. Under ``largest``
                the rows that no process has more of, or ``None``.
            state: plain tensors, kept and saved by this class, among them ``weight``, float ``[..., n]``.

        Returns:
            Objective, float ``[...]``.
        """
        weight = state["weight"][..., batch["index"]]
        objective: Tensor = (weight * losses).sum(dim=-1) * batch["share"]
        return objective

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        """Objective of a batch; notes its predictions where they rank the groups."""
        batch = self.unpacked(batch)
        output = self(batch["inputs"])
        losses = self.sample_losses(output, batch["label"])
        loader: Any = self.trainer.train_dataloader
        largest = batch_size_of(loader)
        if self.accuracy_from == "training":
            seen = batch["index"], self.right_of(output, batch["label"])
            # The last prediction of a row counts, whichever process made it.
            self.record.write(*(gather_predictions(*seen, largest) if draws_again(loader) else seen))
        of_global = {"share": self._share(losses), "largest": largest}
        objective = self.objective(output, losses, {**batch, **of_global})
        self.watch(losses, objective, batch["index"], batch_idx)
        # The plain mean, without weights, so that methods can be compared by it.
        shown = losses.detach() if self.on_nonfinite == "stop" else losses.detach().nan_to_num(0, 0, 0)
        rows = losses.shape[-1]
        mean = shown.sum() / max(rows, 1)
        self.log("train_loss", mean, on_epoch=True, on_step=False, batch_size=rows, sync_dist=True)
        return objective

    def objective(self, logits: Tensor, losses: Tensor, batch: dict[str, Any]) -> Tensor:
        """What is minimised: ``reduce`` of the losses; overridden where it takes more than them, as in IRM."""
        return self.reduce(losses, batch, self.state)

    def sample_losses(self, logits: Tensor, label: Tensor) -> Tensor:
        """Losses by sample, float32 ``[B]``, whatever the precision of the network."""
        losses: Tensor = self.loss(logits.float(), label)
        if not isinstance(losses, Tensor) or not losses.is_floating_point():
            found = losses.dtype if isinstance(losses, Tensor) else type(losses).__name__
            raise InputError(f"the loss gave a {found}; it must give a tensor of one float per sample")
        if losses.shape != label.shape[:1]:
            raise InputError(
                f"the loss gave {list(losses.shape)} for labels {list(label.shape)}; it must give one value per sample "
                "(reduction='none')"
            )
        return losses

    def on_train_epoch_end(self) -> None:
        """Rank the groups anew and rewrite the samples' weights for the next epoch."""
        self._end_epoch(self.current_epoch)

    def _end_epoch(self, epoch: int) -> None:
        self.check_weights()
        self._ended_epoch = epoch
        if not self.reweights_after(epoch):
            self.record.forget_fresh()
            return
        if self.accuracy_from == "training":
            self._has_news |= self.record.commit()
        if not self._has_news:
            rank_zero_warn(
                f"epoch {epoch} gave no predictions for every training row (is validation limited or "
                "left out in it?); the weights stay as they are"
            )
            return
        weight: Any = self.reweight(self.record)
        rows = len(self.record.group)
        if not isinstance(weight, Tensor) or weight.shape[-1:] != (rows,):
            found = list(weight.shape) if isinstance(weight, Tensor) else type(weight).__name__
            raise InputError(f"{type(self).__name__}.reweight gave {found}; it must give a tensor of {rows} weights")
        weight = weight.to(torch.float32)
        if not bool(weight.isfinite().all()):
            raise InputError(f"{type(self).__name__}.reweight gave weights that are nan or inf")
        self.state["weight"] = weight
        self._has_news = False
        unseen = int((self.record.group_accuracy()[1] == 0).sum())
        if unseen and self.needs_groups:
            rank_zero_warn(f"training groups without a row drawn so far, which have no rank yet: {unseen}")

    def first_state(self) -> dict[str, Tensor]:
        """What ``state`` holds when training begins; an entry on the CPU stays there."""
        return {"weight": torch.ones_like(self.record.correct, dtype=torch.float32)}

    def training_record(self) -> EpochRecord | None:
        """That of the training samples, at the end of an epoch of a fit whose evaluation pass ranks the groups."""
        trainer: Any = self.trainer
        ends = trainer.state.fn == "fit" and not trainer.sanity_checking and trainer.is_last_batch
        reads = ends and self.accuracy_from == "evaluation" and self.reweights_after(self.current_epoch)
        return self.record if reads else None

    def on_validation_epoch_end(self) -> None:
        """Log the criteria, and put the training set's predictions in force."""
        super().on_validation_epoch_end()
        if self._evaluation.reads_training_set:
            self._has_news |= self.record.commit(whole=True)

    def setup(self, stage: str) -> None:
        """Check what is asked of the run, and find out which criteria are."""
        self.check_run(self.trainer, self.trainer.datamodule)  # type: ignore[attr-defined]

    def check_run(self, trainer: Any, datamodule: Any) -> None:
        """Refuse a run that cannot go well, before anything is written; notes the criteria it needs.

        Args:
            trainer: what will run it.
            datamodule: its data, or ``None``.

        Raises:
            InputError: if a test key or an unknown criterion is monitored, groups are needed and there are none, or the
                trainer would replace the sampler or never step.
        """
        if trainer.accumulate_grad_batches < 1:
            raise InputError(f"accumulate_grad_batches is {trainer.accumulate_grad_batches}; give an int of 1 or more")
        if trainer.overfit_batches:
            raise InputError("overfit_batches would replace the sampler that knows the rows; use limit_train_batches")
        grouped = getattr(datamodule, "grouped", True)
        fits = trainer.state.fn in (None, "fit")
        if self.needs_groups and not grouped and fits:
            raise InputError(f"{type(self).__name__} needs groups and the data names none; name the group column")
        if not grouped and (self.shrink or self.min_count > 1):
            raise InputError("shrink and min_count are about groups and the data names none; leave them out")
        if self.on_nonfinite == "skip" and isinstance(trainer.strategy, SHARDED):
            raise InputError(
                f"with {type(trainer.strategy).__name__} each process has a part of the gradient, and they would not "
                "agree on the steps to leave out; give on_nonfinite='stop'"
            )
        self.find_criteria(trainer, grouped=grouped)
        if fits:
            self.check_fit(trainer, datamodule)

    def check_fit(self, trainer: Any, datamodule: Any) -> None:
        """What ``check_run`` refuses of a fit alone."""
        for limit in ("max_epochs", "max_steps", "limit_train_batches"):
            if getattr(trainer, limit) == 0:
                raise InputError(f"{limit} is 0, with which nothing is trained; leave it out, or give more")

    def on_fit_start(self) -> None:
        """Have checkpoints replaced whole, and the loggers note the sizes, which stand in no configuration."""
        if type(self.trainer.strategy.checkpoint_io) is TorchCheckpointIO:
            self.trainer.strategy.checkpoint_io = ReplacingCheckpointIO()
        if self.sizes is not None:
            for logger in self.loggers:
                # As a list, since a tuple would make hparams.yaml unreadable for a safe reader.
                logger.log_hyperparams({**asdict(self.sizes), "cardinalities": list(self.sizes.cardinalities)})

    def on_train_start(self) -> None:
        """Begin the tables of the training samples and all that is watched."""
        train = training_set(self.trainer, type(self).__name__, needs_groups=self.needs_groups)
        if self.accuracy_from == "evaluation":
            check_training_pass(self.trainer, train)
        self.begin_watch(train)
        batches = batches_of(self.trainer.train_dataloader)
        if batches is not None:
            rank_zero_info(f"{self.title}: batches of {batches}")
        self.begin_tables(train)
        self.end_schedules()
        self._warn_within_epoch()
        if self._ended_epoch < self.current_epoch - 1:
            # The checkpoint was written after the last batch of an epoch and before its end. Lightning counts that
            # epoch as ended, and would not count the next one as begun.
            self._end_epoch(self.current_epoch - 1)
            self.trainer.fit_loop.reset_restart_stage()

    def begin_tables(self, train: GroupedDataset) -> None:
        """Make the tables of the training samples, or take over those of the checkpoint."""
        self.record = EpochRecord(train.group.to(self.device), max(train.num_training_groups, 1))
        self.state = self.first_state()
        self._has_news, self._ended_epoch = False, -1
        self.take_over(train)

    def _warn_within_epoch(self) -> None:
        trainer: Any = self.trainer
        progress = trainer.fit_loop.epoch_loop.batch_progress
        done = progress.current.processed
        if done and not progress.is_last_batch:
            rank_zero_warn(
                f"the checkpoint was written within epoch {self.current_epoch}, after {done} of "
                f"{trainer.num_training_batches} batches: the rest of the epoch draws its first rows again, and rows "
                "it does not reach are weighted by the last prediction known of them"
            )

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        """Draw dropout from the run's seed and the epoch, so that a resumed epoch is the same."""
        super().on_train_batch_start(batch, batch_idx)
        if batch_idx == 0 and getattr(self, "_ended_epoch", -2) < self.current_epoch - 1:
            raise InputError(
                f"{type(self).__name__} has an on_train_start or on_train_epoch_end of its own that does not call "
                "super()'s, which ranks the groups; call it first"
            )
        seed = self.epoch_seed()
        if batch_idx == 0 and seed is not None:
            torch.manual_seed(seed)

    def epoch_seed(self) -> int | None:
        """A seed of the epoch of the stage and the process, or ``None`` where the run has no seed."""
        seed = os.environ.get("PL_GLOBAL_SEED")
        trainer: Any = self._trainer
        return None if seed is None else int(seed) * 1_000_003 + self.stage_epoch * 7_919 + trainer.global_rank

    def _share(self, losses: Tensor) -> Tensor | float:
        world = rank_and_world()[1]
        if world == 1:
            return 1 / losses.shape[-1]
        rows = torch.full((), losses.shape[-1], dtype=torch.float32, device=losses.device)
        dist.all_reduce(rows)
        share: Tensor = world / rows
        return share
