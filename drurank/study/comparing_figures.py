"""Other figures than accuracy of models that are compared: those that are shares of the same rows for every model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from drurank.criteria import FIGURE_MARK
from drurank.errors import InputError
from drurank.figures import Share, figure_named
from drurank.report.answers import Answers
from drurank.study.chosen import Chosen
from drurank.study.figures import COMPARED
from drurank.tabular.columns import Names
from drurank.words import as_names

FURTHER = "gap"
"""Criterion that is compared of each figure, beside those of accuracy."""


def figures_to_compare(figure: Names) -> list[Share]:
    """The figures of these names.

    Args:
        figure: names (with commas).

    Raises:
        InputError: if there is no such figure, or it is not of the same rows for every model.
    """
    found = []
    for name in as_names(figure):
        one = figure_named(name)
        if not isinstance(one, Share) or one.is_about_answers:
            why = "is of other rows with each model" if isinstance(one, Share) else "is no share of rows"
            raise InputError(f"figure {name!r} {why}, so no two are compared by it; give one of {', '.join(COMPARED)}")
        found.append(one)
    return found


def cells_of(figures: Sequence[Share], cells: Sequence[str]) -> list[str]:
    """Criteria of figures, as ``worst-fpr``.

    Args:
        figures: which ones.
        cells: criteria of accuracy.
    """
    names = list(dict.fromkeys([*(name for name in cells if FIGURE_MARK not in name), FURTHER]))
    return [f"{name}{FIGURE_MARK}{figure.name}" for figure in figures for name in figure.computed(names)]


def counted_figures_of(
    answers: Sequence[Answers], names: tuple[str, ...], figures: Sequence[Share], split: str, min_count: int
) -> dict[str, Chosen]:
    """The counts of figures by which models are compared on a split.

    Args:
        answers: of each model, of the same rows.
        names: of the models.
        figures: which ones.
        split: name of the split.
        min_count: criteria leave out groups with fewer rows that the figure is about.

    Raises:
        InputError: if a figure is about none of the rows, or needs a positive class.
    """
    found = {}
    for figure in figures:
        counted = [each.counts(figure, [split])[0] for each in answers]
        correct = np.stack([one.correct for one in counted])[:, None]
        groups = tuple(counted[0].groups)
        found[figure.name] = Chosen(names, ((0, 0),), (correct,), (counted[0].count,), min_count, groups=groups)
    return found
