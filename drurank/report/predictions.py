"""The whole report from any predictions: a table whose rows have a label, a prediction and a group."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from drurank.criteria import criterion, default_criteria
from drurank.errors import InputError, check_count, nearest
from drurank.figures import ACCURACY, Figure, Outcomes, figure_named, positive_class
from drurank.files import refuse_existing
from drurank.report.classes import ClassCounts
from drurank.report.counts import ALL, SplitCounts
from drurank.report.write import REPORT_FILES, figure_files, print_report, write_report
from drurank.splits import TEST, TRAINING, VALIDATION
from drurank.tabular.coding import code_groups
from drurank.tabular.columns import Column, Names, refuse_unknown, to_number
from drurank.tabular.reading import read_head, read_table
from drurank.tabular.rules.cells import blank_cells
from drurank.terminal import say
from drurank.words import as_names

ORDER = (*TRAINING, *VALIDATION, *TEST)


def report_predictions(
    predictions: str,
    label: str = "label",
    prediction: str = "prediction",
    group: Names = "group",
    split: str | None = None,
    labels: Names = None,
    criteria: Names = None,
    figure: Names = None,
    positive: str | None = None,
    min_count: int = 1,
    shrink: bool = False,
    output: str | None = None,
    overwrite: bool = False,
    delimiter: str | None = None,
    text_encoding: str | None = None,
) -> dict[str, Any]:
    """Report how well groups are served by predictions that any program made; nothing is trained.

    Writes groups.csv, groups.parquet, report.json and groups.png to a folder, and prints the criteria and the worst and
    best groups. Labels and predictions are compared as numbers if all of them are numbers, else as text. The best
    constant answer is the commonest class of the rows of a split ``train``, or without one that of each split itself.

    Args:
        predictions: the table, one row per sample.
        label: column of the right class.
        prediction: column of the predicted class.
        group: column of the group, or several (with commas); their combinations are then the groups.
        split: column of the split; each split is reported by itself. Without it all rows are reported together.
        labels: all classes (with commas), needed if a predicted class is the label of no row.
        criteria: criteria by name (with commas); those that every run logs, if not given.
        figure: further figures than accuracy (with commas): error, selection_rate, tpr, fnr, tnr, fpr, precision, npv,
            off_by_more_than_one; each with its criteria, gap and ratio among them.
        positive: label of the positive class, which most of these need; 1, if the labels are 0 and 1.
        min_count: criteria leave out groups with fewer rows; the tables still list them.
        shrink: criteria use each group's posterior mean accuracy, given all groups.
        output: folder to write to; <name of the table>_report beside the table, if not given.
        overwrite: whether files of an earlier report there are replaced.
        delimiter: character between the cells of a CSV or TSV file, if not the one its name implies.
        text_encoding: encoding of a text file, if not UTF-8.

    Returns:
        The content of report.json.

    Raises:
        InputError: if a column is missing, a cell is blank, a prediction is not among the labels, or a file exists.
    """
    names = tuple(as_names(criteria)) or default_criteria()
    for name in names:
        criterion(name)
    figures = [figure_named(name) for name in as_names(figure)]
    check_count("min_count", min_count)
    source = Path(os.path.expanduser(predictions)).absolute()
    folder = Path(os.path.expanduser(output)) if output else source.with_name(f"{source.stem}_report")
    files = [*REPORT_FILES, *(name for one in figures for name in figure_files(one.name))]
    refuse_existing((folder / name for name in files), overwrite=overwrite, inputs=[str(source)])
    head = read_head(predictions, delimiter=delimiter, text_encoding=text_encoding)
    if head is not None:
        refuse_unknown(predictions, head, [label, prediction, *as_names(group), *([split] if split else [])])
    table = read_table(predictions, delimiter=delimiter, text_encoding=text_encoding)
    answers = Answers.of_table(
        predictions, table, label, prediction, as_names(group), split, as_names(labels), positive
    )
    splits, further = answers.counts(), {one.name: answers.counts(one) for one in figures}
    if split is None and "split" in table.column_names:
        say("Note: all rows are reported together; to report each split by itself, give split=split.")
    about = {"predictions": predictions, "label": label, "prediction": prediction, "group": as_names(group)}
    report = write_report(folder, splits, names, min_count=min_count, shrink=shrink, about=about, figures=further)
    print_report(report, splits, folder, further)
    return report


@dataclass(frozen=True)
class Answers:
    """What was predicted of rows, their groups and splits.

    Attributes:
        names: label of each class by number.
        outcomes: right and predicted class of each row.
        code: group of each row, int64 ``[n]``.
        groups: name by group.
        split: the split of each row; ``None`` where all rows are one.
    """

    names: Sequence[str]
    outcomes: Outcomes
    code: np.ndarray
    groups: Sequence[str]
    split: Column | None = None

    @classmethod
    def of_table(
        cls,
        path: str,
        table: pa.Table,
        label: str,
        prediction: str,
        group: Sequence[str],
        split: str | None,
        labels: Sequence[str] = (),
        positive: str | None = None,
    ) -> Answers:
        """Compare predictions with labels.

        Args:
            path: what the table is called in messages.
            table: a row for each prediction.
            label: column of the right class.
            prediction: column of the predicted class.
            group: columns whose combinations are the groups.
            split: column of the split; all rows are one, if not given.
            labels: further classes that may be predicted.
            positive: label of the positive class, for figures that need one.

        Raises:
            InputError: if a column is missing, a cell is blank, or a prediction or the positive class is no label.
        """

        def column(name: str) -> Column:
            refuse_unknown(path, table, [name])
            return Column(path, name, table[name])

        right, predicted = column(label), column(prediction)
        known = [*right.texts, *labels]
        true, said = _numbered(right, predicted, known)
        values = np.array([to_number(text) for text in known])
        numbers = values if np.isfinite(values).all() else None
        columns = [column(name) for name in group]
        _refuse_blank(columns, "group")
        code, groups = code_groups(columns, np.arange(table.num_rows))
        outcomes = Outcomes(true, said, positive_class(known, positive), numbers)
        splits = None if split is None else column(split)
        if splits is not None:
            _refuse_blank([splits], "split")
        return cls(known, outcomes, code, groups, splits)

    def counts(self, figure: Figure = ACCURACY) -> list[SplitCounts]:
        """Counts by group of each split, splits with unseen groups first; of accuracy by class too.

        A split is left out where the figure is about none of its rows.

        Raises:
            InputError: if it is about none at all, or needs what these rows do not have.
        """
        figure.check(self.outcomes)
        about, good = figure.about(self.outcomes), figure.went_well(self.outcomes)
        if not about.any():
            raise InputError(f"figure {figure.name!r}: there are {figure.lacks}; leave it out")
        rows = self._rows_by_split()
        train = rows.get("train")
        commonest = None if train is None else int(np.argmax(np.bincount(self.outcomes.label[train])))
        found = [self._count(name, figure, here, about & here, good, commonest) for name, here in rows.items()]
        return [split for split in found if len(split.groups)]

    def _rows_by_split(self) -> dict[str, np.ndarray]:
        if self.split is None:
            return {ALL: np.ones(len(self.code), dtype=bool)}
        order = {name: place for place, name in enumerate(ORDER)}
        names = sorted(self.split.texts, key=lambda name: (order.get(name, len(order)), name))
        return {name: self.split.codes == self.split.texts.index(name) for name in names}

    def _count(
        self, split: str, figure: Figure, here: np.ndarray, about: np.ndarray, good: np.ndarray, commonest: int | None
    ) -> SplitCounts:
        count, correct, rows = (
            np.bincount(self.code[some], minlength=len(self.groups)) for some in (about, about & good, here)
        )
        label = self.outcomes.label[here]
        classes = ClassCounts.of_rows(label, good[here], self.names, commonest) if figure is ACCURACY else None
        found = SplitCounts.of_some(split, self.groups, correct, count, classes=classes)
        without = tuple(self.groups[int(place)] for place in np.flatnonzero((rows > 0) & (count == 0)))
        return replace(found, figure=figure, without=without)


def _numbered(label: Column, prediction: Column, known: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Class numbers of labels and predictions, int64 ``[n]`` each; equal numbers are one class however written."""
    for column, what in ((label, "label"), (prediction, "prediction")):
        _refuse_blank([column], what)
    key: Callable[[str], Any] = (
        _exact if all(np.isfinite(to_number(text)) for text in [*known, *prediction.texts]) else str
    )
    place = {key(text): number for number, text in reversed(list(enumerate(known)))}
    predicted = np.array([place.get(key(text), -1) for text in prediction.texts])[prediction.codes]
    if (predicted < 0).any():
        row = int(np.argmax(predicted < 0))
        raise prediction.error(
            row,
            f"is not one of the labels; {nearest(prediction.texts[prediction.codes[row]], known)}; give the predicted "
            "class in each row, or name all classes, as labels='0,1,2'",
        )
    return np.array([place[key(text)] for text in label.texts])[label.codes], predicted


def _refuse_blank(columns: Sequence[Column], what: str) -> None:
    for finding in blank_cells(columns, what, np.arange(len(columns[0].codes)) if columns else np.zeros(0, np.int64)):
        raise finding.error(columns[0].path)


def _exact(text: str) -> Decimal:
    return Decimal(text.strip())
