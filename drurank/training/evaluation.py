"""One evaluation: what is classified correctly in each split, and the criteria that this gives."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import torch
from lightning.pytorch.utilities.rank_zero import rank_zero_warn
from torch import Tensor

from drurank.criteria import default_criteria
from drurank.criterion_keys import criterion_of_key, key_of, logged_criterion, resembled_key
from drurank.errors import InputError, check_count
from drurank.figures import Measure, Share
from drurank.figures.selecting import FigureCriterion
from drurank.metrics import GroupCriteria
from drurank.training.answers import RowAnswers, check_classes
from drurank.training.evaluated import EvaluatedSplit, key_prefixes
from drurank.training.loaders import as_list, split_of
from drurank.training.record import UNKNOWN, EpochRecord
from drurank.training.split_loss import SplitLoss

TRAIN_LOSS = "train_loss"
"""What the mean loss of an epoch of training is logged under."""

VALIDATION = re.compile(r"(id_)?val(id(ation)?)?(?=[_/.]|$)")
"""Begins a key of a validation."""


def key_in_test(key: str) -> str:
    """The key in a test of what a module logs as ``key`` in a validation.

    >>> key_in_test("val_f1"), key_in_test("id_val/f1"), key_in_test("f1"), key_in_test("value")
    ('test_f1', 'id_test/f1', 'f1', 'value')
    """
    found = VALIDATION.match(key)
    return key if found is None else f"{found[1] or ''}test{key[found.end() :]}"


class Evaluation:
    """Notes by row what is correct in each evaluated split, so that a row that a sampler repeats counts once.

    Args:
        min_count: criteria leave out groups with fewer samples.
        shrink: criteria take as a group's accuracy its posterior mean.
        positive: label of the positive class, which most other figures than accuracy need.

    Raises:
        InputError: if ``min_count`` is not an int of 1 or more.
    """

    def __init__(self, min_count: int, shrink: bool, positive: str | None = None) -> None:
        check_count("min_count", min_count)
        self.min_count, self.shrink, self.positive = min_count, shrink, positive
        self.keeps_answers = False
        """Whether what is answered for each row is kept, whatever the criteria."""
        self.of_figures: dict[str, FigureCriterion] = {}
        """The criteria of other figures than accuracy that are computed, by name."""
        self._data: Any = None
        self._grouped, self._fits = True, False
        self.names = default_criteria()
        """The criteria that are computed."""
        self.shown = ""
        """The key that a progress bar shows: the first that is monitored, or else one of the usual criteria."""
        self.splits: list[EvaluatedSplit] = []
        """The splits of the last evaluation, in the order of their loaders."""
        self.values: dict[str, Tensor] = {}
        """Criteria and losses of the last evaluation, by key."""
        self.theirs: set[str] = set()
        """Keys of ours, such as ``val_loss`` or ``train_loss``, that a module of a person's own logs itself."""
        self.counted: dict[str, int] = {}
        """Rows of each split that the last evaluation counted."""
        self.reads_training_set = False
        self.tests_by_validation_step = False
        """Whether a step of a test calls that of a validation, whose names are of the other part."""
        self._by_loader: list[EvaluatedSplit | None] = []
        """What each loader reads; ``None`` for the training set."""
        self._training: EpochRecord | None = None
        self._warned: set[str] = set()
        self._range: tuple[Tensor, Tensor] | None = None

    def find_criteria(self, trainer: Any, *, grouped: bool) -> None:
        """Find out which criteria the run needs: the usual ones, and those that a callback monitors.

        Args:
            trainer: what will run it.
            grouped: whether the data names groups.

        Raises:
            InputError: see ``ask_for``.
        """
        self.names, self.of_figures, self.keeps_answers = default_criteria(grouped=grouped), {}, False
        self._data = trainer.datamodule
        self._grouped, self._fits = grouped, trainer.state.fn == "fit"
        self._warned.clear()
        self.theirs.clear()
        monitored = [one for one in trainer.callbacks if isinstance(getattr(one, "monitor", None), str)]
        for callback in monitored:
            self.ask_for(callback.monitor, getattr(callback, "mode", None))
        keys = [callback.monitor for callback in monitored if criterion_of_key(callback.monitor) is not None]
        self.shown = next(iter(keys), "val_qdcg10" if grouped else "val_overall")

    @property
    def labels(self) -> list[str] | None:
        """Label of each class by number, where the data says it."""
        return getattr(self._data, "label_names", None)

    def ask_for(self, key: str, mode: str | None) -> None:
        """Have a criterion computed that is monitored under this key.

        Raises:
            InputError: if a test key of ours, or a criterion that needs groups where there are none, is monitored, or
                the worst value would be kept.
        """
        asked = criterion_of_key(key)
        if asked is None:
            return
        if mode is not None and mode != asked.mode:
            raise InputError(f"{key} is monitored with mode={mode!r}, which keeps the worst; give mode={asked.mode!r}")
        if not self._grouped and not asked.of_samples:
            raise InputError(
                f"{key} needs groups and the data names none; name its column, or choose by {' or '.join(self.names)}"
            )
        if not isinstance(asked, FigureCriterion):
            self.names = tuple(dict.fromkeys([*self.names, asked.name]))
            return
        if self.shrink:
            asked.refuse_shrunk()
        if self._fits:  # else the data has not been restored yet
            check_classes(asked.figure, self.labels, self.positive)
        self.of_figures[asked.name] = asked

    def keep_answers(self, figures: Sequence[Share | Measure]) -> None:
        """Have the next evaluation keep what is answered for each row, as for a report of other figures than accuracy.

        Raises:
            InputError: if the classes do not allow one.
        """
        for figure in figures:
            check_classes(figure, self.labels, self.positive)
        self.keeps_answers = True

    def begin(self, loaders: Any, stage: str, training: EpochRecord | None, device: torch.device) -> None:
        """Make empty tables for the splits that the loaders read.

        Args:
            loaders: the trainer's loaders of the stage.
            stage: ``val`` or ``test``.
            training: where to note what is correct in the training set, if its loader is to be read; ``None`` skips it.
            device: where the tables are to live.
        """
        loaders = as_list(loaders)
        names = [split_of(loader) or stage for loader in loaders]
        prefixes = key_prefixes(names, stage)
        self._by_loader, self._training, self._range = [], training, None
        self.reads_training_set = training is not None and "train" in names
        for name, loader in zip(names, loaders, strict=True):
            if name == "train":
                self._by_loader.append(None)
                continue
            groups = loader.dataset.num_groups
            record = EpochRecord(loader.dataset.grouping.to(device), groups)
            # Every process has the whole record once it is committed, so that there is nothing to add up.
            criteria = GroupCriteria(
                groups, self.names, min_count=self.min_count, shrink=self.shrink, sync_on_compute=False
            ).to(device)
            loss = SplitLoss(len(record.group), device)
            keeps = self.of_figures or self.keeps_answers
            answers = RowAnswers(len(record.group), device) if keeps else None
            names_of_figures = tuple(self.of_figures)
            self._by_loader.append(
                EvaluatedSplit(name, prefixes[name], loader.dataset, record, criteria, loss, answers, names_of_figures)
            )
        self.splits = [split for split in self._by_loader if split is not None]

    def record_of(self, loader: int) -> EpochRecord | None:
        """Where to note what is correct in the rows of a loader, given by its place; ``None`` if it is skipped."""
        split = self._by_loader[loader]
        return self._training if split is None else split.record

    def loss_of(self, loader: int) -> SplitLoss | None:
        """Where to note the losses of the rows of a loader, given by its place; ``None`` for the training set."""
        split = self._by_loader[loader]
        return None if split is None else split.loss

    def answers_of(self, loader: int) -> RowAnswers | None:
        """Where to note what is answered for the rows of a loader; ``None`` if only accuracy is asked for."""
        split = self._by_loader[loader]
        return None if split is None else split.answers

    def is_training_pass(self, loader: int | None) -> bool:
        """Whether a loader, given by its place, reads the training set."""
        return loader is not None and loader < len(self._by_loader) and self._by_loader[loader] is None

    def end(self) -> dict[str, Tensor]:
        """Count the rows of each split by group; every process must call it.

        Returns:
            Key (``val_qdcg10``) to value, a float32 scalar, nan where no group has enough samples.
        """
        found: dict[str, Tensor] = {}
        self.values, self.counted = {}, {}
        for split in self.splits:
            split.record.commit()
            self.counted[split.name] = int((split.record.correct != UNKNOWN).sum())
            found.update({key_of(name, split.prefix): value for name, value in split.count().items()})
            if split.answers is not None:
                split.answers.commit()
                of_figures = split.answers.values(
                    list(self.of_figures.values()),
                    split.record,
                    self.labels,
                    self.positive,
                    min_count=self.min_count,
                    shrink=self.shrink,
                )
                found.update({key_of(name, split.prefix): value for name, value in of_figures.items()})
            loss = split.loss.mean()
            if loss is not None and split.loss_key not in self.theirs:
                self.values[split.loss_key] = loss
        self.values.update(found)
        return found

    def leave_to_them(self, trainer: Any, key: str) -> None:
        """A module of a person's own logs this key, which then is theirs, if it is that of a loss of ours.

        Raises:
            InputError: if it is that of a criterion, by which a checkpoint of another figure would be chosen.
        """
        if key in self.theirs:
            return
        if key == TRAIN_LOSS:
            self.theirs.add(key)
        asked = logged_criterion(key)
        is_criterion = asked is not None and asked.name in (*self.names, *self.of_figures)
        if is_criterion or any(key in split.criterion_keys for split in self.splits):
            raise InputError(f"the module logs {key!r}, the name of a criterion of ours; log it under another name")
        if any(key == split.loss_key for split in self.splits):
            self.theirs.add(key)
            self.values.pop(key, None)
            forget_logged(trainer, [key])

    def cut_short(self) -> list[EvaluatedSplit]:
        """The splits of which the last evaluation did not count every row."""
        return [split for split in self.splits if self.counted[split.name] < len(split.dataset)]

    def note_single_outputs(self, output: Tensor) -> None:
        """Note the range of a batch's outputs, ``[B, 1]``, of a network with one; does not wait for the device."""
        if len(output):
            low, high = output.detach().float().aminmax()
            self._range = (low, high) if self._range is None else (low.min(self._range[0]), high.max(self._range[1]))

    def warn_of_probabilities(self) -> None:
        """Warn once a run where the outputs of a network with one look like probabilities and are cut as logits."""
        if self._range is None or "sigmoid" in self._warned:
            return
        low, high = (float(value) for value in self._range)
        if low >= 0 and high <= 1:
            self._warned.add("sigmoid")
            rank_zero_warn(
                f"all outputs of the network, which has one, are from {low:.3g} to {high:.3g}, as if it ended in a "
                "sigmoid; they are taken as logits and cut at 0, so that every row is class 1: leave the sigmoid out, "
                "or override is_correct and predict_step"
            )

    def warn_of_rows_left_out(self) -> None:
        """Warn once a run of each split of which not every row was counted."""
        for split in self.cut_short():
            if split.name not in self._warned:
                self._warned.add(split.name)
                rank_zero_warn(
                    f"{self.counted[split.name]:,} of {len(split.dataset):,} rows of split {split.name!r} were "
                    f"counted, so loggers do not get its {split.prefix}_* criteria; leave out limit_val_batches, "
                    "limit_test_batches, drop_last or the sampler that skips rows, or give a GroupedDataset of fewer"
                )


def warn_of_unlogged(trainer: Any, error: BaseException | None = None) -> None:
    """Warn of keys that were monitored and never logged, and are nearly those of criteria.

    Args:
        trainer: what ran.
        error: what it ended with; only keys that it names are looked at.
    """
    monitors = [getattr(callback, "monitor", None) for callback in trainer.callbacks]
    monitors += [config.monitor for config in trainer.lr_scheduler_configs if config.reduce_on_plateau]
    for key in {key for key in monitors if isinstance(key, str) and key not in trainer.callback_metrics}:
        meant = resembled_key(key)
        if meant is not None and (error is None or key in str(error)):
            rank_zero_warn(f"{key!r} is monitored and was never logged; did you mean {meant!r}?")


def forget_logged(trainer: Any, keys: Collection[str]) -> None:
    """Have Lightning forget how keys were logged: it refuses one that loggers get after some validations only."""
    results = trainer._results
    for name in [name for name, item in results.items() if item.meta.name in keys]:
        del results[name]
