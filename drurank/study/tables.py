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
from drurank.noise import noise_floor
from drurank.study.results import Result, Study, stacked
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


@dataclass(frozen=True)
class Cell:
    """A criterion of a method.

    Attributes:
        values: by seed.
        rank: 1 for the best of the column, 2 for the second; of equals the first.
        is_like_best: whether it differs from the best by no more than chance, or is the best.
        is_distinguishable: whether it is the best and every other differs from it by more than chance.
        is_second: whether it is the second to such a one.
    """

    values: tuple[float, ...]
    rank: int
    is_like_best: bool
    is_distinguishable: bool
    is_second: bool

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
        on: str | Sequence[str] | None = None,
        cells: Sequence[str] = CELLS,
        test: Test = "paired",
    ) -> StudyTable:
        """Choose by a criterion and compare.

        Args:
            study: finished candidates.
            by: criterion that chooses setting and epoch of each method and seed, on validation.
            on: split of the cells, or several; that of groups never seen in training, if not given.
            cells: criteria.
            test: what tells the best from the second, ``paired_difference`` or ``bootstrapped_t``.

        Raises:
            InputError: if methods have no seed in common, or test other groups.
        """
        if test not in TESTS:
            raise InputError(f"test is {test!r}: {nearest(test, TESTS)}")
        splits = tuple(on) if on is not None and not isinstance(on, str) else (study.split(on),)
        chosen, seeds, lacking = _of_common_seeds(study.chosen(by))
        found: dict[str, dict[Column, Cell]] = {method: {} for method in chosen}
        floors, alike = [], []
        for split in splits:
            counts = _counts(chosen, by, split)
            for name in cells:
                values = {method: _values(results, by, split, name) for method, results in chosen.items()}
                for method, cell in _column(name, values, counts, test).items():
                    found[method][split, name] = cell
                alike += _undecided((split, name), found, of_several=len(splits) > 1)
            best = min(found, key=lambda method: found[method][split, cells[0]].rank)
            floors.append(_floor(counts[best], cells, best, split))
        remarks = [*lacking, *study.unlike()]
        if alike and len(seeds) == 1:
            remarks.append("Nothing is bold: of one seed, chance in training is not seen.")
        elif alike:
            remarks.append(f"Not distinguishable from the best ({TESTS[test][1]}, 5 %): {'; '.join(alike)}.")
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
        table = RichTable(
            title=escape(self.title), caption=escape("\n".join([self.legend, *self.remarks])), caption_justify="left"
        )
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
        seeds = f"{len(self.seeds)} seed{'s' * (len(self.seeds) > 1)}"
        return f"{shown}, setting and epoch chosen by {self.by} on validation, {seeds}"

    @property
    def legend(self) -> str:
        """How to read the cells."""
        spread = "Mean ± standard deviation over seeds" if len(self.seeds) > 1 else "One seed"
        return f"{spread}; shares in percent; bold: better than every other, then the second is underlined."

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
            cells = [row.method, *self._cells(row, "**{}**", "<u>{}</u>"), _settings(row)]
            lines.append(f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in cells)} |")
        said = [f"- {sentence}" for sentence in (self.legend, *self.remarks)]
        return "\n".join([f"{self.title}:", "", *lines, "", *said]) + "\n"

    __str__ = _markdown

    def _latex(self) -> str:
        lines = [rf"\begin{{tabular}}{{l{'r' * len(self._head)}}}", r"\hline"]
        lines.append(" & ".join(["method", *(_tex(name) for name in self._head)]) + r" \\ \hline")
        for row in self.rows:
            cells = self._cells(row, r"\textbf{{{}}}", r"\underline{{{}}}", r"$\pm$")
            lines.append(" & ".join([_tex(row.method), *cells]) + r" \\")
        lines += [r"\hline", r"\end{tabular}", *(f"% {remark}" for remark in (self.title, self.legend, *self.remarks))]
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


def _of_common_seeds(
    chosen: dict[str, list[Result]],
) -> tuple[dict[str, list[Result]], tuple[int, ...], list[str]]:
    """What is chosen for the seeds that all methods have, these seeds, and sentences about the others."""
    of_method = {method: {result.seed for result in results} for method, results in chosen.items()}
    every, common = set().union(*of_method.values()), set.intersection(*of_method.values())
    lacking = [
        f"Left out: seed {seed}, with which {', '.join(m for m, seeds in of_method.items() if seed not in seeds)} "
        "is not finished."
        for seed in sorted(every - common)
    ]
    if not common:
        raise InputError(f"no seed is finished with every method: {' '.join(lacking)} Run the study to its end")
    kept = {method: [result for result in results if result.seed in common] for method, results in chosen.items()}
    return kept, tuple(sorted(common)), lacking


def _counts(chosen: dict[str, list[Result]], by: str, split: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Correct and seen by method, int64 ``[S, m]`` each."""
    correct, count = stacked([result for results in chosen.values() for result in results], by, split)
    ends = np.cumsum([len(results) for results in chosen.values()])[:-1]
    return dict(zip(chosen, zip(np.split(correct, ends), np.split(count, ends), strict=True), strict=True))


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
    best, of_one_seed = order[0], len(values[order[0]]) == 1
    like = {
        method: of_one_seed or not TESTS[test][0](counts[best], counts[method], name).is_distinguishable
        for method in order[1:]
    }
    is_alone = not any(like.values()) and len(order) > 1
    return {
        m: Cell(values[m], order.index(m) + 1, like.get(m, True), is_alone and m == best, is_alone and m == order[1])
        for m in values
    }


def _undecided(column: Column, found: dict[str, dict[Column, Cell]], *, of_several: bool) -> list[str]:
    by_rank = sorted(found, key=lambda method: found[method][column].rank)
    like = [method for method in by_rank if found[method][column].is_like_best]
    return [f"{' '.join(column) if of_several else column[1]}: {', '.join(like)}"] if len(like) > 1 else []


def _floor(counts: tuple[np.ndarray, np.ndarray], names: Sequence[str], method: str, split: str) -> str:
    """What criteria would be on average, over seeds as well, if all groups were served alike."""
    floors = [
        {name: values.mean() for name, values in noise_floor(count, correct.sum() / count.sum(), names).items()}
        for correct, count in zip(*counts, strict=True)
    ]
    shown = {name: criterion(name).shown(float(np.mean([floor[name] for floor in floors]))) for name in names}
    said = ", ".join(f"{name} {value}" for name, value in shown.items() if criterion(name).has_floor)
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
    return second.format(text) if cell.is_second else text


def _shown(name: str, cell: Cell, between: str = "±") -> str:
    shown = criterion(name).shown
    return f"{shown(cell.mean)}{f' {between} {shown(cell.sd)}' if len(cell.values) > 1 else ''}"
