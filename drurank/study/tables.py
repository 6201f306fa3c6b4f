"""The paper's layout: a row a method, cells with criteria on test, bold only where the difference is real."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from rich.markup import escape
from rich.table import Table as RichTable

from drurank.criteria import criterion
from drurank.errors import InputError
from drurank.noise import criteria_noise
from drurank.spread import fit_spread
from drurank.study.results import Result, Study
from drurank.study.statistics import Difference, paired_difference

CELLS = ("average", "p10", "worst")
Format = Literal["markdown", "latex", "csv"]
OF_SHARES = ("overall", "average", "worst", "p")
"""Criteria, and beginnings of their names, that are shares and shown in percent."""


@dataclass(frozen=True)
class Cell:
    """A criterion of a method.

    Attributes:
        values: by seed.
        rank: 1 for the best of the column, 2 for the second; of equals the first.
        is_distinguishable: whether it is the best and the second differs from it by more than chance.
    """

    values: tuple[float, ...]
    rank: int
    is_distinguishable: bool

    @property
    def mean(self) -> float:
        """Over seeds."""
        return float(np.mean(self.values))

    @property
    def sd(self) -> float:
        """Standard deviation over seeds, 0 of one."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else 0.0


@dataclass(frozen=True)
class Row:
    """A method.

    Attributes:
        method: its name.
        settings: the setting that was chosen by seed.
        epochs: the epoch that was chosen by seed.
        cells: by criterion.
    """

    method: str
    settings: tuple[str, ...]
    epochs: tuple[int, ...]
    cells: dict[str, Cell]


@dataclass(frozen=True)
class StudyTable:
    """Methods side by side.

    Attributes:
        by: criterion that chose settings and epochs, on validation.
        on: split that the cells are of.
        seeds: in their order.
        rows: by method.
        remarks: sentences that belong under the table.
    """

    by: str
    on: str
    seeds: tuple[int, ...]
    rows: tuple[Row, ...]
    remarks: tuple[str, ...]

    @classmethod
    def of(cls, study: Study, by: str, *, on: str = "ood_test", cells: Sequence[str] = CELLS) -> StudyTable:
        """Choose by a criterion and compare.

        Args:
            study: finished candidates.
            by: criterion that chooses setting and epoch of each method and seed, on validation.
            on: split of the cells.
            cells: criteria.

        Raises:
            InputError: if a method lacks a seed that another has, or tests other groups.
        """
        chosen = study.chosen(by)
        seeds = _seeds(study, chosen)
        counts = {method: _stacked(results, by, on) for method, results in chosen.items()}
        found: dict[str, dict[str, Cell]] = {method: {} for method in chosen}
        remarks = list(study.unlike())
        for name in cells:
            for method, cell in _column(name, {m: _values(r, by, on, name) for m, r in chosen.items()}, counts).items():
                found[method][name] = cell
            remarks += _undecided(name, found)
        rows = tuple(
            Row(
                method,
                tuple(result.setting for result in results),
                tuple(int(result.manifest["selection"][by]["epoch"]) for result in results),
                found[method],
            )
            for method, results in chosen.items()
        )
        best = min(rows, key=lambda row: row.cells[cells[0]].rank).method
        remarks.append(_floor(counts[best], cells, best))
        return cls(by, on, seeds, rows, tuple(remarks))

    def render(self, kind: Format) -> str:
        """As text of a format, remarks included where it has room for them."""
        return {"markdown": self._markdown, "latex": self._latex, "csv": self._csv}[kind]()

    def rich(self) -> RichTable:
        """For the terminal."""
        table = RichTable(title=escape(self.title), caption=escape("\n".join(self.remarks)), caption_justify="left")
        table.add_column("method")
        for name in self._names:
            table.add_column(escape(name), justify="right")
        table.add_column("chosen")
        for row in self.rows:
            table.add_row(escape(row.method), *self._cells(row, "[bold]{}[/bold]", "[u]{}[/u]"), escape(_settings(row)))
        return table

    @property
    def title(self) -> str:
        """What it shows."""
        return f"{self.on}, chosen by {self.by} on validation, {len(self.seeds)} seeds"

    @property
    def _names(self) -> list[str]:
        return list(self.rows[0].cells)

    def _cells(self, row: Row, best: str, second: str, between: str = "±") -> list[str]:
        return [_marked(cell, _shown(name, cell, between), best, second) for name, cell in row.cells.items()]

    def _markdown(self) -> str:
        head = ["method", *self._names, "chosen"]
        lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
        for row in self.rows:
            lines.append(f"| {' | '.join([row.method, *self._cells(row, '**{}**', '<u>{}</u>'), _settings(row)])} |")
        return "\n".join([f"{self.title}:", "", *lines, "", *self.remarks]) + "\n"

    def _latex(self) -> str:
        lines = [rf"\begin{{tabular}}{{l{'r' * len(self._names)}}}", r"\hline"]
        lines.append(" & ".join(["method", *self._names]) + r" \\ \hline")
        for row in self.rows:
            cells = self._cells(row, r"\textbf{{{}}}", r"\underline{{{}}}", r"$\pm$")
            lines.append(" & ".join([row.method.replace("_", r"\_"), *cells]) + r" \\")
        lines += [r"\hline", r"\end{tabular}", *(f"% {remark}" for remark in (self.title, *self.remarks))]
        return "\n".join(lines) + "\n"

    def _csv(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["method", "seed", "setting", "epoch", *self._names])
        for row in self.rows:
            for place, seed in enumerate(self.seeds):
                values = [row.cells[name].values[place] for name in self._names]
                writer.writerow([row.method, seed, row.settings[place], row.epochs[place], *values])
        return out.getvalue()


def _seeds(study: Study, chosen: dict[str, list[Result]]) -> tuple[int, ...]:
    every = tuple(sorted({result.seed for result in study}))
    for method, results in chosen.items():
        lacking = sorted(set(every) - {result.seed for result in results})
        if lacking:
            raise InputError(f"{method} has no finished candidate with seed {lacking[0]}, as others; finish the study")
    return every


def _stacked(results: list[Result], by: str, on: str) -> tuple[np.ndarray, np.ndarray]:
    """Correct and seen by seed and group, int64 ``[S, m]`` each."""
    found = [result.counts(by, on) for result in results]
    for one, result in zip(found, results, strict=True):
        if one.groups != found[0].groups:
            raise InputError(
                f"{result.folder} has other groups of {on} than {results[0].folder}; compare like with like"
            )
    return np.stack([one.correct for one in found]), np.stack([one.count for one in found])


def _values(results: list[Result], by: str, on: str, name: str) -> tuple[float, ...]:
    return tuple(result.counts(by, on).value(name) for result in results)


def _column(
    name: str, values: dict[str, tuple[float, ...]], counts: dict[str, tuple[np.ndarray, np.ndarray]]
) -> dict[str, Cell]:
    sign = 1 if criterion(name).mode == "max" else -1
    order = sorted(values, key=lambda method: -sign * float(np.mean(values[method])))
    real = False
    if len(order) > 1:
        real = _difference(counts, order[0], order[1], name).is_distinguishable
    return {m: Cell(values[m], order.index(m) + 1, real and m == order[0]) for m in values}


def _difference(counts: dict[str, tuple[np.ndarray, np.ndarray]], one: str, other: str, name: str) -> Difference:
    return paired_difference(counts[one], counts[other], name)


def _undecided(name: str, found: dict[str, dict[str, Cell]]) -> list[str]:
    ranked = {cells[name].rank: method for method, cells in found.items()}
    if len(ranked) < 2 or found[ranked[1]][name].is_distinguishable:
        return []
    return [f"{name}: {ranked[1]} and {ranked[2]} are not distinguishable (paired bootstrap of seeds and groups, 5 %)."]


def _floor(counts: tuple[np.ndarray, np.ndarray], names: Sequence[str], method: str) -> str:
    correct, count = counts[0][0], counts[1][0]
    noise = criteria_noise(correct, count, list(names), spread=fit_spread(correct, count))
    said = ", ".join(f"{name} {_number(name, noise[name].floor)}" for name in names)
    return f"By chance alone, if {method} served every group of these sizes alike: {said}."


def _settings(row: Row) -> str:
    if len(set(row.settings)) == 1:
        return f"{row.settings[0]}, epochs {', '.join(map(str, row.epochs))}"
    return "; ".join(f"{setting}, epoch {epoch}" for setting, epoch in zip(row.settings, row.epochs, strict=True))


def _marked(cell: Cell, text: str, best: str, second: str) -> str:
    if cell.is_distinguishable:
        return best.format(text)
    return second.format(text) if cell.rank == 2 else text


def _shown(name: str, cell: Cell, between: str = "±") -> str:
    spread = f" {between} {_number(name, cell.sd)}" if len(cell.values) > 1 else ""
    return f"{_number(name, cell.mean)}{spread}"


def _number(name: str, value: float) -> str:
    share = name in OF_SHARES or (name.startswith("p") and name[1:].isdigit())
    return f"{100 * value:.1f}" if share else f"{value:.3f}"
