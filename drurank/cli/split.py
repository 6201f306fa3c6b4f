"""split: a table with a column that says which part each row is in, by group, and a manifest of the parts."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from drurank.cli.parser import SentenceParser
from drurank.errors import InputError
from drurank.files import write_json
from drurank.splits import SPLITS
from drurank.tabular.columns import Column, as_names, code_groups, refuse_unknown
from drurank.tabular.reading import DELIMITERS, read_table, suffix_of
from drurank.tabular.splitting import LEFT_OUT, TRAIN, PartSummary, SplitOptions, split_by_group, summarise
from drurank.tabular.writing import WRITTEN, write_table

LABELS_SHOWN = 10


def run(words: list[str]) -> dict[str, Any]:
    """Split a table as these words say, and show the parts.

    Returns:
        The manifest.
    """
    parser = SentenceParser(prog="cli.py split", description="Split a table by group.")
    parser.add_function_arguments(split_file, skip={"options"})
    parser.add_class_arguments(SplitOptions)
    parser.let_stand_alone("overwrite", "stratify")
    given = vars(parser.parse_args(words))
    options = SplitOptions(**{field.name: given.pop(field.name) for field in fields(SplitOptions)})
    manifest = split_file(**given, options=options)
    _show(manifest, given["output"])
    fit = ["python", "cli.py", "fit", "--data", "Table", "--data.path", given["output"], "--data.label", given["label"]]
    fit += ["--data.group", ",".join(as_names(given["group"])), "--data.split", given["split"], "--model", "DRU"]
    print(f"Train on it: {shlex.join(fit)}")
    return manifest


def split_file(
    path: str,
    label: str,
    group: str | list[str],
    output: str,
    split: str = "split",
    overwrite: bool = False,
    delimiter: str | None = None,
    text_encoding: str | None = None,
    options: SplitOptions | None = None,
) -> dict[str, Any]:
    """Write a table again with a column for the part of each row, and beside it ``<output>.manifest.json``.

    Args:
        path: the table.
        label: its column of the label.
        group: its column of the group, or several (with commas), whose combinations are the groups.
        output: file to write; .csv, .tsv, .parquet or .pq. All columns and the order of rows stay as they are
            (an index that pandas wrote without a name is no column).
        split: name of the new column; its values are train, id_val, ood_val, id_test and ood_test.
        overwrite: whether an output and a manifest that exist are replaced.
        delimiter: what cuts the cells of a CSV or TSV file, if not what its name says.
        text_encoding: encoding of a text file, if not UTF-8. The output is in UTF-8.
        options: how groups and rows are shared out; the defaults, if not given.

    Returns:
        The manifest.

    Raises:
        InputError: if the table cannot be split so, or the output not be written.
    """
    options, target = options or SplitOptions(), Path(os.path.expanduser(output))
    manifest_file = target.with_name(f"{target.stem}.manifest.json")
    _refuse_output(path, target, manifest_file, overwrite)
    table, names = read_table(path, delimiter=delimiter, text_encoding=text_encoding), as_names(group)
    _refuse_columns(path, table, [label, *names], split)
    every = np.arange(table.num_rows)
    labels = Column(path, label, table[label])
    if (labels.codes < 0).any():
        raise labels.error(int(np.argmax(labels.codes < 0)), "is no label; give each row one, or leave the row out")
    y, label_names = code_groups([labels], every, blank=False)
    g, group_names = code_groups([Column(path, name, table[name]) for name in names], every, blank=False)
    part = split_by_group(table, y, g, group_names, options, source=path)
    _refuse_lost_label(path, part, y, label_names)
    left_out = np.bincount(g[part == LEFT_OUT], minlength=len(group_names))
    manifest = {
        "source": {"name": Path(path).name, "rows": table.num_rows, "sha256": _fingerprint(path)},
        "output": target.name,
        "columns": {"label": label, "group": names, "split": split},
        "options": asdict(options),
        "parts": {name: asdict(summary) for name, summary in summarise(part, y, g, label_names).items()},
        "left_out": {
            "rows": int(left_out.sum()),
            "groups": int((left_out > 0).sum()),
            "group_rows": {group_names[number]: int(left_out[number]) for number in np.flatnonzero(left_out)},
        },
    }
    _write(table, part, split, target, manifest_file, manifest)
    return manifest


def _refuse_output(path: str, target: Path, manifest_file: Path, overwrite: bool) -> None:
    suffix = target.suffix.lower()
    if suffix not in WRITTEN:
        raise InputError(f"output is {str(target)!r}; give a file that ends in {', '.join(WRITTEN)}")
    if suffix_of(path) in DELIMITERS and suffix not in DELIMITERS:
        raise InputError(
            f"{path} is of text, whose numbers would be words in {suffix}; give an --output that ends in "
            f"{' or '.join(DELIMITERS)}"
        )
    if target.resolve() == Path(path).expanduser().resolve():
        raise InputError(f"output is {str(target)!r}, the table itself; give another file")
    for file in (target, manifest_file):
        exists = file.exists()
        if exists and file.is_dir():
            raise InputError(f"{file} is a folder; give another --output")
        if exists and not overwrite:
            raise InputError(f"{file} exists; give another --output, or write --overwrite to replace it")


def _refuse_columns(path: str, table: pa.Table, wanted: list[str], split: str) -> None:
    refuse_unknown(path, table, wanted)
    if not split.strip():
        raise InputError(f"split is {split!r}; give a name for the new column")
    if split in table.column_names:
        raise InputError(
            f"{path} has a column {split!r} already; give the new one another name, as --split {split}_2, or take the "
            "old one out of the file"
        )


def _refuse_lost_label(path: str, part: np.ndarray, label: np.ndarray, names: list[str]) -> None:
    rows = np.bincount(label[part >= 0], minlength=len(names))
    lost = np.flatnonzero((rows > 0) & (np.bincount(label[part == TRAIN], minlength=len(names)) == 0))
    if len(lost):
        raise InputError(
            f"{path}: the label {names[lost[0]]!r} (rows with it: {rows[lost[0]]:,}) would be in no training row, "
            "since these are drawn for other parts; give another --seed, or leave its rows out"
        )


def _fingerprint(path: str) -> str:
    source = Path(os.path.expanduser(path))
    if source.is_dir():
        files = sorted(file for file in source.rglob("*") if file.is_file())
        return hashlib.sha256("".join(map(_digest, files)).encode()).hexdigest()
    return _digest(source)


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _write(
    table: pa.Table, part: np.ndarray, split: str, target: Path, manifest_file: Path, manifest: Mapping[str, Any]
) -> None:
    kept = part != LEFT_OUT
    rows = table if kept.all() else table.filter(pa.array(kept))
    new = pa.DictionaryArray.from_arrays(pa.array(part[kept], pa.int8()), list(SPLITS)).cast(pa.string())
    write_table(rows.append_column(split, new), target)
    write_json(manifest_file, manifest)


def _show(manifest: Mapping[str, Any], output: str) -> None:
    parts = {name: PartSummary(**summary) for name, summary in manifest["parts"].items()}
    labels = list(next(iter(parts.values())).label_shares)
    table = Table("", title=escape(f"{output}: {sum(part.rows for part in parts.values()):,} rows"))
    for name in parts:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_row("groups", *(f"{part.groups:,}" for part in parts.values()))
    table.add_row("rows", *(f"{part.rows:,}" for part in parts.values()))
    table.add_row("rows of a group, fewest", *(f"{part.min_group_rows:,}" for part in parts.values()))
    table.add_row("rows of a group, median", *(f"{part.median_group_rows:,.10g}" for part in parts.values()))
    for label in labels[:LABELS_SHOWN]:
        said = escape(f"share of {manifest['columns']['label']} {label}")
        table.add_row(said, *(f"{part.label_shares[label]:.3f}" for part in parts.values()))
    Console().print(table)
    if len(labels) > LABELS_SHOWN:
        print(f"The shares of all {len(labels):,} labels stand in the manifest")
    left_out = manifest["left_out"]
    if left_out["rows"]:
        print(
            f"Left out: {left_out['rows']:,} rows of {left_out['groups']:,} groups with fewer than "
            f"{manifest['options']['min_count']:,} rows; the manifest names them"
        )
