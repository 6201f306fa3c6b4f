"""Two runs, or two files of predictions, compared."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drurank.checks import MOST_ROWS
from drurank.errors import InputError, nearest
from drurank.figures.selecting import figure_in
from drurank.files import read_json
from drurank.report.answers import Answers
from drurank.report.cells import named_splits, refuse_lacking, refuse_on_alone
from drurank.report.classes import rows_by
from drurank.report.counts import SplitCounts
from drurank.run_folder.group_counts import read_counts
from drurank.run_folder.layout import GROUPS_PARQUET, REPORT_FILE, SEEN, TEST_FOLDER
from drurank.run_folder.links import refuse_links
from drurank.shapes import wrong
from drurank.splits import TEST
from drurank.study.comparing import ONE_RUN, PAIRED_ROWS, UNPAIRED_ROWS, Changed, Comparison, Planned, compare_counts
from drurank.study.comparing_figures import cells_of, counted_figures_of, figures_to_compare
from drurank.study.constant import answer_in, no_better
from drurank.study.result import Counts, same_groups
from drurank.study.tabulating import default_cells
from drurank.tabular.columns import Column, Names
from drurank.tabular.dropping import complete_rows, said_dropped
from drurank.tabular.reading import read_table
from drurank.tabular.several import Source
from drurank.words import as_names

TEST_AGAIN = "test the run again"


def compare_runs(
    first: str | Path,
    second: str | Path,
    by: str = "qdcg10",
    on: str | None = None,
    cells: Sequence[str] | None = None,
) -> Comparison:
    """Two runs that were tested on the same groups.

    Args:
        first: folder of a run that ``fit`` made and ``test`` tested, or of a test.
        second: the other one.
        by: criterion whose best checkpoint is compared.
        on: split; that of groups never seen in training, if not given.
        cells: criteria to compare; ``by`` and the usual ones, if not given.

    Raises:
        InputError: if one was not tested, or they were tested on other groups.
    """
    for folder in (first, second):
        refuse_links(Path(folder).expanduser())
    folders = [_tested(Path(folder).expanduser(), by) for folder in (first, second)]
    tables = [read_counts(folder / GROUPS_PARQUET, ("split", "group"), TEST_AGAIN) for folder in folders]
    known = [set(table["split"].to_pylist()) for table in tables]
    both = known[0] & known[1]
    split = on or next((name for name in TEST if name in both), "")
    if split not in both:
        if not both or on is None:
            of = " and ".join(
                f"{name} on {', '.join(sorted(found))}" for name, found in zip((first, second), known, strict=True)
            )
            raise InputError(f"no test split is common to both: the last test of {of}; test both on the same data")
        raise InputError(f"on is {on!r}, which is not a split of both: {nearest(split, sorted(both))}")
    counts = [_counts_of(table.filter(pc.equal(table["split"], split))) for table in tables]
    reports = [read_json(folder / REPORT_FILE, TEST_AGAIN, {"min_count": int}) for folder in folders]
    least = {report["min_count"] for report in reports}
    for folder, report in zip(folders, reports, strict=True):
        if abs(report["min_count"]) > MOST_ROWS:
            raise wrong(str(folder / REPORT_FILE), "min_count", report["min_count"], TEST_AGAIN)
    if len(least) > 1:
        raise InputError(f"min_count differs: {first} and {second} leave out other groups; test both alike")
    names = str(first), str(second)
    same_groups(counts, names, split)
    answers = {name: [answer_in(folder / REPORT_FILE, split)] for name, folder in zip(names, folders, strict=True)}
    remarks = (*no_better(answers, split), ONE_RUN, UNPAIRED_ROWS)
    about = [
        f"{place}: {report['method']}, {report['checkpoint']}."
        for place, report in zip(("First", "Second"), reports, strict=True)
        if report.get("method") and report.get("checkpoint")
    ]
    return compare_counts(
        counts,
        names,
        split,
        cells or [name for name in default_cells(by) if figure_in(name) is None],
        least.pop(),
        remarks,
        about,
        by,
    )


def files_compared(run: str | Path) -> list[str]:
    """Files of a run, or of a test, that comparisons read."""
    folder, names = Path(run).expanduser(), (GROUPS_PARQUET, REPORT_FILE)
    places = [folder, *folder.glob(f"{TEST_FOLDER}/*")]
    return [str(place / name) for place in places for name in names if (place / name).is_file()]


def _tested(folder: Path, by: str) -> Path:
    for place in (folder / TEST_FOLDER / by, folder):
        if (place / GROUPS_PARQUET).is_file():
            return place
    known = sorted(file.parent.name for file in folder.glob(f"{TEST_FOLDER}/*/{GROUPS_PARQUET}"))
    if known:
        raise InputError(f"{folder} was not tested by {by!r}; tested by: {', '.join(known)}; give by={known[0]!r}")
    raise InputError(f"{folder} has no test; run `test --run {shlex.quote(str(folder))}` first, or give another folder")


def _counts_of(table: pa.Table) -> Counts:
    rows = table.sort_by("group")
    return Counts(tuple(rows["group"].to_pylist()), rows["correct"].to_numpy(), rows["count"].to_numpy())


def compare_predictions(
    predictions: Sequence[str],
    label: str = "label",
    prediction: str = "prediction",
    group: Names = "group",
    split: str | None = None,
    on: Names = None,
    labels: Names = None,
    criteria: Names = None,
    figure: Names = None,
    positive: str | None = None,
    min_count: int = 1,
    drop_missing: bool = False,
    delimiter: str | None = None,
    text_encoding: str | None = None,
    before: Callable[[list[Planned]], None] | None = None,
) -> list[Comparison]:
    """Two tables of predictions for the same rows, in the same order.

    Args:
        predictions: both tables.
        label: column of the right class.
        prediction: column of the predicted class.
        group: column of the group, or several (with commas).
        split: column of the split; each split is compared by itself.
        on: splits to compare (with commas); all, if not given.
        labels: all classes (with commas), needed if a predicted class is the label of no row.
        criteria: criteria by name (with commas); the usual ones, if not given.
        figure: further figures than accuracy that are shares of the same rows for both (with commas): error,
            selection_rate, tpr, fnr, tnr, fpr, off_by_more_than_one; each with the criteria, and gap, as worst-fpr.
        positive: label of the positive class, which most of these need; 1, if the labels are 0 and 1.
        min_count: criteria leave out groups with fewer rows.
        drop_missing: whether rows without a label or a group are left out, and counted in what is said; else they are
            refused.
        delimiter: character between the cells of a CSV or TSV file, if not the one its name implies.
        text_encoding: encoding of a text file, if not UTF-8.
        before: called with what is to be compared before anything is computed, as to refuse it.

    Returns:
        One a split.

    Raises:
        InputError: if the tables are not of the same rows, or one cannot be used, or there is no such split.
    """
    if len(predictions) != 2 or predictions[0] == predictions[1]:
        raise InputError(f"predictions is {list(predictions)!r}; give one table, or two different ones to compare them")
    refuse_on_alone(on, split)
    figures, groups = figures_to_compare(figure), as_names(group)
    key = [label, *groups, *([] if split is None else [split])]
    needed = {*key, prediction, SEEN}
    first, second = (
        read_table(one, delimiter=delimiter, text_encoding=text_encoding, wanted=needed.__contains__)
        for one in predictions
    )
    for path, table in zip(predictions, (first, second), strict=True):
        refuse_lacking(path, table, label, [*key, prediction])
    _refuse_other_rows(predictions, first, second, key)
    labelled, grouped = ([Column(predictions[0], name, first[name]) for name in names] for names in ([label], groups))
    kept, blank = complete_rows(predictions[0], labelled, grouped, first.num_rows, drop=drop_missing)
    dropped = [] if blank is None else [f"{said_dropped({'rows': first.num_rows - len(kept), 'blank': blank})}."]
    answers = [
        Answers.of_table(
            Source.given(path, table).take(kept), label, prediction, groups, split, as_names(labels), positive
        )
        for path, table in zip(predictions, (first, second), strict=True)
    ]
    only = named_splits(on, split, list(answers[0].rows))
    names = predictions[0], predictions[1]
    if before is not None:
        before([Planned(each, *names) for each in only])
    found = [each.counts(only=only) for each in answers]
    cells = as_names(criteria) or default_cells("qdcg10")
    return [
        compare_counts(
            [_sorted(one), _sorted(other)],
            names,
            one.split,
            [*cells, *cells_of(figures, cells)],
            min_count,
            (*dropped, *_said(names, (one, other)), PAIRED_ROWS),
            changed=changed_rows(answers, sorted(one.groups), one.split),
            figures=counted_figures_of(answers, names, figures, one.split, min_count),
        )
        for one, other in zip(*found, strict=True)
    ]


def changed_rows(answers: Sequence[Answers], groups: Sequence[str], split: str) -> Changed:
    """Rows of each group of a split of which one of two is right.

    Args:
        answers: of the two, to the same rows.
        groups: names, in the order of the counts.
        split: its name.
    """
    right, of = [each.outcomes.label == each.outcomes.prediction for each in answers], answers[0]
    here, number = of.rows[split], {name: place for place, name in enumerate(of.groups)}
    place = [number[name] for name in groups]
    gained, lost = (
        rows_by(of.code[some], None if of.times is None else of.times[some], len(of.groups))[place]
        for some in (here & right[1] & ~right[0], here & right[0] & ~right[1])
    )
    return Changed(gained, lost)


def _said(names: tuple[str, str], counts: tuple[SplitCounts, SplitCounts]) -> tuple[str, ...]:
    """What is said of two tables of predictions on a split."""
    answers = {name: [one.classes.constant_answer()] for name, one in zip(names, counts, strict=True) if one.classes}
    return *no_better(answers, counts[0].split), ONE_RUN


def _refuse_other_rows(paths: Sequence[str], first: pa.Table, second: pa.Table, key: Sequence[str]) -> None:
    if first.num_rows != second.num_rows:
        raise InputError(
            f"{paths[0]} has {first.num_rows:,} rows and {paths[1]} {second.num_rows:,}; give predictions for the same "
            "rows"
        )
    for name in key:
        one, other = (np.array([str(cell) for cell in table[name].to_pylist()], object) for table in (first, second))
        if (one != other).any():
            row = int(np.argmax(one != other))
            raise InputError(
                f"row {row} (the first is 0) has {name} {one[row]!r} in {paths[0]} and {other[row]!r} in {paths[1]}; "
                "give the same rows in the same order"
            )


def _sorted(counts: SplitCounts) -> Counts:
    order = np.argsort(np.array(counts.groups, dtype=object))
    return Counts(tuple(counts.groups[i] for i in order), counts.correct[order], counts.count[order])
