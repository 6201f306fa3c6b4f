"""The whole report from any predictions: a table whose rows have a label, a prediction and a group."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from drurank.criteria import criterion, default_criteria
from drurank.errors import check_count
from drurank.figures import Measure, figure_named
from drurank.files import refuse_existing
from drurank.report.answers import Answers, counted_splits
from drurank.report.cells import counts_of_column, named_splits, refuse_lacking, refuse_on_alone
from drurank.report.counts import SplitCounts
from drurank.report.scores import with_scores
from drurank.report.served import Served
from drurank.report.write import REPORT_FILES, figure_files, print_report, write_report
from drurank.tabular.columns import Column, Names, refuse_unknown
from drurank.tabular.dropping import complete_rows, said_dropped
from drurank.tabular.reading import read_table
from drurank.tabular.several import check_head
from drurank.terminal import say
from drurank.words import as_names


def report_predictions(
    predictions: str,
    label: str = "label",
    prediction: str = "prediction",
    group: Names = "group",
    split: str | None = None,
    on: Names = None,
    labels: Names = None,
    criteria: Names = None,
    figure: Names = None,
    positive: str | None = None,
    score: str | None = None,
    count: str | None = None,
    min_count: int = 1,
    shrink: bool = False,
    drop_missing: bool = False,
    output: str | None = None,
    html: str | None = None,
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
        predictions: the table, one row per sample, or per count of samples.
        label: column of the right class.
        prediction: column of the predicted class.
        group: column of the group, or several (with commas); their combinations are then the groups.
        split: column of the split; each split is reported by itself. Without it all rows are reported together.
        on: splits to report (with commas), as ood_test; all, if not given.
        labels: all classes (with commas), needed if a predicted class is the label of no row.
        criteria: criteria by name (with commas); those that every run logs, if not given.
        figure: further figures than accuracy (with commas): error, selection_rate, tpr, fnr, tnr, fpr, precision, npv,
            off_by_more_than_one, f1, balanced_accuracy, mae, and of probabilities auroc, log_loss, brier,
            calibration_error; each with its criteria, gap and ratio among them.
        positive: label of the positive class, which most of these need; 1, if the labels are 0 and 1.
        score: column of the probability of the positive class (of any score, for auroc), for figures that need it; else
            they read the column probabilities or the columns probability_<label> that predict writes.
        count: column of how many samples each row stands for, of a table of counts by group, label and prediction; each
            row is one, if not given.
        min_count: criteria leave out groups with fewer rows; the tables still list them.
        shrink: criteria use each group's posterior mean accuracy, given all groups.
        drop_missing: whether rows without a label or a group are left out, and counted in the report; else they are
            refused.
        output: folder to write to; <name of the table>_report beside the table, if not given.
        html: file of the report as one page that needs nothing beside it, if given.
        overwrite: whether files of an earlier report there are replaced.
        delimiter: character between the cells of a CSV or TSV file, if not the one its name implies.
        text_encoding: encoding of a text file, if not UTF-8.

    Returns:
        The content of report.json.

    Raises:
        InputError: if a column or a split is missing, a cell that is needed is blank, a prediction is not among the
            labels, a count is none, or a file exists.
    """
    names = _checked(criteria, min_count, on, split)
    figures = [figure_named(name) for name in as_names(figure)]
    others = [prediction, *as_names(group), *(name for name in (split, count, score) if name)]
    check = partial(refuse_lacking, predictions, label=label, others=others)
    check_head(predictions, check, delimiter=delimiter, text_encoding=text_encoding)
    folder = _folder(predictions, output, html, overwrite, [one.name for one in figures])
    table = _read(predictions, check, delimiter, text_encoding)
    table, places, dropped = _complete(predictions, table, [label], as_names(group), drop_missing)
    times = None if count is None else counts_of_column(Column(predictions, count, table[count], places))
    answers = Answers.of_table(
        predictions, table, label, prediction, as_names(group), split, as_names(labels), positive, times, places
    )
    if score or any(isinstance(one, Measure) and one.needs for one in figures):
        answers = with_scores(answers, predictions, table, score)
    only = named_splits(on, split, list(answers.rows))
    splits, further = answers.counts(only=only), {one.name: answers.of(one, only) for one in figures}
    about: dict[str, Any] = {
        "predictions": predictions,
        "label": label,
        "prediction": prediction,
        "group": as_names(group),
    }
    is_told = positive is not None or any(one.figure.positive for each in further.values() for one in each)
    about |= _given(
        split=split,
        on=as_names(on),
        labels=as_names(labels),
        criteria=as_names(criteria),
        figure=[one.name for one in figures],
        positive=answers.positive if is_told else None,
        score=score,
        count=count,
        delimiter=delimiter,
        text_encoding=text_encoding,
    )
    about |= dropped
    _say_of_split(table, split)
    report = write_report(folder, splits, names, min_count=min_count, shrink=shrink, about=about, figures=further)
    print_report(report, splits, folder, further)
    _write_page(html, report, splits, further)
    return report


def report_counts(
    counts: str,
    group: Names = "group",
    count: str = "count",
    correct: str = "correct",
    split: str | None = None,
    on: Names = None,
    criteria: Names = None,
    min_count: int = 1,
    shrink: bool = False,
    drop_missing: bool = False,
    output: str | None = None,
    html: str | None = None,
    overwrite: bool = False,
    delimiter: str | None = None,
    text_encoding: str | None = None,
) -> dict[str, Any]:
    """Report how well groups are served by a table of counts, as one GROUP BY of any database gives it.

    Writes and prints what a report of predictions does, but for what needs classes. For other figures than accuracy
    give counts by group, label and prediction as ``predictions``, with ``count``.

    Args:
        counts: the table, a row per group, or several whose counts are added.
        group: column of the group, or several (with commas); their combinations are then the groups.
        count: column of the number of samples.
        correct: column of how many of them were classified correctly.
        split: column of the split; each split is reported by itself. Without it all rows are reported together.
        on: splits to report (with commas), as ood_test; all, if not given.
        criteria: criteria by name (with commas); those that every run logs, if not given.
        min_count: criteria leave out groups with fewer samples; the tables still list them.
        shrink: criteria use each group's posterior mean accuracy, given all groups.
        drop_missing: whether rows without a group are left out, and counted in the report; else they are refused.
        output: folder to write to; <name of the table>_report beside the table, if not given.
        html: file of the report as one page that needs nothing beside it, if given.
        overwrite: whether files of an earlier report there are replaced.
        delimiter: character between the cells of a CSV or TSV file, if not the one its name implies.
        text_encoding: encoding of a text file, if not UTF-8.

    Returns:
        The content of report.json.

    Raises:
        InputError: if a column or a split is missing, a cell is blank or no count, more are correct than there are, or
            a file exists.
    """
    names = _checked(criteria, min_count, on, split)
    columns = [*as_names(group), count, correct, *([split] if split else [])]
    check = partial(refuse_unknown, counts, names=columns)
    check_head(counts, check, delimiter=delimiter, text_encoding=text_encoding)
    folder = _folder(counts, output, html, overwrite)
    table = _read(counts, check, delimiter, text_encoding)
    table, places, dropped = _complete(counts, table, [], as_names(group), drop_missing)
    every = counted_splits(counts, table, as_names(group), count, correct, split, places)
    only = named_splits(on, split, [one.split for one in every])
    splits = [one for one in every if one.split in only]
    about: dict[str, Any] = {"counts": counts, "count": count, "correct": correct, "group": as_names(group)}
    about |= _given(
        split=split, on=as_names(on), criteria=as_names(criteria), delimiter=delimiter, text_encoding=text_encoding
    )
    about |= dropped
    _say_of_split(table, split)
    report = write_report(folder, splits, names, min_count=min_count, shrink=shrink, about=about)
    print_report(report, splits, folder)
    _write_page(html, report, splits)
    return report


def _checked(criteria: Names, min_count: int, on: Names, split: str | None) -> tuple[str, ...]:
    """Names of the criteria, of which each is known; what else needs no row is looked at too."""
    names = tuple(as_names(criteria)) or default_criteria()
    for name in names:
        criterion(name)
    check_count("min_count", min_count)
    refuse_on_alone(on, split)
    return names


def _folder(source: str, output: str | None, html: str | None, overwrite: bool, figures: Sequence[str] = ()) -> Path:
    """Where to write, with nothing there that is replaced unasked."""
    path = Path(os.path.expanduser(source)).absolute()
    folder = Path(os.path.expanduser(output)) if output else path.with_name(f"{path.stem}_report")
    files = [*REPORT_FILES, *(name for figure in figures for name in figure_files(figure))]
    pages = [Path(os.path.expanduser(html))] if html else []
    refuse_existing([*(folder / name for name in files), *pages], overwrite=overwrite, inputs=[str(path)])
    return folder


def _read(path: str, check: Callable[[pa.Table], None], delimiter: str | None, text_encoding: str | None) -> pa.Table:
    """The table, with what it needs."""
    table = read_table(path, delimiter=delimiter, text_encoding=text_encoding)
    check(table)
    return table


def _given(**options: str | list[str] | None) -> dict[str, Any]:
    """The options that were given, for the top of the report."""
    return {name: value for name, value in options.items() if value}


def _complete(
    path: str, table: pa.Table, label: Sequence[str], group: Sequence[str], drop: bool
) -> tuple[pa.Table, np.ndarray | None, dict[str, Any]]:
    """The rows that have a label and a group, their places if some are left out, and what the report says of these."""
    labels, groups = ([Column(path, name, table[name]) for name in names] for names in (label, group))
    kept, blank = complete_rows(path, labels, groups, table.num_rows, drop=drop)
    if blank is None:
        return table, None, {}
    dropped = {"rows": table.num_rows - len(kept), "blank": blank}
    say(f"{said_dropped(dropped)}.")
    return table.take(pa.array(kept)), kept, {"dropped": dropped}


def _write_page(
    html: str | None,
    report: Mapping[str, Any],
    splits: Sequence[SplitCounts],
    figures: Mapping[str, Sequence[Served]] | None = None,
) -> None:
    if html is None:
        return
    from drurank.report.page import write_page  # here, since few reports need jinja2

    source = Path(str(report.get("predictions", report.get("counts")))).name
    write_page(Path(os.path.expanduser(html)), report, splits, figures, title=f"How groups are served: {source}")
    say(f"Page: {html}")


def _say_of_split(table: pa.Table, split: str | None) -> None:
    if split is None and "split" in table.column_names:
        say("Note: all rows are reported together; to report each split by itself, give split=split.")
