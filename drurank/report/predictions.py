"""The whole report from any predictions: a table whose rows have a label, a prediction and a group."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

from drurank.errors import InputError, check_choice
from drurank.figures import Measure, Share, figure_named
from drurank.report.answers import Answers
from drurank.report.asked import (
    checked,
    complete_table,
    folder_for,
    options_given,
    read_checked,
    say_of_split,
    write_page_of,
)
from drurank.report.card import write_card
from drurank.report.cells import counts_of_column, named_splits, refuse_lacking, weights_of_column
from drurank.report.overlapping import overlapping
from drurank.report.page import Section
from drurank.report.scores import with_scores
from drurank.report.threshold import Threshold, said_threshold
from drurank.report.write import print_report, write_report
from drurank.tabular.columns import Names
from drurank.tabular.memberships import is_lists
from drurank.tabular.several import check_head
from drurank.terminal import say
from drurank.words import as_names, joined, numbered_part

By = Literal["crossed", "each", "overlapping"]


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
    threshold: str | None = None,
    threshold_on: str | None = None,
    count: str | None = None,
    weight: str | None = None,
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
        predictions: the table, one row per sample, or per count of samples; of one file, or of several by commas, as a
            pattern or in a folder of Parquet. Parquet is read piece by piece where only counts of its rows matter.
        label: column of the right class.
        prediction: column of the predicted class. On the command line several (with commas) are compared instead, each
            with each.
        group: column of the group, or several (with commas).
        by: how several columns make groups: crossed, by their combinations; or each, by every column for itself and
            then by their combinations, each in a folder of its own; or overlapping, each column (of 0 and 1) saying
            whether a row is in the group that it is called after, or a single one listing the groups of a row.
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
        threshold: predict the positive class of two where its score is above this number, in place of what the column
            prediction says; or as fpr=0.1, the lowest with which that rate is at most so high (fpr, selection_rate), or
            the highest with which it is at least so high (tpr), on the rows of one split.
        threshold_on: split whose rows choose the threshold, which is one of validation.
        count: column of how many samples each row stands for, of a table of counts by group, label and prediction; each
            row is one, if not given.
        weight: column of the weight of each row, as of a survey: numbers of 0 or more. Figures that are shares are then
            of the sums of weights, and their intervals and chance by effective numbers of rows.
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
            labels, a count or a weight is none, an option does not go with weights, or a file exists.
    """
    names = checked(criteria, min_count, on, split)
    figures = [figure_named(name) for name in as_names(figure)]
    check_choice("by", by, By)
    cut = None if threshold is None else Threshold.of(threshold, threshold_on)
    if cut is None and threshold_on is not None:
        raise InputError(f"threshold_on is {threshold_on!r}, and no threshold is asked for; give threshold=fpr=0.1")
    if weight is not None:
        _refuse_beside_weights(weight, figures, by, count, shrink, cut)
    prediction = prediction if cut is None else label  # whatever is predicted is not read then
    groupings = _groupings(as_names(group), by)
    others = [prediction, *as_names(group), *(name for name in (split, count, weight, score) if name)]
    check = partial(refuse_lacking, predictions, label=label, others=others)
    head = check_head(predictions, check, delimiter=delimiter, text_encoding=text_encoding)
    folder = folder_for(
        predictions, output, html, card, overwrite, [one.name for one in figures], list(groupings.values())
    )
    needs_rows = by == "overlapping" or score or cut or weight or any(isinstance(one, Measure) for one in figures)
    source = read_checked(predictions, check, delimiter, text_encoding, {label, *others}, not needs_rows)
    table = source.table
    has_lists = by == "overlapping" and any(is_lists(table[name].type) for name in as_names(group))
    grouped = [] if has_lists else as_names(group)
    source, dropped = complete_table(source, [label], grouped, drop_missing)
    path, table = source.path, source.table
    times = source.times if count is None else counts_of_column(source.column(count), source.times)
    weights = None if weight is None else weights_of_column(source.column(weight))
    say_of_split(head or table.column_names, split)
    sections: list[Section] = []
    for columns, place in groupings.items():
        crossed = [] if by == "overlapping" else list(columns)
        answers = Answers.of_table(
            source, label, prediction, crossed, split, as_names(labels), positive, times, weights
        )
        if score or cut or any(isinstance(one, Measure) and one.needs for one in figures):
            answers = with_scores(answers, path, table, score)
        answers, of_threshold = (answers, {}) if cut is None else cut.apply(answers)
        if of_threshold and not sections:
            say(said_threshold(of_threshold, str(answers.positive)))
        if by == "overlapping":
            answers = overlapping(answers, path, table, columns)
        only = named_splits(on, split, list(answers.rows))
        splits, further = answers.counts(only=only), {one.name: answers.of(one, only) for one in figures}
        about: dict[str, Any] = {
            "predictions": predictions,
            "label": label,
            **({"prediction": prediction} if cut is None else of_threshold),
            "group": list(columns),
        }
        is_told = (
            positive is not None
            or cut is not None
            or any(one.figure.positive for each in further.values() for one in each)
        )
        about |= options_given(
            split=split,
            on=as_names(on),
            labels=as_names(labels),
            criteria=as_names(criteria),
            figure=[one.name for one in figures],
            positive=answers.positive if is_told else None,
            score=score,
            count=count,
            weight=weight,
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
    write_page_of(html, sections)
    return (
        {",".join(columns): one.report for columns, one in zip(groupings, sections, strict=True)}
        if by == "each"
        else dict(sections[0].report)
    )


def _groupings(columns: Sequence[str], by: By) -> dict[tuple[str, ...], str]:
    """Columns that make groups together, to the folder in that of the report."""
    if by != "each" or len(columns) < 2:
        return {tuple(columns): ""}
    found: dict[tuple[str, ...], str] = {}
    for number, name in enumerate(columns, start=1):
        found[(name,)] = f"by_{numbered_part(number, name)}"
    return {**found, tuple(columns): "crossed"}


def _refuse_beside_weights(
    weight: str,
    figures: Sequence[Share | Measure],
    by: str,
    count: str | None,
    shrink: bool,
    threshold: Threshold | None,
) -> None:
    """Refuse what is not made of weighted rows, each with its reason.

    Args:
        weight: column of the weights.
        figures: that are asked for.
        by: how columns make groups.
        count: column of how many samples a row stands for.
        shrink: whether criteria are of shrunk values.
        threshold: how rows are predicted, where that is by their scores.

    Raises:
        InputError: naming the first.
    """
    measures = [figure.name for figure in figures if isinstance(figure, Measure)]
    reasons = {
        f"figure {', '.join(measures)} is no share of rows, and only shares are weighted; leave it out": measures,
        "with by=overlapping a row would weigh in several groups, whose intervals are not known; leave by out": (
            by == "overlapping"
        ),
        f"count is {count!r}, which would weight rows twice; multiply the two into one column, or leave one out": count,
        "shrink is not made for weighted rows; leave it out": shrink,
        f"threshold is chosen for {threshold.rate if threshold else ''} by rows without weights; give a number": (
            threshold is not None and threshold.value is None
        ),
    }
    for reason, is_so in reasons.items():
        if is_so:
            raise InputError(f"weight is {weight!r}, and {reason}")
