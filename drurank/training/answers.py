"""What was answered for each row of a split, for figures that need more than whether it is right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from drurank.checks import NONE
from drurank.errors import InputError
from drurank.figures import Measure, Outcomes, Share
from drurank.figures.classes import class_numbers, class_values, positive_of
from drurank.figures.selecting import FigureCriterion
from drurank.metrics.inputs import predicted_class
from drurank.processes import max_over_processes_
from drurank.training.contract import class_probabilities
from drurank.training.record import UNKNOWN, EpochRecord


class RowAnswers:
    """Label, predicted class and probabilities by row, so that a row that a sampler repeats counts once.

    Costs 8 bytes a row on the device, and 4 for each class.

    Args:
        rows: number of rows ``n``.
        device: where the tables are to live.
    """

    def __init__(self, rows: int, device: torch.device) -> None:
        self._classes = torch.full((2, rows), UNKNOWN, dtype=torch.int32, device=device)
        self._probability = torch.full((rows, 0), float(UNKNOWN), device=device)

    def write(self, index: Tensor, label: Tensor, output: Tensor) -> None:
        """Note a batch; does not wait for the device.

        Args:
            index: the rows' places in the dataset, int64 ``[B]``.
            label: right class, int64 ``[B]``.
            output: logits, float ``[B, C]``; of class 1 of two where ``C`` is 1.

        Raises:
            InputError: if labels are no classes, or there is not one row of scores for each.
        """
        if label.ndim != 1 or label.is_floating_point() or output.ndim != 2 or not output.is_floating_point():
            raise InputError(
                f"labels are {label.dtype} {list(label.shape)} and outputs {output.dtype} {list(output.shape)}; other "
                "figures than accuracy need one class a row, int64 [B], and a score for each class, float [B, C]"
            )
        output = output.detach()
        chosen, is_finite = predicted_class(output, threshold=0)
        probability = class_probabilities(output)
        self._make(probability.shape[1])
        self._classes[0].index_copy_(0, index, label.to(torch.int32))
        self._classes[1].index_copy_(0, index, torch.where(is_finite, chosen, NONE).to(torch.int32))
        self._probability.index_copy_(0, index, probability)

    def _make(self, classes: int) -> None:
        if self._probability.shape[1] == 0:
            self._probability = self._probability.new_full((len(self._probability), classes), UNKNOWN)

    def commit(self) -> None:
        """Combine what all processes noted; every process must call it."""
        max_over_processes_(self._classes)
        classes = torch.tensor(self._probability.shape[1], device=self._probability.device)
        self._make(int(max_over_processes_(classes)))  # one that read no row does not know how many there are
        max_over_processes_(self._probability)

    def chosen(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Right and predicted class of each row, int64 ``[n]``, -1 where there is none, and how probable it is."""
        label, prediction = self._classes.cpu().numpy().astype(np.int64)
        label, prediction = np.maximum(label, -1), np.maximum(prediction, -1)
        probability = self._probability.cpu().numpy()
        return label, prediction, probability[np.arange(len(label)), np.maximum(prediction, 0)]

    def outcomes(self, rows: np.ndarray, labels: Sequence[str] | None, positive: str | None) -> Outcomes:
        """What was predicted of some rows.

        Args:
            rows: which, bool ``[n]``; all of them must have been read.
            labels: of the classes, in the order of their numbers; these numbers, if not given.
            positive: label of the positive class; 1 of the labels 0 and 1, if not given.

        Raises:
            InputError: if the positive class is no label, or the network gave something that is nan or infinite.
        """
        label, prediction = self._classes.cpu().numpy().astype(np.int64)[:, rows]
        probability = self._probability.cpu().numpy()[rows].astype(np.float64)
        broken = int((prediction < 0).sum())
        if broken:
            raise InputError(
                f"the network gave nan or infinite scores for {broken:,} of {len(label):,} rows, so other figures than "
                "accuracy have no value; leave them out to go on"
            )
        return _outcomes(label, prediction, probability, class_names(labels, probability.shape[1]), positive)

    def values(
        self,
        criteria: Sequence[FigureCriterion],
        record: EpochRecord,
        labels: Sequence[str] | None,
        positive: str | None,
        *,
        min_count: int,
        shrink: bool,
    ) -> dict[str, Tensor]:
        """Criteria of other figures than accuracy, float32 scalars by name; ``nan`` where no group has enough rows.

        Args:
            criteria: which.
            record: in which groups each row is, and which rows were read.
            labels: see ``outcomes``.
            positive: see ``outcomes``.
            min_count: leave out groups with fewer rows that the figure is about.
            shrink: take the posterior mean of each group.

        Raises:
            InputError: if a figure needs what is not there.
        """
        counts = record.counted().cpu().numpy()
        whole, names = self.outcomes(counts, labels, positive), class_names(labels, self._probability.shape[1])
        place, code = places_of_members(record)
        rows, once = (whole.at(place), whole) if record.overlap else (whole, None)
        found = {}
        for one in criteria:
            one.figure.check(whole, names)
            value = one.of_rows(rows, code, record.num_groups, whole=once, min_count=min_count, shrink=shrink)
            found[one.name] = torch.tensor(value, dtype=torch.float32, device=record.group.device)
        return found


def places_of_members(record: EpochRecord) -> tuple[np.ndarray, np.ndarray]:
    """Place among the rows that count, and group, of each row once for each of its groups, int64 ``[p]``."""
    row, group = (of.cpu().numpy() for of in record.known_members())
    place = np.cumsum(record.counted().cpu().numpy()) - 1
    return place[row[group >= 0]], group[group >= 0]


def class_names(labels: Sequence[str] | None, classes: int) -> Sequence[str]:
    """Label of each class by number; its number, where there are no labels."""
    return labels or [str(number) for number in range(classes)]


def check_classes(figure: Share | Measure, labels: Sequence[str] | None, positive: str | None) -> None:
    """Refuse, before anything is read, a figure that classes do not allow, where their labels are known.

    Raises:
        InputError: if it needs a positive class, or classes that are numbers, and there are none.
    """
    if labels is None:
        return
    none, wide = np.zeros(0, np.int64), np.zeros((0, len(labels)))
    figure.check(_outcomes(none, none, wide, labels, positive), labels)


def _outcomes(
    label: np.ndarray, prediction: np.ndarray, probability: np.ndarray, names: Sequence[str], positive: str | None
) -> Outcomes:
    number = positive_of(names, positive, class_numbers(names))
    score = None if number is None or number >= probability.shape[1] else probability[:, number]
    return Outcomes(label, prediction, number, class_values(names), len(names), score, probability)
