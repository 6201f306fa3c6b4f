"""The whole report from any predictions: a table whose rows have a label, a prediction and a group."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from drurank.criteria import criterion, default_criteria
from drurank.errors import check_choice, check_count
from drurank.figures import Measure, figure_named
from drurank.files import refuse_existing
from drurank.report.answers import Answers, counted_splits
from drurank.report.card import write_card
from drurank.report.cells import counts_of_column, named_splits, refuse_lacking
from drurank.report.page import Section, write_page
from drurank.report.scores import with_scores
from drurank.report.write import REPORT_FILES, figure_files, print_report, write_report
from drurank.run_folder.layout import CARD_FILE
from drurank.tabular.columns import Column, Names, refuse_unknown
from drurank.tabular.dropping import complete_rows, said_dropped
from drurank.tabular.reading import read_table
from drurank.tabular.several import check_head
from drurank.terminal import say
from drurank.words import as_names, joined

By = Literal["crossed", "each"]
NO_LETTER, LONGEST = r"\W+", 40
"""What the name of a folder has no part of, and the most letters of a column's name in it."""


def report_predictions(
    predictions: str,
    label: str = "label",
    prediction: str = "prediction",
    group: Names = "group",
    by: By = "crossed",
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
    card: bool = False,
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
        group: column of the group, or several (with commas).
        by: how several columns make groups: crossed, by their combinations; or each, by every column for itself and
            then by their combinations, each in a folder of its own.
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
        card: whether model_card.md is written too: the report as a section of a model card, as the Hugging Face hub has
            them.
        overwrite: whether files of an earlier report there are replaced.
        delimiter: character between the cells of a CSV or TSV file, if not the one its name implies.
        text_encoding: encoding of a text file, if not UTF-8.

    Returns:
        The content of report.json; with ``by="each"`` by the columns, as ``sex`` and ``sex,age``.

    Raises:
        InputError: if a column or a split is missing, a cell that is needed is blank, a prediction is not among the
            labels, a count is none, or a file exists.
    """
    names = _checked(criteria, min_count)
    figures = [figure_named(name) for name in as_names(figure)]
    check_choice("by", by, By)
    groupings = _groupings(as_names(group), by)
    folder = _folder(
        predictions, output, html, card, overwrite, [one.name for one in figures], list(groupings.values())
    )
    others = [prediction, *as_names(group), *(name for name in (split, count, score) if name)]
    check = partial(refuse_lacking, predictions, label=label, others=others)
    table = _read(predictions, check, delimiter, text_encoding)
    table, places, dropped = _complete(predictions, table, [label], as_names(group), drop_missing)
    times = None if count is None else counts_of_column(Column(predictions, count, table[count], places))
    _say_of_split(table, split)
    sections = []
    for columns, place in groupings.items():
        answers = Answers.of_table(
            predictions, table, label, prediction, list(columns), split, as_names(labels), positive, times, places
        )
        if score or any(isinstance(one, Measure) and one.needs for one in figures):
            answers = with_scores(answers, predictions, table, score)
        only = named_splits(on, split, list(answers.rows))
        splits, further = answers.counts(only=only), {one.name: answers.of(one, only) for one in figures}
        about: dict[str, Any] = {
            "predictions": predictions,
            "label": label,
            "prediction": prediction,
            "group": list(columns),
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
        report = write_report(
            folder / place, splits, names, min_count=min_count, shrink=shrink, about=about, figures=further
        )
        by_columns = joined(columns) if len(groupings) > 1 else ""
        sections.append(Section(report, splits, further, by_columns))
        if by_columns:
            say(f"\nBy {by_columns}:")
        print_report(report, splits, folder / place, further, explains=len(sections) == 1)
        if card:
            say(f"Model card: {write_card(folder / place, report, splits, further)}")
    _write_page(html, sections)
    return (
        {",".join(columns): one.report for columns, one in zip(groupings, sections, strict=True)}
        if by == "each"
        else dict(sections[0].report)
    )


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
    card: bool = False,
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
        card: whether model_card.md is written too: the report as a section of a model card, as the Hugging Face hub has
            them.
        overwrite: whether files of an earlier report there are replaced.
        delimiter: character between the cells of a CSV or TSV file, if not the one its name implies.
        text_encoding: encoding of a text file, if not UTF-8.

    Returns:
        The content of report.json.

    Raises:
        InputError: if a column or a split is missing, a cell is blank or no count, more are correct than there are, or
            a file exists.
    """
    names, folder = _checked(criteria, min_count), _folder(counts, output, html, card, overwrite)
    columns = [*as_names(group), count, correct, *([split] if split else [])]
    table = _read(counts, partial(refuse_unknown, counts, names=columns), delimiter, text_encoding)
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
    _write_page(html, [Section(report, splits)])
    if card:
        say(f"Model card: {write_card(folder, report, splits)}")
    return report


def _checked(criteria: Names, min_count: int) -> tuple[str, ...]:
    """Names of the criteria, of which each is known."""
    names = tuple(as_names(criteria)) or default_criteria()
    for name in names:
        criterion(name)
    check_count("min_count", min_count)
    return names


def _folder(
    source: str,
    output: str | None,
    html: str | None,
    card: bool,
    overwrite: bool,
    figures: Sequence[str] = (),
    places: Sequence[str] = ("",),
) -> Path:
    """Where to write, with nothing there that is replaced unasked."""
    path = Path(os.path.expanduser(source)).absolute()
    folder = Path(os.path.expanduser(output)) if output else path.with_name(f"{path.stem}_report")
    files = [*REPORT_FILES, *(name for figure in figures for name in figure_files(figure))]
    files += [CARD_FILE] if card else []
    pages = [Path(os.path.expanduser(html))] if html else []
    written = [folder / place / name for place in places for name in files]
    refuse_existing([*written, *pages], overwrite=overwrite, inputs=[str(path)])
    return folder


def _read(path: str, check: Callable[[pa.Table], None], delimiter: str | None, text_encoding: str | None) -> pa.Table:
    """The table, once its head is known to have what it needs."""
    check_head(path, check, delimiter=delimiter, text_encoding=text_encoding)
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


def _groupings(columns: Sequence[str], by: By) -> dict[tuple[str, ...], str]:
    """Columns that make groups together, to the folder in that of the report."""
    if by == "crossed" or len(columns) < 2:
        return {tuple(columns): ""}
    found: dict[tuple[str, ...], str] = {}
    for number, name in enumerate(columns, start=1):
        found[(name,)] = f"by_{number}_{re.sub(NO_LETTER, '_', name)[:LONGEST]}"
    return {**found, tuple(columns): "crossed"}


def _write_page(html: str | None, sections: Sequence[Section]) -> None:
    if html is None:
        return
    report = sections[0].report
    source = Path(str(report.get("predictions", report.get("counts")))).name
    write_page(Path(os.path.expanduser(html)), sections, title=f"How groups are served: {source}")
    say(f"Page: {html}")


def _say_of_split(table: pa.Table, split: str | None) -> None:
    if split is None and "split" in table.column_names:
        say("Note: all rows are reported together; to report each split by itself, give split=split.")
