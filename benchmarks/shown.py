"""How benchmarks of time show what they measured: one table, of figures and of ratios that have a limit."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Row:
    """A figure, and what it is compared with.

    Attributes:
        what: what was measured.
        figure: the value.
        unit: its unit, such as ms.
        to: what it is compared with.
        ratio: the figure over that of the other.
        limit: the most that the ratio is to be; none, if not given.
    """

    what: str
    figure: float
    unit: str
    to: str = ""
    ratio: float | None = None
    limit: float | None = None

    def cells(self) -> list[str]:
        """The row as text."""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}" if self.ratio >= 0.1 else f"{self.ratio:.2g}"
        limit = "" if self.limit is None else f"{self.limit:.2f}"
        met = (
            "" if self.ratio is None or self.limit is None else ("yes" if round(self.ratio, 2) <= self.limit else "no")
        )
        return [self.what, f"{self.figure:.3g} {self.unit}", self.to, ratio, limit, met]


HEAD = ["", "", "compared with", "ratio", "target", "met"]


def markdown(rows: Sequence[Row]) -> str:
    """A Markdown table."""
    lines = [HEAD, ["---"] * len(HEAD), *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def print_rows(rows: Sequence[Row]) -> None:
    """Print the table."""
    print(markdown(rows), flush=True)


def be_quiet() -> None:
    """One thread, and nothing said about the fits."""
    warnings.simplefilter("ignore")
    for name in ("lightning.pytorch", "lightning.fabric", "lightning.pytorch.utilities.rank_zero"):
        logging.getLogger(name).setLevel(logging.ERROR)
    torch.set_num_threads(1)
