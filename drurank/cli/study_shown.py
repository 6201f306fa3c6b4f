"""study table, concordance and compare: what is told of finished candidates."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from drurank.files import replace_file
from drurank.study.choosing import Choice, choices
from drurank.study.comparing import compare, find
from drurank.study.results import Study
from drurank.study.tables import Format, StudyTable

GROUPS_SHOWN = 10
FIGURES = {"distance": "distance", "cosine": "cosine", "ndcg": "NDCG", "tau": "tau", "ties": "ties", "regret": "regret"}


def show_table(
    folder: str,
    by: str = "qdcg10",
    on: str = "ood_test",
    cells: str = "average,p10,worst",
    format: Format | None = None,
) -> StudyTable:
    """Methods side by side: criteria on test, with the settings and epochs that a criterion chose on validation.

    Args:
        folder: of a study.
        by: criterion that chooses setting and epoch, by method and seed.
        on: split that is shown, as ood_test, id_test or ood_val.
        cells: criteria that are shown, with commas.
        format: markdown, latex or csv; a table for the terminal, if not given.

    Returns:
        The table.

    Raises:
        InputError: if the candidates cannot be compared.
    """
    table = Study.load(folder).table(by, on=on, cells=[name.strip() for name in cells.split(",")])
    if format is None:
        Console().print(table.rich())
    else:
        print(table.render(format), end="")
    return table


def show_concordance(folder: str, on: str = "ood_test", criteria: str | None = None) -> list[Choice]:
    """How well each criterion on validation orders the candidates by the accuracy of the worst group on test.

    Args:
        folder: of a study.
        on: split of the worst group.
        criteria: those to compare, with commas; all that kept checkpoints, if not given.

    Returns:
        One entry a criterion.

    Raises:
        InputError: if there are too few candidates, or they cannot be compared.
    """
    names = None if criteria is None else [name.strip() for name in criteria.split(",")]
    study = Study.load(folder)
    found = choices(study, names, on=on)
    caption = (
        f"{len(study.results)} candidates, by the worst group of {on}; distance and cosine of the ranks, NDCG, "
        "Kendall's tau, share of pairs tied by the criterion, and the accuracy of the worst group lost by trusting it. "
        "In brackets 5 to 95 % over candidates and groups."
    )
    table = Table(title="How well criteria choose", caption=caption, caption_justify="left")
    table.add_column("criterion")
    for name in FIGURES.values():
        table.add_column(name, justify="right")
    for choice in found:
        value, low, high = (asdict(part) for part in (choice.value, choice.low, choice.high))
        table.add_row(escape(choice.criterion), *(f"{value[k]:.3f}\n({low[k]:.3f}-{high[k]:.3f})" for k in FIGURES))
    Console().print(table)
    for sentence in study.unlike():
        print(sentence)
    return found


def show_comparison(
    folder: str, first: str, second: str, by: str = "qdcg10", on: str = "ood_test", output: str | None = None
) -> pa.Table:
    """Two candidates on the same groups: which does the second serve better, and which worse?

    Args:
        folder: of a study.
        first: a candidate, by its key (the name of its folder), or as 'DRU cutoff=5 seed=0'.
        second: the other one.
        by: criterion whose checkpoint of each is compared.
        on: split.
        output: CSV file for all groups; none is written, if not given.

    Returns:
        One row a group.

    Raises:
        InputError: if there are no such candidates, or they were tested on other groups.
    """
    study = Study.load(folder)
    found = compare(*(find(study, name).counts(by, on) for name in (first, second)))
    verdict = found["verdict"].to_pylist()
    table = Table(title=f"{escape(second)} against {escape(first)}, {on}")
    for column in ("group", "rows", "first", "second", "difference", "2.5 to 97.5 %"):
        table.add_column(column, justify="left" if column == "group" else "right")
    apart = [row for row in found.to_pylist() if row["verdict"] != "like"]
    for row in apart if len(apart) <= 2 * GROUPS_SHOWN else [*apart[:GROUPS_SHOWN], *apart[-GROUPS_SHOWN:]]:
        interval = f"{row['low']:+.3f} to {row['high']:+.3f}"
        numbers = [f"{row['count']:,}", f"{row['first']:.3f}", f"{row['second']:.3f}", f"{row['difference']:+.3f}"]
        table.add_row(escape(row["group"]), *numbers, interval)
    Console().print(table)
    print(
        f"Of {len(verdict):,} groups {verdict.count('better'):,} are served better by the second, "
        f"{verdict.count('worse'):,} worse; by chance alone about {0.05 * len(verdict):.0f} would be outside so."
    )
    if output is not None:
        file = Path(output).expanduser()
        replace_file(file, lambda path: pa_csv.write_csv(found, path))
        print(f"Written: {file}")
    return found
