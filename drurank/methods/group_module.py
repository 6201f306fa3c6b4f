"""What every method is: one LightningModule that holds its parts.

The order of events of an epoch, with what each hook of ours does:

1. ``training_step``: losses, ``reduce`` with the weights in force, objective. With ``accuracy_from="training"`` it
   writes to the record which rows are correct.
2. ``validation_step``, after the last batch: writes which rows of each split are correct; with
   ``accuracy_from="evaluation"`` also those of the training set, read once more, to the record.
3. ``on_validation_epoch_end``: counts by group -> criteria -> logger; the record comes into force, if whole.
4. ``on_train_epoch_end``: record -> ``reweight`` -> weights of the next epoch.
5. ``ModelCheckpoint`` and ``EarlyStopping`` look at the criteria, so that a file holds the new weights.

The file is long since Lightning's hooks are methods of one class, and whoever reads a run follows them in one place;
what they do stands in ``drurank.training``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

import torch
from lightning.pytorch import Callback, LightningModule
from lightning.pytorch.callbacks import StochasticWeightAveraging
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from lightning.pytorch.utilities.model_helpers import is_overridden
from lightning.pytorch.utilities.rank_zero import rank_zero_info, rank_zero_warn
from torch import Tensor, nn
from torch.optim import Optimizer

from drurank.data.dataset import GroupedDataset
from drurank.data.orders import Draw
from drurank.errors import InputError, check_choice
from drurank.methods import rebasing
from drurank.metrics import predicted_class
from drurank.namespace import warn_of_other_namespace
from drurank.networks import MLP
from drurank.networks.calling import call
from drurank.networks.factory import NetworkFactory
from drurank.processes import rank_and_world
from drurank.ranking import groups_differ, rank_groups
from drurank.run_folder.checkpoint_checks import KEY
from drurank.run_folder.loading import MadeByItself
from drurank.stacked.member import joins
from drurank.training import checkpoint as saving
from drurank.training import contract, hyperparameters, loader_checks, preflight, resume, resume_checks
from drurank.training.evaluation import TRAIN_LOSS, Evaluation, forget_logged, key_in_test
from drurank.training.global_batch import GlobalBatch, gather_predictions
from drurank.training.kept_files import keep_to_own_files
from drurank.training.loaders import batch_size_of, batches_of, draws_again, is_last_validation, keeps_labels
from drurank.training.losses import BinaryCrossEntropy, CrossEntropy
from drurank.training.network import NetworkBuilder
from drurank.training.nonfinite import NonFiniteWatch, OnNonfinite, check_weights, has_gradient
from drurank.training.optimization import LRInterval, Optimization
from drurank.training.progress import FitProgress
from drurank.training.ranked_figure import RankFigure, check_rank_figure, ranked_group, ranked_value
from drurank.training.record import EpochRecord
from drurank.training.requeue import Requeue
from drurank.training.roll import RollCall, needed
from drurank.training.split_loss import SplitLoss
from drurank.training.stages import Stages, choose_any, choose_only_selectable
from drurank.training.starting import StartingWeights
from drurank.training.stop_together import StopTogether

TRANSFER_HOOKS = ("on_before_batch_transfer", "transfer_batch_to_device", "on_after_batch_transfer")
AccuracyFrom = Literal["evaluation", "training"]


NOT_KEPT = ("network", "loss", "optimizer", "lr_scheduler", "init_from")
"""Options that a checkpoint does not keep among the plain values."""


class GroupModule(MadeByItself, LightningModule):
    """Base of the methods: trains any network on the mean of ``w_i loss_i`` over the global batch.

    A method overrides ``reweight``, how an epoch's record becomes weights, or ``reduce``, how a batch's losses become
    the objective. With neither it is empirical risk minimisation.

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
        positive: label of the positive class, or its number where the data has no labels, which criteria of other
            figures than accuracy need, such as ``worst-fpr``; 1 of classes 0 and 1, if not given.
        on_nonfinite: what happens when a loss or gradient is nan or inf: ``stop`` ends the run within a logging
            interval; ``skip`` leaves those steps out and says how many, for one wait for the device a step.
        detect: name in that message the training rows and their groups whose loss was the first to be nan or inf, for
            a byte a training row.
        init_from: file of weights that the network starts from, such as a checkpoint of another project; you are told
            which of the network's weights it has. A resumed run has its own.

    Raises:
        InputError: if the loss gives one value for a batch, or ``min_count`` is less than 1.
    """

    accuracy_from: AccuracyFrom = "evaluation"
    """Whose predictions the record holds: those of a pass at the epoch's end, or those made while it trained."""
    rank_by_figure: RankFigure = "accuracy"
    """By what the training groups are ranked."""
    own_loss_epochs: int = 0
    """First epochs in which a ``training_step`` of your own may train on another loss, as in a warm-up."""
    needs_groups: bool = False
    one_group_a_row: ClassVar[bool] = False
    """Whether it looks at the one group of a row, so that groups may not overlap."""
    without_groups: ClassVar[str] = "use ERM, Const, JTT, CVaR or ChiSquare"
    """What to do where training rows have no group and the method needs them."""
    sampler: ClassVar[Draw] = "shuffle"
    """Which rows an epoch draws, where the data is told nothing else."""
    chooses_late: ClassVar[bool] = False
    """Whether there are epochs that are not ``selectable``, which checkpoints and early stopping then leave out."""
    fixed_options: ClassVar[tuple[str, ...]] = ()
    """Options that a resumed run must share with the one it goes on from."""
    constant_state: ClassVar[tuple[str, ...]] = ("weight",)
    """Beginnings of the names of those entries of ``state`` that no step changes."""
    nan_hint: ClassVar[str] = ""
    """What else, beside what all methods share, makes the objective nan or inf."""
    fit_checks: ClassVar[tuple[preflight.Check, ...]] = ()
    """What a fit of this method is also refused for, before anything is written."""
    begun_checks: ClassVar[tuple[preflight.Check, ...]] = ()
    """The same, once the loaders and the tables are made."""

    # Not "hyper_parameters": LightningCLI lets what it finds there override the command line.
    CHECKPOINT_HYPER_PARAMS_KEY = "drurank_hyper_parameters"

    def __init__(
        self,
        network: NetworkFactory = MLP,
        loss: nn.Module | None = None,
        optimizer: OptimizerCallable | None = None,
        lr_scheduler: LRSchedulerCallable | None = None,
        lr_interval: LRInterval = "epoch",
        min_count: int = 1,
        shrink: bool = False,
        positive: str | None = None,
        on_nonfinite: OnNonfinite = "stop",
        detect: bool = False,
        init_from: str | None = None,
    ) -> None:
        super().__init__()
        warn_of_other_namespace()
        if type(self) is GroupModule:
            raise InputError("GroupModule is the base of the methods; use one of them, such as ERM")
        self.save_hyperparameters(ignore=list(NOT_KEPT))
        if getattr(loss, "reduction", "none") != "none":
            raise InputError(f"the loss has reduction={loss.reduction!r}; give it reduction='none'")  # type: ignore[union-attr]
        self.builder = NetworkBuilder(network)
        self.network = self.builder.given
        self.loss = loss if loss is not None else CrossEntropy()
        self.starting = StartingWeights(init_from)
        self.optimization = Optimization(optimizer, lr_scheduler, lr_interval)
        self.evaluation = Evaluation(min_count, shrink, positive)
        self.watch = NonFiniteWatch(on_nonfinite, detect, self.nan_hint)
        self.roll, self.requeue, self.together = RollCall(), Requeue(), StopTogether()
        self.stages = Stages()
        self.state: dict[str, Tensor] = {}
        """The weights and whatever tensors ``reduce`` puts beside them; empty before training, saved in checkpoints."""
        self.record: EpochRecord
        self.progress = FitProgress()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Look at the names of a class of your own, and keep the training pass out of its validation."""
        super().__init_subclass__(**kwargs)
        rebasing.check_class(cls, GroupModule)
        rebasing.spare(cls, GroupModule)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; refuse another type for one of ours."""
        if name == "_current_fx_name":
            # Lightning sets it at each hook, and a module would first look whether it is a parameter or a module.
            self.__dict__[name] = value
            return
        rebasing.check_attribute(self, name, value)
        super().__setattr__(name, value)

    def take_accuracy_from(self, given: AccuracyFrom | None) -> None:
        """Look at whose predictions the record is to hold: what was given, or else what the class says."""
        if given is not None:
            self.accuracy_from = given
        check_choice("accuracy_from", self.accuracy_from, AccuracyFrom)

    def take_rank_figure(self, figure: RankFigure) -> None:
        """Look at what the training groups are to be ranked by, once ``accuracy_from`` is known."""
        check_rank_figure(figure, self.accuracy_from, self.evaluation.shrink)
        self.rank_by_figure = figure

    # What a method is made of: overridden by methods and by modules of your own.

    def parameters(self, recurse: bool = True) -> Iterator[nn.Parameter]:
        """Those of the network, once a run has built it.

        Raises:
            InputError: if they are asked for before any run, as by a stock LightningCLI that makes ``--optimizer``.
        """
        if self.network is None and not self.forwards_itself and self._trainer is None:
            raise InputError(
                f"the network of {type(self).__name__} is built when a run begins, so it has no parameters yet; give "
                "the method its optimizer: optimizer=... in Python, and on the command line of a LightningCLI write "
                "--model.optimizer <class> and --model.optimizer.lr in place of --optimizer"
            )
        return super().parameters(recurse)

    @property
    def title(self) -> str:
        """How the method is called in tables."""
        return type(self).__name__

    @property
    def selectable(self) -> bool:
        """Whether the epoch in progress may be chosen as the best one, or end the run early."""
        return self.stages.is_last(self.current_epoch)

    def reduce(self, losses: Tensor, batch: dict[str, Any], state: dict[str, Tensor]) -> Tensor:
        """How a batch's losses become the objective: the weighted mean over the global batch.

        Args:
            losses: float ``[..., B]``.
            batch: the batch, with what is known of the global batch, see
                :class:`drurank.training.global_batch.GlobalBatch`. A sum over rows is scaled by ``batch["share"]``;
                any other function is one of :func:`drurank.training.global_batch.gather_losses`.
            state: plain tensors, kept and saved by this class, among them ``weight``, float ``[..., n]``.

        Returns:
            Objective, float ``[...]``.
        """
        weight = state["weight"].index_select(-1, batch["index"])
        objective: Tensor = (weight * losses).sum(dim=-1) * batch["share"]
        return objective

    def objective(self, logits: Tensor, losses: Tensor, batch: dict[str, Any]) -> Tensor:
        """What is minimised: ``reduce`` of the losses; overridden where it takes more than them, as in IRM."""
        return self.reduce(losses, batch, self.state)

    def reweight(self, record: EpochRecord) -> Tensor:
        """How an epoch's record becomes the weights of the next one; here all are 1.

        Args:
            record: what is known of the training samples; its tables may have leading dimensions.

        Returns:
            Weights by training sample, float ``[..., n]``.
        """
        return torch.ones_like(record.correct, dtype=torch.float32)

    def reweights_after(self, epoch: int) -> bool:
        """Whether the end of this epoch gives new weights."""
        return True

    def ranked_accuracy(self, record: EpochRecord) -> Tensor:
        """What the training groups are ranked by, float ``[..., m]``, higher for those that are served better.

        Nan where nothing is known of one. Their accuracy, or what ``rank_by_figure`` says: 1 minus a rate, or minus the
        mean loss.
        """
        return ranked_value(record, self.rank_by_figure, self.evaluation.shrink)

    def group_rank(self, accuracy: Tensor) -> Tensor:
        """Rank of groups of these accuracies, 0 for the worst, both float ``[..., m]``; nan where the accuracy is."""
        return rank_groups(accuracy)

    def where_groups_differ(self, weight: Tensor, accuracy: Tensor) -> Tensor:
        """Weights by group, ``[..., m]``; all 1, and you are told, where no group is known to be worse than another.

        Args:
            weight: what groups of these accuracies weigh otherwise, float ``[..., m]``.
            accuracy: what ``ranked_accuracy`` gave, float ``[..., m]``.
        """
        differ = groups_differ(accuracy)
        if not bool(differ.any()):
            rank_zero_info(f"{self.title}: no training group is worse than another, so none is upweighted")
        return torch.where(differ, weight, 1.0)

    def first_state(self) -> dict[str, Tensor]:
        """What ``state`` holds when training begins; an entry on the CPU stays there."""
        return {"weight": torch.ones_like(self.record.correct, dtype=torch.float32)}

    def forward(self, inputs: Tensor | dict[str, Tensor]) -> Tensor:
        """Logits, float ``[B, C]``, from a tensor or the network's keyword arguments."""
        if self.network is None:
            raise InputError(
                "the network is not built yet; fit first, load a checkpoint, or call super().configure_model() in yours"
            )
        output: Tensor = call(self.network, inputs)
        return output

    def logits_of(self, inputs: Tensor | dict[str, Tensor]) -> Tensor:
        """What ``forward`` gives, or holds under ``logits``; ``[B, 1]`` for one logit a row of a binary loss of ours.

        A dict goes to a ``forward`` of your own as keywords, if it takes all of them.
        """
        if (
            isinstance(inputs, dict)
            and self.forwards_itself
            and contract.takes_keywords(type(self).forward, (*inputs,))
        ):
            output = contract.as_logits(self(**inputs))
        else:
            output = contract.as_logits(self(inputs))
        return output.unsqueeze(1) if isinstance(self.loss, BinaryCrossEntropy) and output.ndim == 1 else output

    @property
    def forwards_itself(self) -> bool:
        """Whether the class has a ``forward`` of its own, as a rebased module has, and so needs no ``network``."""
        return type(self).forward is not GroupModule.forward

    def unpack(self, batch: Any) -> dict[str, Any]:
        """A batch as a dict; overridden where loaders of your own give another kind.

        Args:
            batch: what a loader gave, on the device: such a dict, or a tuple of its four entries in their order.

        Returns:
            ``inputs`` (a tensor ``[B, ...]``, or a dict of the network's keywords), ``label`` (``[B, ...]``), ``group``
            and ``index`` (int64 ``[B]``; the index is the row's place in the dataset).

        Raises:
            InputError: if it is neither.
        """
        return contract.as_batch(batch)

    @property
    def relabels(self) -> bool:
        """Whether ``unpack`` or a hook between loader and step, of your own, may give other labels than the dataset."""
        hooks = [name for name in TRANSFER_HOOKS if is_overridden(name, self)]
        data: Any = None if self._trainer is None else self.trainer.datamodule  # type: ignore[attr-defined]
        hooks += [name for name in TRANSFER_HOOKS if data is not None and is_overridden(name, data)]
        return bool(hooks) or type(self).unpack is not GroupModule.unpack

    def is_correct(self, output: Tensor, label: Tensor) -> Tensor:
        """Whether each sample is classified correctly; overridden where that means something else.

        Args:
            output: what the network gave, float ``[B, C]``.
            label: int64 ``[B]``, or what the batches hold under ``label``.

        Returns:
            Bool ``[B]``; here whether the class of the highest score is the label, and the scores finite.

        Raises:
            InputError: if labels are floats.
        """
        return contract.class_correct(output, label)

    @property
    def names_classes(self) -> bool:
        """Whether a sample is correct where the class of its highest score is its label, and nothing else is meant."""
        return type(self).is_correct is GroupModule.is_correct

    def sample_losses(self, output: Tensor, label: Tensor) -> Tensor:
        """Losses by sample, float32 ``[B]``, whatever the precision of the network."""
        return contract.checked_losses(self.loss(output.float(), label), label)

    def _correct(self, output: Tensor, label: Tensor) -> Tensor:
        is_ours = self.names_classes  # which knows scores that are not finite
        return contract.checked_correct(self.is_correct(output, label), output, drop_nan=not is_ours)

    def _losses(self, output: Tensor, label: Tensor) -> Tensor:
        try:
            losses = self.sample_losses(output, label)
        except IndexError as error:
            found = contract.OUT_OF_RANGE.search(str(error))
            if found is None:
                raise
            raise contract.out_of_range(f"the label {found[1]}", output) from error
        return contract.checked_losses(losses, label, "sample_losses")

    @property
    def searching(self) -> bool:
        """Whether a tuner of Lightning tries learning rates or batch sizes: it takes a fit's callbacks away."""
        trainer: Any = self.trainer
        return trainer.state.fn == "fit" and self.watch not in trainer.callbacks

    @property
    def goes_on(self) -> bool:
        """Whether a fit goes on after an earlier one of the same trainer, whose last epoch was this method's."""
        done: int = self.trainer.current_epoch
        return done > 0 and bool(self.state) and self.progress.ended_epoch == done - 1

    # Training.

    @needed
    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        """Objective of a batch; notes its predictions where they rank the groups."""
        self.watch.begin_step(self, batch_idx)
        batch = contract.checked_batch(self.unpack(batch))
        output = self.logits_of(batch["inputs"])
        if self.trainer.global_step == 0 and batch_idx == 0 and not output.is_cpu:
            contract.check_classes(output, batch["label"])  # on the CPU the loss refuses any
        losses = self._losses(output, batch["label"])
        rows = losses.shape[-1]
        loader: Any = self.trainer.train_dataloader
        whole = GlobalBatch(batch, rows, batch_size_of(loader), losses.device, overlap=self.record.overlap)
        if self.accuracy_from == "training":
            self._note_predictions(output, batch, loader)
        objective = self.objective(output, losses, whole)
        whole.check_use(type(self).__name__)
        self.watch.note(losses, objective, batch["index"], batch_idx)
        self.watch.count(losses)
        self.roll.use.expect(objective)
        return objective

    def _note_predictions(self, output: Tensor, batch: dict[str, Any], loader: Any) -> None:
        index, label = batch["index"], batch["label"]
        among_others = draws_again(loader) and rank_and_world()[1] > 1
        is_ours = self.names_classes
        if is_ours and not among_others and contract.are_plain_scores(output, label):
            self.record.write_later(index, output, label, self._correct)
            return
        seen = index, self._correct(output, label)
        # The last prediction of a row counts, whichever process made it.
        self.record.write(*(gather_predictions(*seen, batch_size_of(loader)) if among_others else seen))

    @needed
    def on_train_epoch_end(self) -> None:
        """Rank the groups anew and rewrite the samples' weights for the next epoch; log the mean loss of this one."""
        # Not by each step: a progress bar, which only the first process has, would ask for the mean over processes.
        loss = self.watch.mean_loss()
        if loss is not None and TRAIN_LOSS not in self.evaluation.theirs:
            super().log(TRAIN_LOSS, loss, prog_bar=True, sync_dist=True, reduce_fx="max")
        trainer: Any = self.trainer
        if self.progress.validated_batch == trainer.fit_loop.total_batch_idx:
            # Of a validation before the checkpoint; callbacks are to see its criteria, and loggers have seen them.
            known = trainer.callback_metrics
            for key, value in self.evaluation.values.items():
                if key not in known:
                    super().log(key, value, logger=False)
        self._end_epoch(self.current_epoch)

    def _end_epoch(self, epoch: int) -> None:
        self.progress.ended_epoch = epoch
        if not self.reweights_after(epoch):
            self.record.forget_fresh()
            return
        if self.accuracy_from == "training":
            self.record.commit()
        if not self.record.news:
            if not self.searching:
                rank_zero_warn(
                    f"epoch {epoch} gave no predictions for every training row (is validation limited or left out in "
                    "it?); the weights stay as they are"
                )
            return
        rows = len(self.record.group)
        self.state["weight"] = contract.checked_weights(self.reweight(self.record), rows, type(self).__name__)
        self.record.news = False
        unseen = self.record.count_unseen()
        if unseen and self.needs_groups and not self.searching:
            rank_zero_warn(f"training groups without a row drawn so far, which have no rank yet: {unseen}")

    def configure_gradient_clipping(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
        """Clip, unless the step is left out and there is no gradient."""
        if has_gradient(optimizer):
            super().configure_gradient_clipping(optimizer, *args, **kwargs)

    # Evaluation.

    @needed
    def on_validation_epoch_start(self) -> None:
        """Begin to count the validation splits, and at the end of an epoch that ranks the groups the training set."""
        trainer: Any = self.trainer
        resume.take_back_step(trainer)
        ends = trainer.state.fn == "fit" and not trainer.sanity_checking and is_last_validation(trainer)
        reads = ends and self.accuracy_from == "evaluation" and self.reweights_after(self.current_epoch)
        loader_checks.check_evaluation(trainer.val_dataloaders)
        if reads:
            loader_checks.check_training_pass(trainer)
            self.record.forget_fresh()
        self.evaluation.begin(trainer.val_dataloaders, "val", self.record if reads else None, self.device)

    @needed
    def on_test_epoch_start(self) -> None:
        """Begin to count the test splits."""
        loader_checks.check_evaluation(self.trainer.test_dataloaders)
        self.evaluation.begin(self.trainer.test_dataloaders, "test", None, self.device)

    @needed
    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Note which rows of a batch are correct, and their losses."""
        loader = dataloader_idx if self.roll.loader is None else self.roll.loader
        record, loss = self.evaluation.record_of(loader), self.evaluation.loss_of(loader)
        if record is not None:
            batch = contract.checked_batch(self.unpack(batch))
            output = self.logits_of(batch["inputs"])
            losses = self._losses(output, batch["label"]) if record.loss is not None else None
            record.write(batch["index"], self._correct(output, batch["label"]), losses)
            answers = self.evaluation.answers_of(loader)
            if answers is not None:
                answers.write(batch["index"], batch["label"], output)
            if output.shape[1:] == (1,) and self.names_classes:
                self.evaluation.note_single_outputs(output)
            if loss is not None:
                self._note_losses(loss, output, batch)

    def _note_losses(self, table: SplitLoss, output: Tensor, batch: dict[str, Any]) -> None:
        try:
            table.write(batch["index"], self._losses(output, batch["label"]))
        except InputError:
            if self.trainer.training:
                raise
            table.give_up()  # a checkpoint does not bring its loss, and this one makes none of these scores

    @needed
    def test_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Note which rows of a batch are correct."""
        self.evaluation.tests_by_validation_step = True
        try:
            self.validation_step(batch, batch_idx, dataloader_idx)
        finally:
            self.evaluation.tests_by_validation_step = False

    @needed
    def on_validation_epoch_end(self) -> None:
        """Log the criteria, and put the training set's predictions in force."""
        self._log_criteria()
        if self.evaluation.reads_training_set:
            self.record.commit(whole=True)
        trainer: Any = self.trainer
        if trainer.state.fn == "fit" and not trainer.sanity_checking:
            self.progress.validated_batch = trainer.fit_loop.total_batch_idx

    @needed
    def on_test_epoch_end(self) -> None:
        """Log the criteria."""
        self._log_criteria()

    def _log_criteria(self) -> None:
        preflight.check_criteria(self, self.evaluation.end())
        trainer, values = self.trainer, self.evaluation.values
        if not (trainer.sanity_checking or trainer.fast_dev_run or self.searching):  # type: ignore[attr-defined]
            self.evaluation.warn_of_rows_left_out()
            self.evaluation.warn_of_probabilities()
        forget_logged(trainer, values)
        partial = tuple(f"{split.prefix}_" for split in self.evaluation.cut_short())
        for key, value in values.items():
            # Equal on every process already; the maximum over them keeps that exact, as a mean would not.
            to_loggers = False if key.startswith(partial) else None
            shown = key == self.evaluation.shown
            super().log(
                key,
                value,
                prog_bar=shown,
                logger=to_loggers,
                on_epoch=True,
                sync_dist=True,
                reduce_fx="max",
                batch_size=1,
            )

    def log(self, name: str, *args: Any, **kwargs: Any) -> None:
        """As Lightning's, for a module of your own: names stay as written beside the pass over the training rows.

        Raises:
            InputError: if the name is that of a criterion of ours.
        """
        trainer: Any = self._trainer
        results = None if trainer is None else trainer._results
        if results is not None:
            # Known in the hooks of a batch only; the roll's is, in callbacks before it, that of the hook before.
            loader = results.dataloader_idx
            if self.evaluation.is_training_pass(loader):
                return
            if self.evaluation.tests_by_validation_step:
                name = key_in_test(name)
            self.evaluation.leave_to_them(trainer, name)
            if loader is not None and len(self.evaluation.splits) == 1:
                kwargs["add_dataloader_idx"] = False
        super().log(name, *args, **kwargs)

    @needed
    def on_predict_start(self) -> None:
        """Refuse loaders whose rows cannot be told."""
        loader_checks.check_grouped(self.trainer.predict_dataloaders)

    def predict_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> dict[str, Tensor]:
        """Of a batch: ``index``, ``label``, ``group``, ``prediction`` int64 ``[B]``, ``probability`` ``[B, C]``."""
        batch = contract.checked_batch(self.unpack(batch))
        logits = self.logits_of(batch["inputs"])
        rows = {key: batch[key] for key in ("index", "label", "group")}
        rows["prediction"] = predicted_class(logits, threshold=0)[0]
        return {**rows, "probability": contract.class_probabilities(logits)}

    # The beginning of a run.

    @needed
    def setup(self, stage: str) -> None:
        """Check what is asked of the run, and find out which criteria are."""
        trainer: Any = self.trainer
        if stage == "fit" and not self.goes_on:
            self.state, self.progress.restored = {}, None  # an earlier fit may have left its own
        self.progress.begun = self.progress.begun and stage != "fit"
        self.evaluation.find_criteria(trainer, grouped=getattr(trainer.datamodule, "grouped", True))
        preflight.check_run(self, trainer, trainer.datamodule)
        preflight.check_attached(self, trainer)

    def configure_model(self) -> None:
        """Build the network from the data's sizes before a fit; a checkpoint to evaluate brings its own."""
        trainer: Any = self._trainer
        if self.network is None and not self.forwards_itself and trainer is not None and trainer.state.fn == "fit":
            self.network = self.builder.build(preflight.sizes_of(trainer.datamodule, needed=self.builder.takes_sizes))
            for callback in trainer.callbacks:
                if isinstance(callback, StochasticWeightAveraging):
                    callback.setup(trainer, self, "fit")  # it has copied the method without a network

    def configure_callbacks(self) -> Sequence[Callback]:
        """The watch for nan and inf, the roll call of our hooks, and two for signals and SLURM, unless attached."""
        trainer: Any = self._trainer
        attached = [] if trainer is None else trainer.callbacks
        return [
            callback
            for callback in (self.watch, self.roll, self.requeue, self.together, *joins())
            if callback not in attached
        ]

    def configure_optimizers(self) -> Any:
        """Optimizer over the network's ``parameter_groups()``, or all parameters, and the scheduler."""
        return self.optimization.configure(self, self.network, self.evaluation.ask_for)

    @needed
    def on_fit_start(self) -> None:
        """Have checkpoints replaced whole, and the loggers note what the run is made of."""
        preflight.check_attached(self, self.trainer)
        saving.write_whole(self.trainer)
        if self.trainer.ckpt_path is None:
            self.starting.load(self if self.network is None else self.network)
        hyperparameters.log_hyperparameters(self, self.trainer)
        rebasing.warn_of_unused_loss(self, GroupModule)
        if self.chooses_late:
            choose_only_selectable(self.trainer)

    def teardown(self, stage: str) -> None:
        """Give the trainer its own callbacks back."""
        super().teardown(stage)
        if self.chooses_late:
            choose_any(self.trainer)

    @needed
    def on_train_start(self) -> None:
        """Begin the tables of the training samples, and go on where a checkpoint was written."""
        trainer: Any = self.trainer
        preflight.check_roll(self)
        preflight.run_checks(preflight.START, self, trainer)
        train = trainer.train_dataloader.dataset
        self.watch.begin(len(train), self.device)
        restored = self.progress.restored
        if not (self.searching and self.progress.begun):
            self.begin_tables(train)
        if restored is not None:
            self._take_up_where_it_was_left()
            resume.log_what_is_missing(trainer, restored.get("unlogged"))
        if not self.searching:
            self.progress.begun = True
            hyperparameters.log_training_set(trainer)
            preflight.run_checks(self.begun_checks, self, trainer)
        batches = batches_of(trainer.train_dataloader)
        if batches is not None:
            rank_zero_info(f"{self.title}: batches of {batches}")
        self.stages.end_schedules(trainer, self.current_epoch)
        if restored is None:
            self.progress.ended_epoch = self.current_epoch - 1

    def _take_up_where_it_was_left(self) -> None:
        trainer: Any = self.trainer
        left = resume.epoch_without_its_end(trainer, self.progress.ended_epoch)
        if left is not None:
            resume.log_past_loss(trainer, left, self.watch.mean_loss())
            self._end_epoch(left)
        resume.leave_ended_epoch(trainer, self.progress.ended_epoch)
        resume.end_epoch_as_usual(trainer, self.evaluation.values)
        resume.warn_within_epoch(trainer)

    def begin_tables(self, train: GroupedDataset) -> None:
        """Make the tables of the training samples, or take over those of the checkpoint, or of the fit before."""
        restored, fingerprint = self.progress.restored, train.fingerprint()
        self.progress.dataset = train
        if self.goes_on and restored is None and self.progress.fingerprint == fingerprint:
            return
        keeps = keeps_labels(self.trainer.train_dataloader) and not self.relabels
        class_count = train.class_count() if keeps else None
        self.progress = FitProgress(-1, None, fingerprint, train, class_count, begun=self.progress.begun)
        group = ranked_group(train, self.rank_by_figure, self.evaluation.labels, self.evaluation.positive)
        self.record = EpochRecord(
            group.to(self.device), max(train.num_training_groups, 1), keeps_loss=self.rank_by_figure == "loss"
        )
        self.state = self.first_state()
        if restored is not None:
            saving.load_training_state(self, self.trainer, restored)

    @needed
    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        """Draw dropout from the run's seed and the epoch, so that a resumed epoch is the same; look at a new loader."""
        if batch_idx == 0:
            loader_checks.check_same_rows(self.progress, self.trainer)
            self.stages.seed(self.current_epoch, self.trainer.global_rank)

    # Checkpoints.

    @needed
    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the method's class, network, sizes and tables; no weights that are nan or inf are saved."""
        check_weights(self)
        checkpoint[KEY] = saving.method_state(self)
        if self.state:
            checkpoint[KEY]["training"] = saving.training_state(self, self.trainer)
        saving.keep_plain(checkpoint.get(self.CHECKPOINT_HYPER_PARAMS_KEY, {}))

    @needed
    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Build the network that the checkpoint holds, or, to go on training, keep its tables until that starts.

        Raises:
            InputError: if the checkpoint is of another method or network and training is to go on from it, or its
                network cannot be built without help.
        """
        to_train = self._trainer is not None and self._trainer.state.fn == "fit"
        file = None if self._trainer is None else self._trainer.ckpt_path
        saved = resume_checks.check_loaded(checkpoint, to_train=to_train, file=file)
        if to_train:
            keep_to_own_files(self.trainer, checkpoint)
            resume_checks.check_resume(self, saved, self.builder.sizes)
            self.progress.restored = saved.get("training")
            if self.progress.restored is None:
                self.state = {}  # a search before training is over; the next one must not save its tables
            if self.progress.begun and self.progress.restored is not None:  # a search within the run is over
                self.watch.begin(len(self.record.group), self.device)
                saving.load_training_state(self, self.trainer, self.progress.restored)
                self.progress.restored = None
            resume.go_back_to_validation(
                self.trainer, checkpoint["loops"]["fit_loop"], self.progress.restored, steps=checkpoint["global_step"]
            )
            saving.warn_of_changes(checkpoint.get(self.CHECKPOINT_HYPER_PARAMS_KEY, {}), self.hparams)
        else:
            saving.load_network(self, checkpoint)
