"""Figures of a group beside accuracy, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from drurank.errors import InputError, nearest
from drurank.figures.base import Figure, Outcomes
from drurank.figures.measures import MEASURES, Measure
from drurank.figures.shares import ACCURACY, SHARES, Share

__all__ = [
    "ACCURACY",
    "FIGURES",
    "MEASURES",
    "SHARES",
    "Figure",
    "Measure",
    "Outcomes",
    "Share",
    "figure_named",
    "figure_of",
]

FIGURES: Mapping[str, Share | Measure] = {**SHARES, **MEASURES}
"""Every figure by name."""


def figure_named(name: str) -> Share | Measure:
    """The figure of that name.

    Raises:
        InputError: if there is none; it names the nearest.
    """
    if name not in FIGURES:
        raise InputError(f"there is no figure {name!r}: {nearest(name, [*FIGURES])}")
    return FIGURES[name]


def figure_of(summary: Mapping[str, Any]) -> Figure:
    """The figure that a split's ``summary`` is about."""
    if "figure" not in summary:
        return ACCURACY
    return replace(FIGURES[summary["figure"]], positive=summary.get("positive"))
