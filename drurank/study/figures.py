"""Criteria of other figures than accuracy in a study: all of them choose, and those of counts are compared too."""

from __future__ import annotations

from collections.abc import Sequence

from drurank.figures import ACCURACY, SHARES, Share
from drurank.figures.selecting import figure_in

COMPARED = tuple(name for name, figure in SHARES.items() if figure is not ACCURACY and not figure.is_about_answers)
"""Figures by which models are compared: shares of rows that are the same for every one."""


def counted_figures(names: Sequence[str]) -> list[str]:
    """Figures of criteria of which a study keeps counts by group on test.

    They are shares of rows that are the same for every model. A precision is of other rows with each, and an AUROC of
    none that can be counted.

    Args:
        names: criteria.
    """
    found = dict.fromkeys(map(figure_in, names))
    return [one.name for one in found if isinstance(one, Share) and not one.is_about_answers]
