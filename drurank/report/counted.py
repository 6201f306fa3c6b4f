"""The whole report from a table of counts by group."""

from __future__ import annotations

from functools import partial
from typing import Any

from drurank.report.answers import counted_splits
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
from drurank.report.cells import named_splits
from drurank.report.page import Section
from drurank.report.write import print_report, write_report
from drurank.tabular.columns import Names, refuse_unknown
from drurank.tabular.several import check_head
from drurank.terminal import say
from drurank.words import as_names


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
        counts: the table, a row per group, or several whose counts are added; of one file, or of several by commas, as
            a pattern or in a folder of Parquet.
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
    names = checked(criteria, min_count, on, split)
    columns = [*as_names(group), count, correct, *([split] if split else [])]
    check = partial(refuse_unknown, counts, names=columns)
    head = check_head(counts, check, delimiter=delimiter, text_encoding=text_encoding)
    folder = folder_for(counts, output, html, card, overwrite)
    source = read_checked(counts, check, delimiter, text_encoding, columns)
    source, dropped = complete_table(source, [], as_names(group), drop_missing)
    every = counted_splits(source, as_names(group), count, correct, split)
    only = named_splits(on, split, [one.split for one in every])
    splits = [one for one in every if one.split in only]
    about: dict[str, Any] = {"counts": counts, "count": count, "correct": correct, "group": as_names(group)}
    about |= options_given(
        split=split, on=as_names(on), criteria=as_names(criteria), delimiter=delimiter, text_encoding=text_encoding
    )
    about |= dropped
    say_of_split(head or source.table.column_names, split)
    report = write_report(folder, splits, names, min_count=min_count, shrink=shrink, about=about)
    print_report(report, splits, folder)
    write_page_of(html, [Section(report, splits)])
    if card:
        say(f"Model card: {write_card(folder, report, splits)}")
    return report
