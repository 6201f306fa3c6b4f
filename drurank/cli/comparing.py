"""study compare: two methods, candidates or runs on the terminal, as CSV and as a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow.csv as pa_csv

from drurank.cli.compare_page import write_comparison_page
from drurank.cli.compare_shown import print_comparison
from drurank.errors import InputError
from drurank.files import refuse_existing, replace_file
from drurank.study.choosing import standing_for
from drurank.study.comparing import Comparison
from drurank.study.comparing_candidates import compare_in_study
from drurank.study.comparing_files import compare_runs, files_compared
from drurank.study.finished import Study
from drurank.study.folder import files_read
from drurank.terminal import say
from drurank.words import as_names, joined


def show_comparison(
    folder: str | None = None,
    first: str | None = None,
    second: str | None = None,
    runs: list[str] | None = None,
    by: str | None = None,
    on: str | None = None,
    cells: str | None = None,
    output: str | None = None,
    html: str | None = None,
    overwrite: bool = False,
) -> Comparison:
    """Two methods, candidates or runs on the same groups: by how much they differ, and which groups differ.

    Args:
        folder: of a study, with first and second.
        first: a method, as ERM or qDRU+M, with the settings that a criterion chose and over all seeds; or a setting, as
            'DRU cutoff=5'; or one candidate, as 'DRU cutoff=5 seed=0' or by its key (the name of its folder).
        second: the other one.
        runs: folders of two tested runs, instead of a study.
        by: criterion that chooses settings and checkpoints, on validation; qdcg10 (the first of the study, if it kept
            none by that), if not given.
        on: split; that of groups never seen in training, if not given.
        cells: criteria to compare, with commas; that of by, average, p10, worst and those of the study, if not given.
        output: CSV file for all groups; none is written, if not given.
        html: file of the comparison as one page that needs nothing beside it, if given.
        overwrite: whether such files that exist are replaced.

    Returns:
        The comparison.

    Raises:
        InputError: if there are no such two, they were tested on other groups, or the file exists or is read.
    """
    names = None if cells is None else as_names(cells)
    file = None if output is None else Path(output).expanduser()
    read = [] if folder is None else files_read(Path(folder).expanduser())
    read += [name for run in runs or [] for name in files_compared(run)]
    page = None if html is None else Path(html).expanduser()
    refuse_existing([one for one in (file, page) if one], overwrite=overwrite, inputs=read)
    if runs is not None:
        if folder or first or second or len(runs) != 2:
            raise InputError("give two folders of runs, as runs=[a,b], or folder, first and second")
        found = compare_runs(runs[0], runs[1], by or "qdcg10", on, names)
    elif folder and first and second:
        study = Study.load(folder)
        found = compare_in_study(study, first, second, standing_for(study, by), on, names)
    else:
        raise InputError("give folder (of a study), first and second, or two folders of runs, as runs=[a,b]")
    print_comparison(found)
    if file is not None:
        write_groups(found, file)
    if page is not None:
        given = {"folder": folder, "runs": runs and joined(runs), "by": found.by, "on": found.split}
        write_comparison_page(page, [found], {name: value for name, value in given.items() if value})
        say(f"Page: {page}")
    return found


def write_groups(comparison: Comparison, file: Path) -> None:
    """Write the groups of a comparison as CSV.

    Raises:
        InputError: if it has none.
    """
    if comparison.groups is None:
        raise InputError("over several splits of the data no groups are compared; leave output out")
    replace_file(file, lambda path: pa_csv.write_csv(comparison.groups, path))
    say(f"Written: {file}")


def gathered(words: Sequence[str], option: str) -> list[str]:
    """Words in which the values of an option, ``--runs a b``, are one list, as parsers take it."""
    found: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word != option:
            found.append(word)
            continue
        values = []
        while rest and not rest[0].startswith("--"):
            values.append(rest.pop(0))
        found.append(word)
        found += [json.dumps(values)] if len(values) > 1 else values
    return found
