"""The whole report from anybody's predictions: a table with a label, a prediction and a group by row."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from drurank.criteria import DEFAULT_CRITERIA, criterion
from drurank.errors import InputError, is_count, nearest
from drurank.report.counts import SplitCounts
from drurank.report.write import print_report, write_report
from drurank.tabular.coding import code_groups
from drurank.tabular.columns import Column, Names, as_names, refuse_unknown, to_number
from drurank.tabular.reading import read_table
from drurank.tabular.rules.cells import blank_cells

ALL = "all"
ORDER = ("train", "ood_val", "val", "id_val", "ood_test", "test", "id_test")


def report_predictions(
    predictions: str,
    label: str = "label",
    prediction: str = "prediction",
    group: Names = "group",
    split: str | None = None,
    labels: Names = None,
    criteria: Names = None,
    min_count: int = 1,
    shrink: bool = False,
    output: str | None = None,
    delimiter: str | None = None,
    text_encoding: str | None = None,
) -> dict[str, Any]:
    """Report how well groups are served by predictions that any program made; nothing is trained.

    Writes groups.csv, groups.parquet, report.json and groups.png into a folder and shows the criteria and the worst and
    best groups. Labels and predictions are compared as numbers where all are numbers, else as text.

    Args:
        predictions: the table, a row a sample.
        label: column of the right class.
        prediction: column of the predicted class.
        group: column of the group, or several (with commas), whose combinations are the groups.
        split: column of the split, each of which is reported by itself; without it all rows are one.
        labels: all classes (with commas), where a prediction may be one that no row has as its label.
        criteria: criteria by name (with commas); the nine that runs log, if not given.
        min_count: criteria leave out groups with fewer rows; the tables list them all the same.
        shrink: take as a group's accuracy its posterior mean given those of all groups, in the criteria.
        output: folder to write to; the name of the table with _report, beside it, if not given.
        delimiter: what cuts the cells of a CSV or TSV file, if not what its name says.
        text_encoding: encoding of a text file, if not UTF-8.

    Returns:
        The content of report.json.

    Raises:
        InputError: if the table cannot be used: a column is missing, a cell blank, or a prediction none of the labels.
    """
    names = tuple(as_names(criteria)) or DEFAULT_CRITERIA
    for name in names:
        criterion(name)
    if not is_count(min_count):
        raise InputError(f"min_count is {min_count!r}; give an int of 1 or more")
    table = read_table(predictions, delimiter=delimiter, text_encoding=text_encoding)

    def column(name: str) -> Column:
        refuse_unknown(predictions, table, [name])
        return Column(predictions, name, table[name])

    right = rightness(column(label), column(prediction), as_names(labels))
    every, columns = np.arange(table.num_rows), [column(name) for name in as_names(group)]
    for finding in blank_cells(columns, "group", every):
        raise finding.error(predictions)
    code, groups = code_groups(columns, every)
    splits = count_by_split(right, code, groups, None if split is None else column(split))
    source = Path(os.path.expanduser(predictions)).absolute()
    folder = Path(os.path.expanduser(output)) if output else source.with_name(f"{source.stem}_report")
    if split is None and "split" in table.column_names:
        print("Note: all rows are taken together; to report the parts apart, give --split split.")
    about = {"predictions": predictions, "label": label, "prediction": prediction, "group": as_names(group)}
    report = write_report(folder, splits, names, min_count=min_count, shrink=shrink, about=about)
    print_report(report, splits, folder)
    return report


def rightness(label: Column, prediction: Column, labels: Sequence[str]) -> np.ndarray:
    """Whether each row is classified rightly, bool ``[n]``.

    Args:
        label: the right classes.
        prediction: the predicted ones.
        labels: further classes that may be predicted.

    Raises:
        InputError: if a cell is blank, or a prediction is none of the labels.
    """
    for column, what in ((label, "label"), (prediction, "prediction")):
        if (column.codes < 0).any():
            row = int(np.argmax(column.codes < 0))
            raise column.error(row, f"is no {what}; give each row one, or leave the row out")
    known = [*label.texts, *labels]
    key: Callable[[str], Any] = (
        _exact if all(np.isfinite(to_number(text)) for text in [*known, *prediction.texts]) else str
    )
    place = {key(text): number for number, text in reversed(list(enumerate(known)))}
    predicted = np.array([place.get(key(text), -1) for text in prediction.texts])[prediction.codes]
    if (predicted < 0).any():
        row = int(np.argmax(predicted < 0))
        raise prediction.error(
            row,
            f"is none of the labels; {nearest(prediction.texts[prediction.codes[row]], known)}; give the predicted "
            "class in each row, or name all classes with --labels",
        )
    true = np.array([place[key(text)] for text in label.texts])[label.codes]
    found: np.ndarray = predicted == true
    return found


def _exact(text: str) -> Decimal:
    return Decimal(text.strip())


def count_by_split(
    right: np.ndarray, code: np.ndarray, groups: Sequence[str], split: Column | None
) -> list[SplitCounts]:
    """Counts by group of each split, that of groups never seen before that of others.

    Args:
        right: whether each row is classified rightly, bool ``[n]``.
        code: group of each row, int64 ``[n]``.
        groups: name by group.
        split: the split of each row.

    Raises:
        InputError: if a row has no split.
    """
    if split is None:
        return [_count(ALL, right, code, groups)]
    if (split.codes < 0).any():
        raise split.error(int(np.argmax(split.codes < 0)), "is no split; give each row one, or leave the row out")
    order = {name: place for place, name in enumerate(ORDER)}
    names = sorted(split.texts, key=lambda name: (order.get(name, len(order)), name))
    rows = {name: split.codes == split.texts.index(name) for name in names}
    return [_count(name, right[here], code[here], groups) for name, here in rows.items()]


def _count(split: str, right: np.ndarray, code: np.ndarray, groups: Sequence[str]) -> SplitCounts:
    count = np.bincount(code, minlength=len(groups))
    correct = np.bincount(code[right], minlength=len(groups))
    return SplitCounts.of_some(split, groups, correct, count, None)
