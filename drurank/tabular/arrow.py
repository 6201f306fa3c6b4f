"""Typed tables: Parquet, Arrow files, and folders that the library ``datasets`` saved.

Such a folder is shards in Arrow's stream format and a file that names them, which pyarrow reads by itself, at once and
without the library.
"""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from drurank.errors import InputError

log = logging.getLogger(__name__)

UNNAMED_INDEX = re.compile(r"__index_level_\d+__")
STATE, PARTS = "state.json", "dataset_dict.json"
SPELLINGS = {"validation": "val"}
"""What ``datasets`` calls parts, and how a split column says them."""


def read_parquet(path: str, file: Path) -> pa.Table:
    """Read a Parquet file, without the index that pandas adds.

    Raises:
        InputError: if it names labels that are not there.
    """
    with pa_parquet.ParquetFile(file) as opened:
        return _checked(path, opened.read())


def read_arrow(path: str, file: Path) -> pa.Table:
    """Read an Arrow or Feather file, of the format for files or that for streams.

    Raises:
        InputError: if it names labels that are not there.
    """
    with pa.OSFile(str(file)) as source:
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        opened = pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)
        return _checked(path, opened.read_all())


def is_dataset(folder: Path) -> bool:
    """Whether a folder is one that ``Dataset.save_to_disk`` or ``DatasetDict.save_to_disk`` wrote."""
    return (folder / STATE).is_file() or (folder / PARTS).is_file()


def read_dataset(path: str, folder: Path, split: str) -> pa.Table:
    """Read such a folder.

    Args:
        path: as it was given, for messages.
        folder: where it is.
        split: column that is to say which part of a ``DatasetDict`` a row is in, where there is none of that name.

    Raises:
        InputError: if the parts differ in columns, or a part is not there.
    """
    if not (folder / PARTS).is_file():
        return _read_shards(path, folder)
    names: list[str] = _noted(path, folder / PARTS, "splits")
    return _joined(path, {name: _read_shards(path, folder / name) for name in names}, split)


def from_datasets(path: str, dataset: Any, split: str) -> pa.Table:
    """The rows of a ``Dataset`` or ``DatasetDict`` of the library ``datasets``; see ``read_dataset``.

    Raises:
        InputError: also if it is neither, or has no rows.
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
        raise InputError(f"{path} is none of the library datasets; give a Dataset or a DatasetDict")
    rows = dataset.with_format("arrow")
    table: pa.Table = rows[:] if len(rows) else rows.data.table.slice(0, 0)
    # What says that numbers stand for labels is in the metadata, which a selection of rows loses.
    metadata = {b"huggingface": json.dumps({"info": {"features": dataset.features.to_dict()}}).encode()}
    return _checked(path, table.replace_schema_metadata(metadata))


def _joined(path: str, parts: dict[str, pa.Table], split: str) -> pa.Table:
    """The rows of all parts, with a column for the part where there is none of that name."""
    names = list(parts)
    if not parts:
        raise InputError(f"{path} has no parts; give a folder with at least one")
    first = next(iter(parts.values())).schema
    for name, part in parts.items():
        if not part.schema.equals(first):
            odd = sorted({_said(field) for field in part.schema} ^ {_said(field) for field in first})
            raise InputError(f"{path}: its parts {names[0]} and {name} differ in {odd[0]}; save them alike")
    whole = pa.concat_tables(parts.values())
    if split in whole.column_names:
        log.warning(f"{path}: its column {split!r} says the split, not the names of its parts")
        return whole
    said = [SPELLINGS.get(name, name) for name in names]
    column = np.repeat(np.array(said, dtype=object), [part.num_rows for part in parts.values()])
    return whole.append_column(split, pa.array(column, pa.string()))


def _read_shards(path: str, folder: Path) -> pa.Table:
    files = _noted(path, folder / STATE, "_data_files")
    shards = [read_arrow(path, folder / shard["filename"]) for shard in files]
    if not shards:
        raise InputError(f"{path} has no rows; give a table with at least one")
    return pa.concat_tables(shards)


def _said(field: pa.Field) -> str:
    return f"{field.name}: {field.type}"


def _noted(path: str, file: Path, key: str) -> list[Any]:
    try:
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        noted = list(content[key])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: {file.name} does not say {key}; save the folder anew by save_to_disk") from error
    if content.get("_indices_data_files"):
        # A selection that old releases did not carry out: the shards hold other rows.
        raise InputError(f"{path} keeps the places of its rows apart; save it anew with a newer `datasets`")
    return noted


def _checked(path: str, table: pa.Table) -> pa.Table:
    table.validate(full=True)
    table = table.select([i for i, name in enumerate(table.column_names) if not UNNAMED_INDEX.fullmatch(name)])
    for place, field in enumerate(table.schema):
        if pa.types.is_string_view(field.type):
            # As polars writes text; Arrow filters and hashes no such column.
            table = table.set_column(place, field.name, table[place].cast(pa.large_string()))
    for name, labels in _label_names(table.schema).items():
        place = table.column_names.index(name)
        table = table.set_column(place, name, _named(path, name, table[name], labels))
    return table


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


def _named(path: str, name: str, numbers: pa.ChunkedArray, labels: list[str]) -> pa.Array:
    number = numbers.cast(pa.int64()).fill_null(-1).to_numpy()
    wrong = (number < -1) | (number >= len(labels))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"{path}: column {name!r}, row {row} (the first is 0): {number[row]} is none of the {len(labels)} labels "
            "that the file names; mend it, or save the column as plain numbers"
        )
    # -1 is how `datasets` writes a label that is not known.
    return pa.array(np.array([*labels, None], dtype=object)[number], pa.string())
