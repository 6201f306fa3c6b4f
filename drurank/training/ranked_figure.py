"""By which figure a method ranks the training groups."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from drurank.checks import NONE
from drurank.data import GroupedDataset, Memberships
from drurank.errors import InputError, check_choice
from drurank.figures.base import which_positive
from drurank.figures.classes import class_numbers, positive_of
from drurank.training.answers import class_names
from drurank.training.record import EpochRecord

RankFigure = Literal["accuracy", "fnr", "fpr", "loss"]
OF_POSITIVE = {"fnr": True, "fpr": False}
"""Whether a rate is about the rows of the positive class, or about the others."""


def check_rank_figure(figure: RankFigure, accuracy_from: str, shrink: bool) -> None:
    """Refuse a figure that the other options do not allow.

    Raises:
        InputError: if there is no such figure, or losses are to be shrunk or taken while the network trains.
    """
    check_choice("rank_by_figure", figure, RankFigure)
    if figure == "loss" and accuracy_from == "training":
        raise InputError(
            "rank_by_figure='loss' reads losses of the pass after an epoch; give accuracy_from='evaluation'"
        )
    if figure == "loss" and shrink:
        raise InputError("shrink=True shrinks accuracies, and rank_by_figure='loss' ranks by losses; give one of them")


def ranked_group(
    train: GroupedDataset, figure: RankFigure, labels: list[str] | None, positive: str | None
) -> Tensor | Memberships:
    """Group of each training row that the figure is about, integer ``[n]``, else -1; or the memberships of these rows.

    Args:
        train: the training rows.
        figure: by which groups are ranked.
        labels: of the classes, in the order of their numbers; these numbers, if not given.
        positive: label of the positive class; 1 of classes 0 and 1, if not given.

    Raises:
        InputError: if it is about a class, and the rows' labels or the positive class are not known.
    """
    if figure not in OF_POSITIVE:
        return train.grouping
    held = train.held_labels()
    if held is None:
        raise InputError(
            f"rank_by_figure={figure!r} is about rows of one class, and the training set does not hold its labels in "
            "memory, as a TensorDataset or drurank's data does; rank by 'accuracy' or 'loss'"
        )
    names = class_names(labels, int(held.max()) + 1)
    number = positive_of(names, positive, class_numbers(names))
    if number is None:
        raise InputError(f"rank_by_figure={figure!r} needs a positive class; {which_positive(names)}")
    about = (held.cpu() == number) == OF_POSITIVE[figure]
    if train.memberships is not None:
        return train.memberships.where(about)
    return torch.where(about, train.group, NONE)


def ranked_value(record: EpochRecord, figure: RankFigure, shrink: bool) -> Tensor:
    """How well groups are served by the figure, float ``[..., m]``; nan where nothing is known of one."""
    return -record.group_loss() if figure == "loss" else record.group_accuracy(shrink=shrink)[0]


def said_figure(figure: RankFigure) -> str:
    """What the title of a method says of the figure, as `` by fnr``; nothing of accuracy."""
    return "" if figure == "accuracy" else f" by {figure}"
