"""A table of methods side by side in the paper's layout, and how it is written: terminal, Markdown, LaTeX, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from rich.table import Table as RichTable
from rich.text import Text

from drurank.figures.selecting import selectable_criterion
from drurank.markdown import markdown, markdown_table
from drurank.study.latex import latex_table, tex

Format = Literal["markdown", "latex", "csv"]
Column = tuple[str, str]
"""Split and criterion."""


@dataclass(frozen=True)
class Cell:
    """A criterion of a method.

    Attributes:
        values: by seed, or by repeat if there are several (the mean over seeds); ``nan``
            where the criterion says nothing of the groups, as ``tstat`` of groups that are alike.
        rank: 1 for the best of the column, 2 for the second; among equals the first.
        is_like_best: whether it is the best, or chance alone may have put it behind.
        is_distinguishable: whether it is the best and every other differs from it by more than chance.
        is_second: whether it is the second to such a best.
    """

    values: tuple[float, ...]
    rank: int
    is_like_best: bool
    is_distinguishable: bool
    is_second: bool

    @property
    def mean(self) -> float:
        """Mean over seeds or repeats."""
        return float(np.mean(self.values))

    @property
    def sd(self) -> float:
        """Standard deviation over seeds or repeats, 0 for one."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else 0.0


@dataclass(frozen=True)
class Row:
    """A method.

    Attributes:
        method: its name.
        settings: the chosen setting by run.
        epochs: the chosen epoch by run.
        cells: by split and criterion.
    """

    method: str
    settings: tuple[str, ...]
    epochs: tuple[int, ...]
    cells: dict[Column, Cell]

    @property
    def chosen(self) -> str:
        """Settings and epochs, for people."""
        return in_epochs(self.settings, self.epochs)


@dataclass(frozen=True)
class StudyTable:
    """Methods side by side.

    Attributes:
        by: criterion that chose settings and epochs, on validation.
        on: splits that are shown.
        names: criteria that are shown of each.
        runs: repeat and seed of each run, sorted.
        rows: one a method.
        remarks: sentences under the table.
        copying: the words of the command that copies the checkpoint that is named; none where it was not kept.
        verdict: of the remarks, those on which method to take, and why to think twice.
    """

    by: str
    on: tuple[str, ...]
    names: tuple[str, ...]
    runs: tuple[tuple[int, int], ...]
    rows: tuple[Row, ...]
    remarks: tuple[str, ...]
    copying: tuple[str, ...] = ()
    verdict: tuple[str, ...] = ()

    def render(self, kind: Format) -> str:
        """As text, with the remarks where the format has room for them."""
        return {"markdown": self._markdown, "latex": self._latex, "csv": self._csv}[kind]()

    def rich(self) -> RichTable:
        """As a table for the terminal."""
        table = RichTable(
            title=self.title,
            caption="\n".join([self.legend_of("bold, *", "underlined, +"), *self.remarks]),
            caption_justify="left",
        )
        # What does not fit goes on in the next line, since names and settings may differ at their ends alone.
        table.add_column("method", overflow="fold")
        for name in self._head:
            table.add_column(name, justify="right", overflow="fold")
        table.add_column("chosen", overflow="fold")
        for row in self.rows:
            cells = self._cells(row, "[bold]{} *[/bold]", "[u]{} +[/u]")
            table.add_row(row.method, *map(Text.from_markup, cells), row.chosen)
        return table

    @property
    def title(self) -> str:
        """What the table shows."""
        shown = " / ".join(self.names) if len(self.on) > 1 else self.on[0]
        return f"{shown}, setting and epoch chosen by {self.by} on validation, {self._of_runs}"

    @property
    def legend(self) -> str:
        """How to read the cells where text may be bold and underlined."""
        return self.legend_of("bold", "underlined")

    def legend_of(self, best: str, second: str) -> str:
        """How to read the cells, of how the best and the second are marked."""
        over = "splits of the data (each the mean over its seeds)" if len(self.repeats) > 1 else "seeds"
        spread = f"Mean ± standard deviation over {over}" if len(self.runs) > 1 else "One seed"
        marks = ""
        if any(cell.is_distinguishable for row in self.rows for cell in row.cells.values()):
            marks = f"; {best}: significantly better than the other method, which is then {second}"
            if len(self.rows) > 2:
                marks = (
                    f"; {best}: significantly better than every other method; {second}: the second best in that case, "
                    "which is not tested against the third"
                )
        return f"{spread}; shares in percent{marks}."

    @property
    def seeds(self) -> tuple[int, ...]:
        """Sorted."""
        return tuple(sorted({seed for _, seed in self.runs}))

    @property
    def repeats(self) -> tuple[int, ...]:
        """Numbers of the splits of the data, sorted."""
        return tuple(sorted({repeat for repeat, _ in self.runs}))

    @property
    def _of_runs(self) -> str:
        seeds = f"{len(self.seeds)} seed{'s' * (len(self.seeds) > 1)}"
        if len(self.repeats) == 1:
            return seeds
        return f"{len(self.repeats)} splits of the data, {seeds}{' each' if len(self.seeds) > 1 else ''}"

    @property
    def _head(self) -> tuple[str, ...]:
        """Columns: the criteria of one split, or several splits with all criteria in a cell."""
        return self.on if len(self.on) > 1 else self.names

    def _cells(self, row: Row, best: str, second: str, between: str = "±") -> list[str]:
        shown = {
            (split, name): _marked(cell, shown_cell(name, cell, between), best, second)
            for (split, name), cell in row.cells.items()
        }
        if len(self.on) == 1:
            return list(shown.values())
        return [" / ".join(shown[split, name] for name in self.names) for split in self.on]

    def _markdown(self) -> str:
        head = ["method", *map(markdown, self._head), "chosen"]
        rows = [
            [
                markdown(row.method),
                *self._cells(row, "**{}**", "<u>{}</u>"),
                markdown(row.chosen),
            ]
            for row in self.rows
        ]
        return markdown_table(head, rows, self.title, (self.legend, *self.remarks))

    __str__ = _markdown

    def _latex(self) -> str:
        head = ["method", *(tex(name) for name in self._head)]
        rows = [
            [tex(row.method), *self._cells(row, r"\textbf{{{}}}", r"\underline{{{}}}", r"$\pm$")] for row in self.rows
        ]
        return latex_table(head, rows, f"{self.title}. {self.legend}", self.remarks)

    def _csv(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        one, several = len(self.on) == 1, len(self.repeats) > 1
        names = [name if one else f"{split} {name}" for split, name in self.rows[0].cells]
        writer.writerow(["method", "repeat" if several else "seed", "setting", "epoch", *names])
        for row in self.rows:
            for place, unit in enumerate(self.repeats if several else self.seeds):
                runs = (
                    [number for number, (repeat, _) in enumerate(self.runs) if repeat == unit] if several else [place]
                )
                setting = "; ".join(dict.fromkeys(row.settings[run] for run in runs))
                epoch = "; ".join(str(row.epochs[run]) for run in runs)
                values = [cell.values[place] for cell in row.cells.values()]
                shown = ["" if np.isnan(value) else value for value in values]
                writer.writerow([row.method, unit, setting, epoch, *shown])
        return out.getvalue()


def in_epochs(settings: Sequence[str], epochs: Sequence[int]) -> str:
    """Settings by run with their epochs: ``DRU cutoff=5, epochs 1, 0``."""
    if len(set(settings)) == 1:
        return f"{settings[0]}, epoch{'s' * (len(epochs) > 1)} {', '.join(map(str, epochs))}"
    return "; ".join(f"{setting}, epoch {epoch}" for setting, epoch in zip(settings, epochs, strict=True))


def _marked(cell: Cell, text: str, best: str, second: str) -> str:
    if cell.is_distinguishable:
        return best.format(text)
    return second.format(text) if cell.is_second else text


def shown_cell(name: str, cell: Cell, between: str = "±") -> str:
    """Mean and standard deviation of a criterion."""
    shown = selectable_criterion(name).shown
    if np.isnan(cell.mean):
        return "-"
    return f"{shown(cell.mean)}{f' {between} {shown(cell.sd)}' if len(cell.values) > 1 else ''}"
