"""study table, export-best, plot and report: what finished candidates say."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any, Literal

from drurank.cli.compare_shown import figures, how_to_read, verdict
from drurank.cli.concordance_shown import HOW_TO_READ, concordance_text, models_ordered
from drurank.cli.program import program
from drurank.cli.study_page import write_study_page
from drurank.errors import InputError
from drurank.files import refuse_existing, replace_file
from drurank.imports import import_words
from drurank.markdown import code, markdown, markdown_table
from drurank.run_folder.layout import CHECKPOINT_FOLDER, CONFIG_FILE
from drurank.study.choosing import criteria_concordance, standing_for
from drurank.study.chosen import Test
from drurank.study.comparing_candidates import compare_in_study
from drurank.study.exporting import export_best
from drurank.study.finished import Study
from drurank.study.folder import files_read
from drurank.study.shipping import BASELINE, Recommendation
from drurank.study.tables import Format, StudyTable
from drurank.study.tabulating import study_table, usual_cells
from drurank.terminal import Terminal, say
from drurank.words import as_names, joined
from drurank.yaml_files import read_options

Layout = Literal["criteria", "splits"]


def show_table(
    folder: str,
    by: str | None = None,
    on: str | None = None,
    cells: str | None = None,
    layout: Layout = "criteria",
    test: Test = "paired",
    format: Format | None = None,
) -> StudyTable:
    """Methods side by side: criteria on test, with the settings and epochs that a criterion chose on validation.

    Args:
        folder: of a study.
        by: criterion that chooses setting and epoch, by method and seed; qdcg10 (the first of the study, if it kept
            none by that), if not given.
        on: split that is shown, as ood_test, id_test or ood_val, or several, comma-separated, with layout=splits; by
            default the split of unseen groups, with that layout all.
        cells: criteria that are shown, with commas; that of by, average, p10, worst and those of the study, if not
            given.
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
    by = standing_for(study, by)
    splits = as_names(on) if on else list(study.results[0].splits) if layout == "splits" else [study.split(None)]
    if layout == "criteria" and len(splits) > 1:
        raise InputError(f"on is {on!r}; give one split, or --layout splits for several")
    table = study_table(study, by, on=splits, cells=cells and as_names(cells), test=test)
    if format is None:
        Terminal().print(table.rich())
        if table.copying:
            say(f"Copy it: {shlex.join([*program(), *import_words(), *table.copying])}")
    else:
        say(table.render(format), end="")
    return table


def export(
    folder: str,
    output: str,
    by: str | None = None,
    on: str | None = None,
    method: str | None = None,
    overwrite: bool = False,
) -> Recommendation:
    """Copy the checkpoint to take, that `study table` names, into a folder that other commands take.

    Args:
        folder: of a study.
        output: folder to make, with the checkpoint and its configuration, as that of a run.
        by: criterion that chooses on validation, and compares methods on test; qdcg10 (the first of the study, if it
            kept none by that), if not given.
        on: split of that comparison; that of groups never seen in training, if not given.
        method: take the best run of this method, as qDRU+M or its class, DRU; the one that the comparison speaks for,
            if not given.
        overwrite: whether an output that this command wrote, and that holds nothing else, is replaced.

    Returns:
        What was taken, and why.

    Raises:
        InputError: if the output exists, or the checkpoint was not kept.
    """
    study = Study.load(folder)
    found = export_best(study, Path(output).expanduser(), standing_for(study, by), on, method, overwrite=overwrite)
    file = Path(output).expanduser() / CHECKPOINT_FOLDER / found.checkpoint.name
    called = shlex.join([*program(), *import_words()])
    say("\n".join([found.why, f"Copied: {found.result.name} ({found.which}), to {file}", *found.warnings]))
    saved = read_options(Path(output).expanduser() / CONFIG_FILE, "export it again").get("data", {})
    rows = " --data.path NEW_ROWS.csv" if "path" in saved.get("init_args", {}) else ""
    say(f"Use it: {called} predict --run {shlex.quote(output)}{rows}")
    return found


def draw(
    folder: str,
    by: str | None = None,
    on: str | None = None,
    cells: str | None = None,
    output: str | None = None,
    overwrite: bool = False,
    repeat: int | None = None,
) -> list[Path]:
    """Pictures: criteria against the worst group, methods side by side, groups by method, and options with a grid.

    Args:
        folder: of a study.
        by: criterion that chooses setting and epoch, by method and seed; qdcg10 (the first of the study, if it kept
            none by that), if not given.
        on: split that is shown; that of groups never seen in training, if not given.
        cells: criteria to show, comma-separated; option plots show only the first. That of by, average, p10, worst and
            those of the study, if not given.
        output: folder for the pictures; that of the study, whose pictures are then drawn anew, if not given.
        overwrite: whether pictures that exist in another folder are replaced.
        repeat: the split of the data to draw, in a study with several; the first, if not given.

    Returns:
        The files.

    Raises:
        InputError: if the candidates cannot be compared, or a picture exists in another folder.
    """
    from drurank.report.pictures import save_picture  # here, since matplotlib is slow to import
    from drurank.study import pictures

    study, where = Study.load(folder), Path(output or folder).expanduser()
    by = standing_for(study, by)
    if repeat is None and len(study.repeats) > 1:
        say(f"Drawn is split {study.repeats[0]} of {len(study.repeats)}; --repeat names another.")
    study = study.of_repeat(study.repeats[0] if repeat is None else repeat)
    on = study.split(on)
    names = as_names(cells) if cells else usual_cells(study, by, [on])
    figures = {
        "choosing.png": partial(pictures.draw_choosing, study, by, on),
        "methods.png": partial(pictures.draw_methods, study, by, on, names),
        "groups.png": partial(pictures.draw_sorted_groups, study, by, on),
    }
    for option in pictures.options_with_grid(study):
        figures[_picture_of(option, figures)] = partial(pictures.draw_option, study, option, by, on, names[0])
    read = files_read(study.folder)  # to which a picture that is there may be a link
    own = study.folder if output is None else None
    refuse_existing((where / name for name in figures), overwrite=overwrite or output is None, inputs=read, of=own)
    drawn = {name: figure() for name, figure in figures.items()}
    for name, figure in drawn.items():
        replace_file(where / name, lambda path, figure=figure: save_picture(figure, path))  # type: ignore[misc]
    say(f"Drawn in {where}: {', '.join(figures)}")
    return [where / name for name in figures]


def write(
    folder: str,
    by: str | None = None,
    on: str | None = None,
    cells: str | None = None,
    html: str | None = None,
    overwrite: bool = False,
) -> Path:
    """One Markdown file, report.md, with the tables, the pictures and the commands that make them again.

    Args:
        folder: of a study.
        by: criterion that chooses setting and epoch, by method and seed; qdcg10 (the first of the study, if it kept
            none by that), if not given.
        on: split that is shown; that of groups never seen in training, if not given.
        cells: criteria of the table, with commas; that of by, average, p10, worst and those of the study, if not given.
        html: file of the same as one page that needs nothing beside it, if given.
        overwrite: whether such a page that exists is replaced.

    Returns:
        The Markdown file.

    Raises:
        InputError: if the candidates cannot be compared, or the page exists.
    """
    study, file = Study.load(folder), Path(folder).expanduser() / "report.md"
    read, page = files_read(study.folder), None if html is None else Path(html).expanduser()
    refuse_existing([file], overwrite=True, inputs=read, of=study.folder)
    refuse_existing([] if page is None else [page], overwrite=overwrite, inputs=[*read, str(file)])
    by = standing_for(study, by)
    on = study.split(on)
    names = as_names(cells) if cells else list(usual_cells(study, by, [on]))
    shown = ",".join(names)
    lines = [f"# {markdown(study.folder.resolve().name)}", "", *map(markdown, _what(study)), ""]
    table, against = study_table(study, by, on=on, cells=names), _differences(study, by, on, names)
    lines += ["## Methods", "", table.render("markdown")]
    # Orders and pictures are of one split of the data; the others have other groups.
    if against["rows"]:
        rows = [[markdown(cell) for cell in row] for row in against["rows"]]
        said = tuple(against["remarks"])
        lines += ["## Differences", "", markdown_table(against["columns"], rows, against["title"], said)]
    number, of_split = study.repeats[0], list[str]()
    if len(study.repeats) > 1:
        of_split = ["--repeat", str(number)]
        lines += [f"What follows is of the first of {len(study.repeats)} splits of the data.", ""]
    one = study.of_repeat(number)
    if len(one.results) > 2:
        title = "How well criteria choose"
        remarks = [f"{models_ordered(one, 'same', by, on)} {HOW_TO_READ}"]
        found = criteria_concordance(one, by=by, on=on)
        lines += [f"## {title}", "", concordance_text(found, "markdown", "Orders on validation and on test", remarks)]
    pictures = draw(folder, by, on, shown, repeat=number)
    lines += ["## Pictures", "", *(f"![{markdown(path.stem)}]({path.name})" for path in pictures), ""]
    choice, cells_shown = ["--by", by, "--on", on], ["--cells", shown]
    commands = [["table", *choice, *cells_shown], ["concordance", *choice, *of_split]]
    commands += [["plot", *choice, *cells_shown, *of_split]]
    pairs = _pairs(study, by)
    commands += [["compare", "--first", one, "--second", other, *choice, *cells_shown] for one, other in pairs]
    commands += [["export-best", *choice, "--output", "best"]]
    lines += ["## Commands", ""]
    called = [*program(), *import_words(), "study"]
    again = [shlex.join([*called, *words, "--folder", folder]) for words in commands]
    lines += [*code(again), ""]
    replace_file(file, lambda path: path.write_text("\n".join(lines), encoding="utf-8"))
    say(f"Written: {file}")
    if page is not None:
        write_study_page(page, study, table, against, pictures, _what(study), again)
        say(f"Page: {page}")
    return file


def _picture_of(option: str, others: Collection[str]) -> str:
    """Name of an option's picture, which is none of the others."""
    is_other = f"{option}.png" in others or option.startswith("model.")
    return f"{'model.' * is_other}{option}.png"


def _pairs(study: Study, by: str) -> list[tuple[str, str]]:
    """ERM, or else the first method, with each other one."""
    methods = list(study.chosen(by))
    first = BASELINE if BASELINE in methods else methods[0]
    return [(first, other) for other in methods if other != first]


def _differences(study: Study, by: str, on: str, cells: list[str]) -> dict[str, Any]:
    """Each method against the first one: differences of the criteria, with intervals and p."""
    found = [compare_in_study(study, *pair, by, on, cells) for pair in _pairs(study, by)]
    said = dict.fromkeys(sentence for one in found for sentence in (*how_to_read(one), *verdict(one)))
    return {
        "title": f"{found[0].first} (first) and others (second), {on}" if found else "",
        "columns": ["second", "criterion", "first", "second", "difference", "95 %", "p"],
        "rows": [[one.second, *figures(figure)] for one in found for figure in one.criteria],
        "remarks": list(said),
    }


def _what(study: Study) -> list[str]:
    """What was run: data, budget, candidates."""
    manifests = [result.manifest for result in study]
    steps = sorted({manifest["budget"]["steps"] for manifest in manifests})
    budget = " to ".join(f"{number:,}" for number in dict.fromkeys((steps[0], steps[-1])))
    sources = dict.fromkeys(manifest["data"]["source"] for manifest in manifests)
    settings = dict.fromkeys(result.setting for result in study)
    seeds = ", ".join(map(str, sorted({result.seed for result in study})))
    return [
        f"{len(manifests)} finished candidates on {joined(list(sources))}, {budget} optimizer steps each; "
        f"seeds {seeds}. Settings: {'; '.join(settings)}."
    ]
