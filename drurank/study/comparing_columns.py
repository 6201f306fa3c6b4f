"""Several columns of predictions for the same rows compared, each with each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np

from drurank.errors import InputError
from drurank.figures import Share
from drurank.report.answers import Answers
from drurank.report.asked import complete_table, read_checked
from drurank.report.cells import counts_of_column, named_splits, refuse_lacking, refuse_on_alone
from drurank.report.counts import SplitCounts
from drurank.study.chosen import Chosen
from drurank.study.comparing import ONE_RUN, PAIRED_ROWS, Comparison, Planned, compare, compare_chosen
from drurank.study.comparing_figures import cells_of, counted_figures_of, figures_to_compare
from drurank.study.comparing_files import changed_rows
from drurank.study.constant import no_better
from drurank.study.result import Counts
from drurank.study.tabulating import default_cells
from drurank.tabular.columns import Names
from drurank.tabular.several import check_head
from drurank.words import as_names


def compare_columns(
    predictions: str,
    prediction: Names,
    label: str = "label",
    group: Names = "group",
    split: str | None = None,
    on: Names = None,
    labels: Names = None,
    criteria: Names = None,
    figure: Names = None,
    positive: str | None = None,
    count: str | None = None,
    min_count: int = 1,
    drop_missing: bool = False,
    delimiter: str | None = None,
    text_encoding: str | None = None,
    before: Callable[[list[Planned]], None] | None = None,
) -> list[Comparison]:
    """Models whose predictions are columns of one table, each compared with each.

    Of three or more p and intervals allow for their number, as in tables of studies: the range of all of them, step by
    step (``drurank.study.differences``).

    Args:
        predictions: the table, one row per sample, or per count of samples.
        prediction: columns of the predicted class, two or more (with commas).
        label: column of the right class.
        group: column of the group, or several (with commas).
        split: column of the split; each split is compared by itself.
        on: splits to compare (with commas); all, if not given.
        labels: all classes (with commas), needed if a predicted class is the label of no row.
        criteria: criteria by name (with commas); the usual ones, if not given.
        figure: further figures than accuracy that are shares of the same rows for every model (with commas):
            error, selection_rate, tpr, fnr, tnr, fpr, off_by_more_than_one; each with
            the criteria, and gap, as worst-fpr.
        positive: label of the positive class, which most of these need; 1, if the labels are 0 and 1.
        count: column of how many samples each row stands for; each is one, if not given.
        min_count: criteria leave out groups with fewer rows.
        drop_missing: whether rows without a label or a group are left out, and counted; else they are refused.
        delimiter: character between the cells of a CSV or TSV file, if not the one its name implies.
        text_encoding: encoding of a text file, if not UTF-8.
        before: called with what is to be compared before anything is computed, as to refuse it.

    Returns:
        One a split and pair, in the order of the columns.

    Raises:
        InputError: if the table lacks a column, or has cells that cannot be used.
    """
    columns = as_names(prediction)
    if len(columns) < 2:
        raise InputError(f"prediction is {prediction!r}; give two columns or more to compare them")
    for place, name in enumerate(columns):
        if name in columns[:place]:
            raise InputError(f"prediction names {name!r} twice; name each column once")
    refuse_on_alone(on, split)
    figures = figures_to_compare(figure)
    others = [*columns, *as_names(group), *(name for name in (split, count) if name)]
    check = partial(refuse_lacking, predictions, label=label, others=others)
    check_head(predictions, check, delimiter=delimiter, text_encoding=text_encoding)
    source = read_checked(predictions, check, delimiter, text_encoding, {label, *others}, only_counts=True)
    source, _ = complete_table(source, [label], as_names(group), drop_missing)
    times = source.times if count is None else counts_of_column(source.column(count), source.times)
    answers = {
        name: Answers.of_table(source, label, name, as_names(group), split, as_names(labels), positive, times)
        for name in columns
    }
    only, cells = named_splits(on, split, list(answers[columns[0]].rows)), as_names(criteria) or default_cells("qdcg10")
    if before is not None:
        before([Planned(each, *pair) for each in only for pair in combinations(columns, 2)])
    of_splits = zip(*(each.counts(only=only) for each in answers.values()), strict=True)
    return [
        found
        for of_split in of_splits
        for found in _of_split(answers, dict(zip(columns, of_split, strict=True)), cells, figures, min_count)
    ]


def _of_split(
    answers: Mapping[str, Answers],
    counted: Mapping[str, SplitCounts],
    cells: Sequence[str],
    figures: Sequence[Share],
    min_count: int,
) -> list[Comparison]:
    """All pairs on one split."""
    cells = [*cells, *cells_of(figures, cells)]
    names, first = tuple(counted), next(iter(counted.values()))
    correct = np.stack([one.correct for one in counted.values()])[:, None]
    of_figures = counted_figures_of([answers[name] for name in names], names, figures, first.split, min_count)
    side = Chosen(
        names, ((0, 0),), (correct,), (first.count,), min_count, groups=tuple(first.groups), figures=of_figures
    )
    found = []
    for pair in combinations(names, 2):
        constant = {name: [of.constant_answer()] for name in pair if (of := counted[name].classes)}
        remarks = (*no_better(constant, first.split), ONE_RUN, PAIRED_ROWS)
        one = compare_chosen(side, pair, first.split, cells, remarks)
        counts = [Counts(tuple(counted[name].groups), counted[name].correct, counted[name].count) for name in pair]
        changed = changed_rows([answers[name] for name in pair], first.groups, first.split)
        found.append(replace(one, groups=compare(*counts, changed=changed)))
    return found
