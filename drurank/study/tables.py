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
from drurank.errors import InputError, nearest
from drurank.noise import criteria_noise
from drurank.spread import fit_spread
from drurank.study.results import Result, Study
from drurank.study.statistics import bootstrapped_t, paired_difference

CELLS = ("average", "p10", "worst")
TESTS = {
    "paired": (paired_difference, "paired bootstrap of seeds and groups"),
    "t": (bootstrapped_t, "bootstrapped t-test over groups"),
}
"""What tells the best from the second, and how it is named under a table."""
Test = Literal["paired", "t"]
Format = Literal["markdown", "latex", "csv"]
Column = tuple[str, str]
"""Split and criterion."""
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
        cells: by split and criterion.
    """

    method: str
    settings: tuple[str, ...]
    epochs: tuple[int, ...]
    cells: dict[Column, Cell]


@dataclass(frozen=True)
class StudyTable:
    """Methods side by side.

    Attributes:
        by: criterion that chose settings and epochs, on validation.
        on: splits that the cells are of.
        names: criteria of each.
        seeds: in their order.
        rows: by method.
        remarks: sentences that belong under the table.
    """

    by: str
    on: tuple[str, ...]
    names: tuple[str, ...]
    seeds: tuple[int, ...]
    rows: tuple[Row, ...]
    remarks: tuple[str, ...]

    @classmethod
    def of(
        cls,
        study: Study,
        by: str,
        *,
        on: str | Sequence[str] = "ood_test",
        cells: Sequence[str] = CELLS,
        test: Test = "paired",
    ) -> StudyTable:
        """Choose by a criterion and compare.

        Args:
            study: finished candidates.
            by: criterion that chooses setting and epoch of each method and seed, on validation.
            on: split of the cells, or several.
            cells: criteria.
            test: what tells the best from the second, ``paired_difference`` or ``bootstrapped_t``.

        Raises:
            InputError: if a method lacks a seed that another has, or tests other groups.
        """
        if test not in TESTS:
            raise InputError(f"test is {test!r}: {nearest(test, TESTS)}")
        splits = (on,) if isinstance(on, str) else tuple(on)
        chosen = study.chosen(by)
        seeds = _seeds(study, chosen)
        found: dict[str, dict[Column, Cell]] = {method: {} for method in chosen}
        floors, alike = [], []
        for split in splits:
            counts = {method: _stacked(results, by, split) for method, results in chosen.items()}
            for name in cells:
                values = {method: _values(results, by, split, name) for method, results in chosen.items()}
                for method, cell in _column(name, values, counts, test).items():
                    found[method][split, name] = cell
                alike += _undecided((split, name), found, of_several=len(splits) > 1)
            best = min(found, key=lambda method: found[method][split, cells[0]].rank)
            floors.append(_floor(counts[best], cells, best, split))
        remarks = list(study.unlike())
        if alike:
            remarks.append(f"Best and second are not distinguishable ({TESTS[test][1]}, 5 %): {'; '.join(alike)}.")
        rows = tuple(
            Row(
                method,
                tuple(result.setting for result in results),
                tuple(int(result.manifest["selection"][by]["epoch"]) for result in results),
                found[method],
            )
            for method, results in chosen.items()
        )
        return cls(by, splits, tuple(cells), seeds, rows, (*remarks, *floors))

    def render(self, kind: Format) -> str:
        """As text of a format, remarks included where it has room for them."""
        return {"markdown": self._markdown, "latex": self._latex, "csv": self._csv}[kind]()

    def rich(self) -> RichTable:
        """For the terminal."""
        table = RichTable(title=escape(self.title), caption=escape("\n".join(self.remarks)), caption_justify="left")
        table.add_column("method")
        for name in self._head:
            table.add_column(escape(name), justify="right")
        table.add_column("chosen")
        for row in self.rows:
            table.add_row(escape(row.method), *self._cells(row, "[bold]{}[/bold]", "[u]{}[/u]"), escape(_settings(row)))
        return table

    @property
    def title(self) -> str:
        """What it shows."""
        shown = f"{' / '.join(self.names)}" if len(self.on) > 1 else self.on[0]
        return f"{shown}, chosen by {self.by} on validation, {len(self.seeds)} seeds"

    @property
    def _head(self) -> tuple[str, ...]:
        """Of one split its criteria, of several the splits, with all criteria in a cell."""
        return self.on if len(self.on) > 1 else self.names

    def _cells(self, row: Row, best: str, second: str, between: str = "±") -> list[str]:
        shown = {
            (split, name): _marked(cell, _shown(name, cell, between), best, second)
            for (split, name), cell in row.cells.items()
        }
        if len(self.on) == 1:
            return list(shown.values())
        return [" / ".join(shown[split, name] for name in self.names) for split in self.on]

    def _markdown(self) -> str:
        head = ["method", *self._head, "chosen"]
        lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
        for row in self.rows:
            lines.append(f"| {' | '.join([row.method, *self._cells(row, '**{}**', '<u>{}</u>'), _settings(row)])} |")
        return "\n".join([f"{self.title}:", "", *lines, "", *self.remarks]) + "\n"

    def _latex(self) -> str:
        lines = [rf"\begin{{tabular}}{{l{'r' * len(self._head)}}}", r"\hline"]
        lines.append(" & ".join(["method", *(_tex(name) for name in self._head)]) + r" \\ \hline")
        for row in self.rows:
            cells = self._cells(row, r"\textbf{{{}}}", r"\underline{{{}}}", r"$\pm$")
            lines.append(" & ".join([_tex(row.method), *cells]) + r" \\")
        lines += [r"\hline", r"\end{tabular}", *(f"% {remark}" for remark in (self.title, *self.remarks))]
        return "\n".join(lines) + "\n"

    def _csv(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        one = len(self.on) == 1
        names = [name if one else f"{split} {name}" for split, name in self.rows[0].cells]
        writer.writerow(["method", "seed", "setting", "epoch", *names])
        for row in self.rows:
            for place, seed in enumerate(self.seeds):
                values = [cell.values[place] for cell in row.cells.values()]
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
    name: str,
    values: dict[str, tuple[float, ...]],
    counts: dict[str, tuple[np.ndarray, np.ndarray]],
    test: Test,
) -> dict[str, Cell]:
    sign = 1 if criterion(name).mode == "max" else -1
    order = sorted(values, key=lambda method: -sign * float(np.mean(values[method])))
    real = False
    if len(order) > 1:
        real = TESTS[test][0](counts[order[0]], counts[order[1]], name).is_distinguishable
    return {m: Cell(values[m], order.index(m) + 1, real and m == order[0]) for m in values}


def _undecided(column: Column, found: dict[str, dict[Column, Cell]], *, of_several: bool) -> list[str]:
    ranked = {cells[column].rank: method for method, cells in found.items()}
    if len(ranked) < 2 or found[ranked[1]][column].is_distinguishable:
        return []
    return [f"{' '.join(column) if of_several else column[1]} ({ranked[1]}, {ranked[2]})"]


def _floor(counts: tuple[np.ndarray, np.ndarray], names: Sequence[str], method: str, split: str) -> str:
    correct, count = counts[0][0], counts[1][0]
    noise = criteria_noise(correct, count, list(names), spread=fit_spread(correct, count))
    said = ", ".join(f"{name} {_number(name, noise[name].floor)}" for name in names)
    return f"By chance alone, if {method} served every group of {split} alike: {said}."


def _settings(row: Row) -> str:
    if len(set(row.settings)) == 1:
        return f"{row.settings[0]}, epochs {', '.join(map(str, row.epochs))}"
    return "; ".join(f"{setting}, epoch {epoch}" for setting, epoch in zip(row.settings, row.epochs, strict=True))


def _tex(word: str) -> str:
    return "".join(f"\\{letter}" if letter in "_%&#$" else letter for letter in word)


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
