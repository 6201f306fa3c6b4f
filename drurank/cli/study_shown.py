"""study table, concordance, compare, plot and report: finished candidates compared."""

from __future__ import annotations

import math
import shlex
from dataclasses import asdict, fields
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.csv as pa_csv
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from drurank.errors import InputError
from drurank.files import replace_file
from drurank.imports import import_words
from drurank.study.choosing import Checkpoints, CriterionConcordance, criteria_concordance, standing_for
from drurank.study.comparing import compare, find
from drurank.study.concordance import Concordance
from drurank.study.finished import Study
from drurank.study.tables import Format, StudyTable
from drurank.study.tabulating import Test, study_table

GROUPS_SHOWN = 10
Layout = Literal["criteria", "splits"]
HOW_TO_READ = (
    "Distance (0 is best) and cosine (1) of the ranks, NDCG (1), Kendall's tau (1), share of pairs of candidates that "
    "the criterion ties, share of candidates that it ties with another, and accuracy of the worst group that is lost "
    "by trusting it (0); in brackets 5 to 95 % over candidates and groups. Ties have no interval, since redrawing "
    "groups breaks them."
)


def show_table(
    folder: str,
    by: str = "qdcg10",
    on: str | None = None,
    cells: str = "average,p10,worst",
    layout: Layout = "criteria",
    test: Test = "paired",
    format: Format | None = None,
) -> StudyTable:
    """Methods side by side: criteria on test, with the settings and epochs that a criterion chose on validation.

    Args:
        folder: of a study.
        by: criterion that chooses setting and epoch, by method and seed.
        on: split that is shown, as ood_test, id_test or ood_val, or several, comma-separated, with layout=splits; by
            default the split of unseen groups, with that layout all.
        cells: criteria that are shown, with commas.
        layout: columns: the criteria of one split, or splits with all criteria in a cell.
        test: what tells the best from the others: paired for a paired bootstrap of seeds and groups, corrected for the
            number of methods, or t for a bootstrapped t-test over groups, as in the paper, which leaves out chance in
            training and tests each pair alone.
        format: markdown, latex or csv; a table for the terminal, if not given.

    Returns:
        The table.

    Raises:
        InputError: if the candidates cannot be compared.
    """
    study = Study.load(folder)
    splits = _words(on) if on else list(study.results[0].splits) if layout == "splits" else [study.split(None)]
    if layout == "criteria" and len(splits) > 1:
        raise InputError(f"on is {on!r}; give one split, or --layout splits for several")
    table = study_table(study, by, on=splits, cells=_words(cells), test=test)
    if format is None:
        Console().print(table.rich())
    else:
        print(table.render(format), end="")
    return table


def show_concordance(
    folder: str,
    checkpoints: Checkpoints = "same",
    by: str | None = None,
    on: str | None = None,
    criteria: str | None = None,
    against: str | None = None,
) -> list[CriterionConcordance]:
    """How well each criterion on validation orders the candidates by the accuracy of the worst group on test.

    Args:
        folder: of a study.
        checkpoints: same, as in the paper: every criterion orders the same models, of each candidate the checkpoint
            that is best by one criterion; own: each criterion orders its own best checkpoints.
        by: that one criterion; qdcg10 (the first of the study, if it kept none by that), if not given.
        on: split of the worst group; that of groups never seen in training, if not given.
        criteria: those to compare, with commas, with same any; all that kept checkpoints, if not given.
        against: show the others as differences from this criterion.

    Returns:
        One entry a criterion.

    Raises:
        InputError: if there are too few candidates, or they cannot be compared.
    """
    names = None if criteria is None else _words(criteria)
    study = Study.load(folder)
    found = criteria_concordance(study, names, checkpoints=checkpoints, by=by, on=on, against=against)
    caption = f"{_ordered(study, checkpoints, by, on)} {HOW_TO_READ}"
    title = f"How well criteria choose{'' if against is None else f', less the figures of {against}'}"
    table = Table(title=title, caption=caption, caption_justify="left")
    table.add_column("criterion")
    for field in fields(Concordance):
        table.add_column(field.name, justify="right")
    for choice in found:
        table.add_row(escape(choice.criterion), *_figures(choice, "\n"))
    Console().print(table)
    for sentence in study.caveats():
        print(sentence)
    return found


def show_comparison(
    folder: str, first: str, second: str, by: str = "qdcg10", on: str | None = None, output: str | None = None
) -> pa.Table:
    """Two candidates on the same groups: which groups does the second serve better, and which worse?

    Args:
        folder: of a study.
        first: a candidate, by its key (the name of its folder), or as 'DRU cutoff=5 seed=0'.
        second: the other one.
        by: criterion; the best checkpoint by it is compared.
        on: split; that of groups never seen in training, if not given.
        output: CSV file for all groups; none is written, if not given.

    Returns:
        One row a group.

    Raises:
        InputError: if there are no such candidates, or they were tested on other groups.
    """
    study = Study.load(folder)
    on = study.split(on)
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
        f"{verdict.count('worse'):,} worse, and {verdict.count('like'):,} do not differ by more than chance; by chance "
        f"alone up to about {0.05 * len(verdict):.1f} would be called better or worse."
    )
    if output is not None:
        file = Path(output).expanduser()
        replace_file(file, lambda path: pa_csv.write_csv(found, path))
        print(f"Written: {file}")
    return found


def draw(
    folder: str,
    by: str = "qdcg10",
    on: str | None = None,
    cells: str = "average,p10,worst",
    output: str | None = None,
) -> list[Path]:
    """Pictures: criteria against the worst group, methods side by side, groups by method, and options with a grid.

    Args:
        folder: of a study.
        by: criterion that chooses setting and epoch, by method and seed.
        on: split that is shown; that of groups never seen in training, if not given.
        cells: criteria to show, comma-separated; option plots show only the first.
        output: folder for the pictures; that of the study, if not given.

    Returns:
        The files.

    Raises:
        InputError: if the candidates cannot be compared.
    """
    from drurank.report.pictures import save_picture  # here, since matplotlib is slow to import
    from drurank.study import pictures

    study, where = Study.load(folder), Path(output or folder).expanduser()
    on, names = study.split(on), _words(cells)
    figures = {
        "choosing.png": pictures.draw_choosing(study, by, on),
        "methods.png": pictures.draw_methods(study, by, on, names),
        "groups.png": pictures.draw_sorted_groups(study, by, on),
    }
    for option in pictures.options_with_grid(study):
        figures[f"{option}.png"] = pictures.draw_option(study, option, by, on, names[0])
    for name, figure in figures.items():
        replace_file(where / name, lambda path, figure=figure: save_picture(figure, path))  # type: ignore[misc]
    print(f"Drawn in {where}: {', '.join(figures)}")
    return [where / name for name in figures]


def write(folder: str, by: str = "qdcg10", on: str | None = None, cells: str = "average,p10,worst") -> Path:
    """One Markdown file, report.md, with the tables, the pictures and the commands that make them again.

    Args:
        folder: of a study.
        by: criterion that chooses setting and epoch, by method and seed.
        on: split that is shown; that of groups never seen in training, if not given.
        cells: criteria of the table, with commas.

    Returns:
        The file.

    Raises:
        InputError: if the candidates cannot be compared.
    """
    study, file = Study.load(folder), Path(folder).expanduser() / "report.md"
    on = study.split(on)
    lines = [f"# {study.folder.resolve().name}", "", *_what(study), ""]
    lines += ["## Methods", "", study_table(study, by, on=on, cells=_words(cells)).render("markdown")]
    if len(study.results) > 2:
        head = ["criterion", *(field.name for field in fields(Concordance))]
        lines += ["## How well criteria choose", "", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
        for choice in criteria_concordance(study, by=by, on=on):
            lines.append(f"| {' | '.join([choice.criterion, *_figures(choice, ' ')])} |")
        lines += ["", f"{_ordered(study, 'same', by, on)} {HOW_TO_READ}", ""]
    lines += ["## Pictures", "", *(f"![{path.stem}]({path.name})" for path in draw(folder, by, on, cells)), ""]
    commands = [f"table --by {by} --on {on} --cells {cells}", f"concordance --by {by} --on {on}"]
    commands += [f"plot --by {by} --on {on} --cells {cells}"]
    lines += ["## Commands", "", "```"]
    program = shlex.join(["python", "cli.py", *import_words()])
    lines += [f"{program} study {words} --folder {shlex.quote(folder)}" for words in commands] + ["```", ""]
    replace_file(file, lambda path: path.write_text("\n".join(lines), encoding="utf-8"))
    print(f"Written: {file}")
    return file


def _what(study: Study) -> list[str]:
    """What was run: data, budget, candidates."""
    manifests = [result.manifest for result in study]
    steps = sorted({manifest["budget"]["steps"] for manifest in manifests})
    budget = " to ".join(f"{number:,}" for number in dict.fromkeys((steps[0], steps[-1])))
    settings = dict.fromkeys(result.setting for result in study)
    seeds = ", ".join(map(str, sorted({result.seed for result in study})))
    return [
        f"{len(manifests)} finished candidates on {manifests[0]['data']['source']}, {budget} optimizer steps each; "
        f"seeds {seeds}. Settings: {'; '.join(settings)}."
    ]


def _ordered(study: Study, checkpoints: Checkpoints, by: str | None, on: str | None) -> str:
    """Which models are put in order."""
    which = f"{len(study.results)} candidates, by the worst group of {study.split(on)}"
    if checkpoints == "own":
        return f"{which}. Each criterion orders its own best checkpoints."
    best = standing_for(study, by)
    return f"{which}. Every criterion orders the same models: of each candidate the best checkpoint by {best}."


def _words(names: str) -> list[str]:
    return [name.strip() for name in names.split(",")]


def _figures(choice: CriterionConcordance, between: str) -> list[str]:
    """Each figure with its interval, if it has one; "none" where a criterion ties all candidates and has no order."""
    value, low, high = (asdict(figures) for figures in (choice.value, choice.low, choice.high))
    return [_figure(value[key] + 0.0, low[key], high[key], between) for key in value]


def _figure(value: float, low: float, high: float, between: str) -> str:
    if not math.isfinite(value):
        return "none"
    return f"{value:.2f}{between}({low:.2f} to {high:.2f})" if math.isfinite(low) else f"{value:.2f}"
