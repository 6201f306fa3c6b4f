"""inspect: look at data before it is trained on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import yaml
from rich.padding import Padding
from rich.table import Table

from drurank.cli.flags import in_flags, named_as_flags
from drurank.cli.inspect_advice import Asked, advise
from drurank.cli.program import usage
from drurank.cli.training_parser import RunParser, takes_text
from drurank.cli.words import given_options, names_as_text, with_recipes
from drurank.data import GroupDataModule
from drurank.data.file import FileData
from drurank.errors import InputError
from drurank.files import refuse_existing
from drurank.tabular.inspection import FINDINGS_FILE, GROUPS_FILE, Inspection, inspect_rows
from drurank.tabular.several import read_files
from drurank.tabular.taken import columns_taken
from drurank.terminal import Terminal, say
from drurank.words import counted
from drurank.yaml_files import dump_yaml, read_yaml

SMALLEST_SHOWN, UNUSUAL_SHOWN, LABELS_SHOWN, COLUMNS_SHOWN = 10, 5, 8, 40
SAY_REMEDY = {"unusable_columns", "too_many_categories", "distinct_columns", "dates", "compact_dates"}
SAY_REMEDY |= {"marked_numbers", "codes"}
"""Findings that say how to take the columns they name."""
COLOURS = {"error": "bold red", "warning": "yellow", "note": "dim"}
DESCRIPTION = """Look at data before it is trained on: splits, groups, balance of labels, everything suspicious, and how
small a difference between groups it can show at all. Ends with the command that trains on it, with all options that
its findings name. Faults of the data are listed and never stop it; the exit status is 1 if one is an error, which would
stop a fit, else 0."""


def run(words: list[str]) -> Inspection:
    """Look at the data that the words name, print what is seen, and write it where a folder is given.

    Args:
        words: those after ``inspect``.

    Raises:
        InputError: if there is no such data, or it cannot be read.
    """
    parser = RunParser(prog=usage("inspect"), description=DESCRIPTION)
    parser.add_argument("--config", action="config", help="A configuration, of which only the section data is read.")
    parser.add_subclass_arguments(GroupDataModule, "data", required=True)
    parser.add_argument(
        "--output",
        type=str | None,
        default=None,
        help=f"Folder to write {GROUPS_FILE} and {FINDINGS_FILE} into; without it nothing is written.",
    )
    parser.add_argument("--overwrite", type=bool, default=False, help="Whether files that exist there are replaced.")
    parser.let_stand_alone("overwrite")
    read = names_as_text(["inspect", *data_words(with_recipes(words))], takes_text)
    settings = parser.parse_args(read[1:])
    flags = parser.flags_of(settings)
    folder = None if settings.output is None else Path(os.path.expanduser(settings.output))
    with named_as_flags(lambda: flags):
        data = parser.instantiate(settings).data
        if folder is not None:
            files = (folder / GROUPS_FILE, folder / FINDINGS_FILE)
            refuse_existing(files, overwrite=settings.overwrite, inputs=read_files(data))
        if isinstance(data, FileData):
            data.refuse_unknown(data.named_columns)
        inspection = inspect_rows(data.inspected_rows())
    print_inspection(inspection, flags=flags)
    if folder is not None:
        inspection.write(folder)
        say(f"Written: {folder / GROUPS_FILE} and {FINDINGS_FILE}")
    with named_as_flags(lambda: flags):
        advise(inspection, Asked(words, parser, settings, data, "model" in named_sections(words)))
    return inspection


def data_words(words: list[str]) -> list[str]:
    """The words with of each ``--config`` its section ``data`` alone; where no class is named the data is a Table.

    Raises:
        InputError: if a configuration cannot be read.
    """
    kept, named, waiting = [], False, iter(words)
    for word in waiting:
        option, equals, value = word.partition("=")
        named |= option in ("--data", "--help", "-h", "--data.help")
        if option not in ("--config", "-c"):
            kept.append(word)
            continue
        value = value if equals else next(waiting, "")
        section = read_config(value).get("data")
        if section is not None:
            named = True
            kept += ["--config", dump_yaml({"data": section})]
    return kept if named else ["--data", "Table", *kept]


def named_sections(words: list[str]) -> set[str]:
    """The sections that the configurations of a command line have."""
    given = given_options(with_recipes(words))
    return {key for option in given if option.option == "config" for key in option.content}


def read_config(path: str) -> dict[str, object]:
    """A configuration as a dict.

    Raises:
        InputError: if it cannot be read, or has no sections.
    """
    try:
        content = read_yaml(Path(path).expanduser().read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(
            f"--config {path} cannot be read: {said}; give a YAML file, as configs/data/table.yaml"
        ) from error
    if not isinstance(content, dict):
        raise InputError(f"--config {path} holds no sections; give a YAML file with one called data")
    return content


def print_inspection(inspection: Inspection, console: Terminal | None = None, flags: Sequence[str] = ()) -> None:
    """Show the splits, the balance of labels, groups worth a look, the findings, and the last sentence.

    Args:
        inspection: what was seen.
        console: where to show it; the terminal, if not given.
        flags: flags of the command line that the findings' arguments are shown as.
    """
    console = console or Terminal()
    console.print(_splits_table(inspection))
    console.print(_labels_table(inspection))
    _print_columns(inspection, console, flags)
    if inspection.data.grouped:
        for split in dict.fromkeys(("train", inspection.data.tested)):
            if split in inspection.data.splits:
                console.print(_groups_table(inspection, split))
    findings = inspection.findings
    console.print(counted(len(findings), "finding") if findings else "Nothing suspicious was found.", style="bold")
    for finding in findings:
        console.print(f"{finding.severity}: {finding.code}", style=COLOURS[finding.severity])
        console.print(Padding(in_flags(finding.sentence, flags), (0, 0, 0, 2)))
    console.print(inspection.resolution())


def _splits_table(inspection: Inspection) -> Table:
    table = Table(title=inspection.data.source)
    table.add_column("split")
    for name in ("rows", "groups", "smallest", "q1", "median", "q3", "largest"):
        table.add_column(name, justify="right")
    for split in inspection.splits:
        sizes = [f"{size:,.10g}" for size in split.sizes] if inspection.data.grouped else ["-"] * 5
        groups = f"{split.groups:,}" if inspection.data.grouped else "-"
        table.add_row(split.split, f"{split.rows:,}", groups, *sizes)
    lost = int((inspection.data.split < 0).sum())
    if lost:
        table.add_row("in no split", f"{lost:,}", *[""] * 6, style="dim")
    return table


def _labels_table(inspection: Inspection) -> Table:
    label = inspection.data.label
    total = np.bincount(label[label >= 0], minlength=len(inspection.data.label_names))
    shown = np.sort(np.argsort(-total, kind="stable")[:LABELS_SHOWN])
    more = f" (the {LABELS_SHOWN} commonest of {len(total):,})" if len(total) > LABELS_SHOWN else ""
    table = Table(title=f"Share of labels{more}")
    table.add_column("split")
    for code in shown:
        table.add_column(inspection.data.label_names[code], justify="right", overflow="fold")
    for split in inspection.splits:
        table.add_row(split.split, *(f"{split.label_shares[code]:.3f}" for code in shown))
    return table


def _print_columns(inspection: Inspection, console: Terminal, flags: Sequence[str]) -> None:
    """How each column is taken, the odd ones first where there are many."""
    columns = columns_taken(inspection.data)
    if not columns:
        return
    shown = columns
    if len(columns) > COLUMNS_SHOWN:
        shown = sorted(columns, key=lambda column: not column.odd)[:COLUMNS_SHOWN]
    table = Table(title="How each column is taken")
    for name in ("column", "as", "holds", "odd"):
        table.add_column(name, overflow="fold")
    told = {name for finding in inspection.findings if finding.code in SAY_REMEDY for name in finding.names}
    for column in shown:
        odd = f"{column.odd}; {column.remedy}" if column.remedy and column.name not in told else column.odd
        table.add_row(*(in_flags(cell, flags) for cell in (column.name, column.role, column.facts, odd)))
    console.print(table)
    if len(shown) < len(columns):
        console.print(f"And {counted(len(columns) - len(shown), 'more column')}, none of which looks odd")


def _groups_table(inspection: Inspection, split: str) -> Table:
    data, cells = inspection.data, inspection.cells
    here = np.flatnonzero(cells.split == data.splits.index(split))
    smallest = here[np.argsort(cells.count[here], kind="stable")][:SMALLEST_SHOWN]
    unusual = here[np.argsort(-cells.unusual[here], kind="stable")]
    unusual = unusual[~np.isin(unusual, smallest)]
    table = Table(title=f"Groups of {split}: the smallest, and those whose labels differ most from the split's")
    table.add_column("group", overflow="fold")
    table.add_column("rows", justify="right")
    table.add_column("labels: share (in the split)", overflow="fold")
    table.add_column("chi-square", justify="right")
    for section in (smallest, unusual[:UNUSUAL_SHOWN]):
        for cell in section:
            name, count = data.group_names[cells.group[cell]], f"{cells.count[cell]:,}"
            table.add_row(name, count, _balance(inspection, cell), f"{cells.unusual[cell]:.1f}")
        table.add_section()
    return table


def _balance(inspection: Inspection, cell: int) -> str:
    cells = inspection.cells
    pairs = slice(*np.searchsorted(cells.cell, (cell, cell + 1)))
    share = np.zeros(len(inspection.data.label_names))
    share[cells.label[pairs]] = cells.label_count[pairs] / max(cells.label_count[pairs].sum(), 1)
    usual = inspection.splits[cells.split[cell]].label_shares
    # Those that differ most, in the order of all labels, so that the rows of the table have them alike.
    differs = np.sort(np.argsort(-np.abs(share - usual), kind="stable")[:2])
    return ", ".join(f"{inspection.data.label_names[code]} {share[code]:.2f} ({usual[code]:.2f})" for code in differs)
