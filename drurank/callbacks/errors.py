"""The pictures that a test got wrong in the groups that are served worst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from drurank.data import GroupedDataset
from drurank.data.image_rows import picture_of
from drurank.files import replace_file
from drurank.training.answers import class_names
from drurank.training.evaluated import EvaluatedSplit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROUPS, ERRORS = 8, 8
"""Rows and columns of the sheet."""


@dataclass(frozen=True)
class Mistakes:
    """Pictures of a group that were classified wrongly.

    Attributes:
        title: the group, its split and its accuracy.
        places: of their rows in the dataset of the split, the surest mistakes first.
        said: label and prediction of each.
    """

    title: str
    places: Sequence[int]
    said: Sequence[str]


def shows_pictures(dataset: Any) -> bool:
    """Whether the rows of a split are pictures."""
    return isinstance(dataset, GroupedDataset) and picture_of(dataset.dataset, 0) is not None


def worst_mistakes(split: EvaluatedSplit, labels: Sequence[str] | None, min_count: int = 1) -> list[Mistakes]:
    """Mistakes of the groups with the lowest accuracies of a split that has kept its answers.

    Args:
        split: of a test.
        labels: of the classes; their numbers, if not given.
        min_count: groups with fewer rows are left out, as of criteria.
    """
    assert split.answers is not None, "asked for before the test began"
    label, prediction, sure = split.answers.chosen()
    row, group = (of.cpu().numpy() for of in split.record.known_members())
    row, group, right = row[group >= 0], group[group >= 0], split.record.correct.cpu().numpy()
    count = np.bincount(group, minlength=split.dataset.num_groups)
    correct = np.bincount(group[right[row] == 1], minlength=len(count))
    accuracy = np.divide(correct, count, out=np.ones(len(count)), where=count > 0)
    names, found = class_names(labels, max(label.max(), prediction.max()) + 1), []
    order = [group for group in np.lexsort((-count, accuracy)).tolist() if count[group] >= min_count]
    for worst in order[:GROUPS]:
        wrong = row[(group == worst) & (right[row] != 1)]
        wrong = wrong[np.argsort(-sure[wrong], kind="stable")][:ERRORS]
        if len(wrong):
            title = f"{split.dataset.group_names[worst]} ({split.name}): {correct[worst]} of {count[worst]} right"
            said = [f"{names[label[row]]} taken for {_name(names, prediction[row])}" for row in wrong.tolist()]
            found.append(Mistakes(title, wrong.tolist(), said))
    return found


def write_mistakes(
    file: Path, splits: Sequence[EvaluatedSplit], labels: Sequence[str] | None, min_count: int = 1
) -> bool:
    """Draw the mistakes of the worst groups of all splits, a row a group; nothing where there are none.

    Args:
        file: to write, a PNG.
        splits: of a test, of pictures.
        labels: see ``worst_mistakes``.
        min_count: likewise.

    Returns:
        Whether there was something to draw.
    """
    from drurank.report.pictures import save_picture  # here, since matplotlib is slow to import

    found = [(split, one) for split in splits for one in worst_mistakes(split, labels, min_count)]
    if not found:
        return False
    replace_file(file, lambda beside: save_picture(_drawn(found), beside))
    return True


def _drawn(found: Sequence[tuple[EvaluatedSplit, Mistakes]]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.3 * ERRORS, 1.75 * len(found)), dpi=100, layout="constrained")
    parts: Any = figure.subfigures(len(found), 1, squeeze=False)
    for part, (split, mistakes) in zip(parts[:, 0], found, strict=True):
        part.suptitle(mistakes.title, fontsize=9, x=0.01, ha="left")
        for place, ax in enumerate(part.subplots(1, ERRORS)):
            ax.set_axis_off()
            if place < len(mistakes.places):
                picture = picture_of(split.dataset.dataset, mistakes.places[place])
                assert picture is not None
                ax.imshow(picture.transpose(1, 2, 0))
                ax.set_title(mistakes.said[place].replace(" taken for ", "\ntaken for "), fontsize=7)
    return figure


def _name(names: Sequence[str], code: int) -> str:
    return names[code] if code >= 0 else "nothing (nan)"
