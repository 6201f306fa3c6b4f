"""The whole report from any predictions: a table whose rows have a label, a prediction and a group."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from drurank.criteria import criterion, default_criteria
from drurank.errors import check_count, nearest
from drurank.files import refuse_existing
from drurank.report.classes import ClassCounts
from drurank.report.counts import ALL, SplitCounts
from drurank.report.write import REPORT_FILES, print_report, write_report
from drurank.run_folder.layout import SEEN
from drurank.splits import TEST, TRAINING, VALIDATION
from drurank.tabular.coding import code_groups
from drurank.tabular.columns import Column, Names, refuse_unknown, to_number
from drurank.tabular.reading import read_table
from drurank.tabular.rules.cells import blank_cells
from drurank.tabular.several import check_head
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
    Which groups training has is what a column ``seen_in_training`` says, or else the rows of a split ``train``.

    Args:
        predictions: the table, one row per sample.
        label: column of the right class.
        prediction: column of the predicted class.
        group: column of the group, or several (with commas); their combinations are then the groups.
        split: column of the split; each split is reported by itself. Without it all rows are reported together.
        labels: all classes (with commas), needed if a predicted class is the label of no row.
        criteria: criteria by name (with commas); those that every run logs, if not given.
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
    check_count("min_count", min_count)
    source = Path(os.path.expanduser(predictions)).absolute()
    folder = Path(os.path.expanduser(output)) if output else source.with_name(f"{source.stem}_report")
    refuse_existing((folder / name for name in REPORT_FILES), overwrite=overwrite, inputs=[str(source)])
    others = [prediction, *as_names(group), *([split] if split else [])]
    check = partial(refuse_lacking, predictions, label=label, others=others)
    check_head(predictions, check, delimiter=delimiter, text_encoding=text_encoding)
    table = read_table(predictions, delimiter=delimiter, text_encoding=text_encoding)
    check(table)
    splits = counts_of_table(predictions, table, label, prediction, as_names(group), split, as_names(labels))
    if split is None and "split" in table.column_names:
        say("Note: all rows are reported together; to report each split by itself, give split=split.")
    about = {"predictions": predictions, "label": label, "prediction": prediction, "group": as_names(group)}
    report = write_report(folder, splits, names, min_count=min_count, shrink=shrink, about=about)
    print_report(report, splits, folder)
    return report


def refuse_lacking(path: str, table: pa.Table, label: str, others: Sequence[str]) -> None:
    """Refuse a table of predictions without the right classes, or without another column that is needed.

    Raises:
        InputError: naming the first.
    """
    refuse_unknown(
        path,
        table,
        [label],
        "; without the right class of each row nothing can be scored: name its column as label=..., or predict rows "
        "that have labels",
    )
    refuse_unknown(path, table, others)


@dataclass(frozen=True)
class Answers:
    """The right class of each row, and whether it was predicted.

    Attributes:
        names: label of each class by number.
        label: class number of each row, int64 ``[n]``.
        right: whether each row is classified correctly, bool ``[n]``.
    """

    names: Sequence[str]
    label: np.ndarray
    right: np.ndarray

    @classmethod
    def of(cls, label: Column, prediction: Column, labels: Sequence[str]) -> Answers:
        """Compare predictions with labels.

        Args:
            label: the right classes.
            prediction: the predicted ones.
            labels: further classes that may be predicted.

        Raises:
            InputError: if a cell is blank, or a prediction is not among the labels.
        """
        known = [*label.texts, *labels]
        true, predicted = _numbered(label, prediction, known)
        return cls(known, true, true == predicted)


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


def counts_of_table(
    path: str,
    table: pa.Table,
    label: str,
    prediction: str,
    group: Sequence[str],
    split: str | None,
    labels: Sequence[str] = (),
) -> list[SplitCounts]:
    """Counts by group and by class of each split of a table of predictions.

    Args:
        path: what the table is called in messages.
        table: a row for each prediction.
        label: column of the right class.
        prediction: column of the predicted class.
        group: columns whose combinations are the groups.
        split: column of the split; all rows are one, if not given.
        labels: further classes that may be predicted.

    Returns:
        Splits with unseen groups first.

    Raises:
        InputError: if a column is missing, a cell is blank, or a prediction is not among the labels.
    """

    def column(name: str) -> Column:
        refuse_unknown(path, table, [name])
        return Column(path, name, table[name])

    answers = Answers.of(column(label), column(prediction), labels)
    columns = [column(name) for name in group]
    _refuse_blank(columns, "group")
    code, groups = code_groups(columns, np.arange(table.num_rows))
    splits = None if split is None else column(split)
    seen = _said_seen(column(SEEN), code, len(groups)) if group and SEEN in table.column_names else None
    if seen is None and splits is not None and "train" in splits.texts:
        seen = np.isin(np.arange(len(groups)), code[splits.codes == splits.texts.index("train")])
    return count_by_split(answers, code, groups, splits, seen)


def _said_seen(column: Column, code: np.ndarray, groups: int) -> np.ndarray | None:
    """What a column says of each group, bool ``[m]``; ``None`` where it says nothing of one, or two things."""
    words = {"true": True, "false": False}
    other = [text for text in column.texts if text.lower() not in words]
    if other:
        row = int(np.argmax(column.codes == column.texts.index(other[0])))
        raise column.error(row, "is neither true nor false; write one of them, or give the column another name")
    row_says = np.array([*(words[text.lower()] for text in column.texts), False])[column.codes]
    yes = np.bincount(code[row_says], minlength=groups)
    no = np.bincount(code[~row_says & (column.codes >= 0)], minlength=groups)
    return yes > 0 if ((yes > 0) != (no > 0)).all() else None


def count_by_split(
    answers: Answers, code: np.ndarray, groups: Sequence[str], split: Column | None, seen: np.ndarray | None = None
) -> list[SplitCounts]:
    """Counts by group and by class of each split, splits with unseen groups first.

    Args:
        answers: of each row.
        code: group of each row, int64 ``[n]``.
        groups: name by group.
        split: the split of each row.
        seen: whether training has each group, bool ``[m]``, where that is known.

    Raises:
        InputError: if a row has no split.
    """
    if split is None:
        return [_count(ALL, answers, code, groups, np.ones(len(code), dtype=bool), None, seen)]
    _refuse_blank([split], "split")
    order = {name: place for place, name in enumerate(ORDER)}
    names = sorted(split.texts, key=lambda name: (order.get(name, len(order)), name))
    rows = {name: split.codes == split.texts.index(name) for name in names}
    commonest = int(np.argmax(np.bincount(answers.label[rows["train"]]))) if "train" in rows else None
    return [_count(name, answers, code, groups, here, commonest, seen) for name, here in rows.items()]


def _count(
    split: str,
    answers: Answers,
    code: np.ndarray,
    groups: Sequence[str],
    here: np.ndarray,
    commonest: int | None,
    seen: np.ndarray | None,
) -> SplitCounts:
    count = np.bincount(code[here], minlength=len(groups))
    correct = np.bincount(code[here & answers.right], minlength=len(groups))
    classes = ClassCounts.of_rows(answers.label[here], answers.right[here], answers.names, commonest)
    return replace(
        SplitCounts.of_some(split, groups, correct, count, classes=classes),
        seen=None if seen is None else seen[np.flatnonzero(count)],
    )
