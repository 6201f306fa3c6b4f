"""Typed tables: Parquet, Arrow files, and what the library ``datasets`` saved or holds."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from drurank.errors import InputError
from drurank.files import read_json
from drurank.parquet import Wanted, opened_parquet
from drurank.shapes import check_shape
from drurank.splits import SplitColumn

log = logging.getLogger(__name__)

UNNAMED_INDEX = re.compile(r"__index_level_\d+__")
STATE, PARTS = "state.json", "dataset_dict.json"
REMEDY = "save it again by save_to_disk"


def read_parquet(path: str, file: Path, wanted: Wanted | None = None) -> pa.Table:
    """Read a Parquet file, without the index that pandas adds.

    Args:
        path: as it was given, for messages.
        file: where it is.
        wanted: whether a column is read; all are, if not given.

    Raises:
        InputError: if it becomes too large, or names columns otherwise than it was written, or labels that are not
            there.
    """
    if wanted is None:
        with opened_parquet(path, file) as (opened, _):
            return checked(path, opened.read())
    with opened_parquet(path, file, wanted) as (opened, names):
        table = opened.read(names)
        return checked(path, table.select([i for i, name in enumerate(table.column_names) if wanted(name)]))


def parquet_head(path: str, file: Path, names: Collection[str]) -> pa.Table:
    """Those of some columns that a Parquet file has, without rows, of the types that ``parquet_pieces`` has.

    Args:
        path: as it was given, for messages.
        file: where it is.
        names: of the columns.
    """
    with opened_parquet(path, file, names.__contains__) as (opened, _):
        schema = opened.schema_arrow
        kept = [place for place, name in enumerate(schema.names) if name in names]
        return checked(path, _decoded(schema.empty_table().select(kept)))


def parquet_pieces(path: str, file: Path, names: Collection[str], rows: int) -> Iterator[pa.Table]:
    """Columns of a Parquet file piece by piece, of types that Arrow can group by; ``checked`` has to follow.

    Args:
        path: as it was given, for messages.
        file: where it is.
        names: of the columns.
        rows: of a piece at the most.

    Raises:
        InputError: if the columns become too large, or the file is damaged.
    """
    with opened_parquet(path, file, names.__contains__) as (opened, found):
        for batch in opened.iter_batches(rows, columns=found):
            batch.validate(full=True)
            piece = pa.Table.from_batches([batch])
            kept = piece.select([place for place, name in enumerate(piece.column_names) if name in names])
            yield _decoded(kept).replace_schema_metadata(opened.schema_arrow.metadata)


def _decoded(table: pa.Table) -> pa.Table:
    """A table without codes of text and views of it, which Arrow does not group by."""
    for place, field in enumerate(table.schema):
        column = _without_views(table[place])
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if column.type != field.type:
            table = table.set_column(place, field.name, column)
    return table


def read_arrow(path: str, file: Path) -> pa.Table:
    """Read an Arrow or Feather file, of the format for files or that for streams.

    Raises:
        InputError: if it names labels that are not there.
    """
    with pa.OSFile(str(file)) as source:
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        opened = pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)
        return checked(path, opened.read_all())


def is_dataset(folder: Path) -> bool:
    """Whether a folder is one that ``Dataset.save_to_disk`` or ``DatasetDict.save_to_disk`` wrote."""
    return (folder / STATE).is_file() or (folder / PARTS).is_file()


def read_dataset(path: str, folder: Path, split: SplitColumn) -> pa.Table:
    """Read such a folder.

    Args:
        path: as it was given, for messages.
        folder: where it is.
        split: column that is to say which split of a ``DatasetDict`` a row is in, where there is none of that name.

    Raises:
        InputError: if it is damaged or names files elsewhere, or the splits differ in columns.
    """
    from datasets import load_from_disk  # here, since it is slow to import

    try:
        _refuse_other_folders(folder)
        dataset = load_from_disk(str(folder))
    except Exception as error:
        said = f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
        said = str(error).removesuffix(f"; {REMEDY}") if isinstance(error, InputError) else said
        raise InputError(f"{path} cannot be read as a folder of `datasets`: {said}; {REMEDY}") from error
    return from_datasets(path, dataset, split)


def _refuse_other_folders(folder: Path) -> None:
    """Refuse splits and files that such a folder names and that are not in it."""
    splits = read_json(folder / PARTS, REMEDY, {"splits": list})["splits"] if (folder / PARTS).is_file() else []
    for name in splits:
        _refuse_path(folder / PARTS, name)
    for state in [folder / STATE, *(folder / name / STATE for name in splits)]:
        if state.is_file():
            for entry in read_json(state, REMEDY, {"_data_files": list})["_data_files"]:
                check_shape(str(state), entry, {"filename": str}, REMEDY, "_data_files")
                _refuse_path(state, entry["filename"])


def _refuse_path(file: Path, name: Any) -> None:
    if not isinstance(name, str) or name in ("", ".", "..") or re.search(r"[/\\\0]", name):
        raise InputError(f"{file} names {name!r:.80}, which is nothing in its own folder; {REMEDY}")


def from_datasets(path: str, dataset: Any, split: SplitColumn) -> pa.Table:
    """The rows of a table in memory.

    Args:
        path: what it is called in messages.
        dataset: a ``Dataset`` or a DataFrame (pandas, polars), an Arrow table or what gives Arrow's C stream; or a
            ``DatasetDict``, or a dict of the others by split.
        split: see ``read_dataset``.

    Raises:
        InputError: if it is none of these, has no rows, or the splits differ in columns.
    """
    if isinstance(dataset, dict):
        parts = {name: _rows_of(path, part) for name, part in dataset.items()}
        return _joined(path, {name: part for name, part in parts.items() if part.num_rows}, split)
    table = _rows_of(path, dataset)
    if table.num_rows == 0:
        raise InputError(f"{path} has no rows; give a table with at least one")
    return table


def _rows_of(path: str, dataset: Any) -> pa.Table:
    if not hasattr(dataset, "with_format"):
        return checked(path, _arrow_of(path, dataset))
    rows = dataset.with_format("arrow")
    table: pa.Table = rows[:] if len(rows) else rows.data.table.slice(0, 0)
    # What says that numbers stand for labels is in the metadata, which a selection of rows loses.
    metadata = {b"huggingface": json.dumps({"info": {"features": dataset.features.to_dict()}}).encode()}
    return checked(path, table.replace_schema_metadata(metadata))


def _arrow_of(path: str, given: Any) -> pa.Table:
    try:
        if isinstance(given, pa.Table):
            return given
        if hasattr(given, "to_frame"):
            pass  # a column of pandas or polars
        elif type(given).__module__.partition(".")[0] == "pandas":
            # Its index is not a column.
            return pa.Table.from_pandas(given, preserve_index=False)
        elif hasattr(given, "__arrow_c_stream__"):
            return pa.table(given)
        elif hasattr(given, "to_arrow"):
            return pa.table(given.to_arrow())
    except (pa.ArrowException, TypeError, ValueError) as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(f"{path} is not a table that Arrow can hold: {said}; write one kind in a column") from error
    raise InputError(
        f"{path} is not a table; give the path of a file, a DataFrame, an Arrow table, a Dataset or a DatasetDict"
    )


def _joined(path: str, parts: dict[str, pa.Table], split: SplitColumn) -> pa.Table:
    """The rows of all splits, with a column for the split where there is none of that name."""
    names = list(parts)
    if not parts:
        raise InputError(f"{path} has no rows; give a table with at least one")
    first = next(iter(parts.values())).schema
    for name, part in parts.items():
        if not part.schema.equals(first):
            odd = sorted({_said(field) for field in part.schema} ^ {_said(field) for field in first})
            raise InputError(f"{path}: its splits {names[0]} and {name} differ in {odd[0]}; save them alike")
    whole = pa.concat_tables(parts.values())
    if split.name in whole.column_names:
        log.warning(f"{path}: the split is taken from its column {split.name!r}, not from the names of its splits")
        return whole
    said = [split.cell(name) for name in names]
    column = np.repeat(np.array(said, dtype=object), [part.num_rows for part in parts.values()])
    return whole.append_column(split.name, pa.array(column, pa.string()))


def _said(field: pa.Field) -> str:
    return f"{field.name}: {field.type}"


def checked(path: str, table: pa.Table, places: np.ndarray | None = None) -> pa.Table:
    """A table without an index of pandas and views of text, and with the names of labels that numbers stand for.

    Args:
        path: what it is called in messages.
        table: as it was read.
        places: of its rows in the file, int64 ``[n]``, where it has not all of them in their order.

    Raises:
        InputError: if a number stands for no label.
    """
    table.validate(full=True)
    table = table.select([i for i, name in enumerate(table.column_names) if not UNNAMED_INDEX.fullmatch(name)])
    for place, field in enumerate(table.schema):
        column = table[place]
        plain = _without_views(column)
        if plain is not column:
            table = table.set_column(place, field.name, plain)
    for name, labels in _label_names(table.schema).items():
        place = table.column_names.index(name)
        table = table.set_column(place, name, _named(path, name, table[name], labels, places))
    return table


def _without_views(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column as it is, or with other text where it is as polars writes text and categories.

    Arrow neither filters nor hashes views of text.
    """
    kind = column.type
    if pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    if not (pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type)):
        return column
    chunks = [
        pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.large_string()))
        for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, pa.dictionary(kind.index_type, pa.large_string()))


def _label_names(schema: pa.Schema) -> dict[str, list[str]]:
    """Names of the labels by column, where ``datasets`` wrote the table and numbers stand for names in it."""
    try:
        features: dict[str, Any] = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        kinds = {name: (kind.get("_type"), kind.get("names")) for name, kind in features.items()}
    except (KeyError, ValueError, TypeError, AttributeError):
        return {}
    return {
        name: names
        for name, (kind, names) in kinds.items()
        if kind == "ClassLabel" and schema.names.count(name) == 1 and pa.types.is_integer(schema.field(name).type)
    }


def _named(
    path: str, name: str, numbers: pa.ChunkedArray, labels: list[str], places: np.ndarray | None = None
) -> pa.Array:
    number = numbers.cast(pa.int64()).fill_null(-1).to_numpy()
    wrong = (number < -1) | (number >= len(labels))
    if wrong.any():
        rows = np.flatnonzero(wrong)
        row = int(rows[0 if places is None else np.argmin(places[rows])])
        place = row if places is None else int(places[row])
        raise InputError(
            f"{path}: column {name!r}, row {place} (the first is 0): {number[row]} is not one of the {len(labels)} "
            f"labels that the file names; give 0 to {len(labels) - 1}, or save the column as plain numbers"
        )
    # -1 is how `datasets` writes a label that is not known.
    return pa.array(np.array([*labels, None], dtype=object)[number], pa.string())
