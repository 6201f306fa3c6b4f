"""Cells of a table that name pictures or hold them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from drurank.images.pictures import Pictures

BYTES, PATH = "bytes", "path"
"""What ``datasets`` calls the two parts of a picture."""


def holds_pictures(kind: pa.DataType) -> bool:
    """Whether cells of this type are pictures, or a part of them is, and no names of files alone."""
    if pa.types.is_struct(kind):
        held = kind.get_field_index(BYTES)
        named = kind.get_field_index(PATH)
        is_path = named < 0 or pa.types.is_string(kind[named].type) or pa.types.is_large_string(kind[named].type)
        return held >= 0 and _is_binary(kind[held].type) and is_path
    return _is_binary(kind)


def holds_names(kind: pa.DataType) -> bool:
    """Whether cells of this type may be names of files."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return any(is_kind(plain) for is_kind in kinds)


def named(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Such cells as text: the digest of what they hold, or the path of those that say one; null where there is none."""
    contents, paths = _parts(column)
    names = [
        path.as_py() if content.as_py() is None else hashlib.sha256(content.as_buffer()).hexdigest()
        for content, path in zip(contents, paths, strict=True)
    ]
    return pa.chunked_array([pa.array(names, pa.large_string())])


def pictures_of(column: pa.ChunkedArray, folder: Path, root: str | None) -> Pictures:
    """The pictures of a column.

    Args:
        column: names of files, or pictures.
        folder: what names are relative to, and within which the files lie.
        root: how that was given, for messages.
    """
    held = holds_pictures(column.type)
    contents, paths = _parts(column) if held else (None, column.cast(pa.large_string()))
    files, faults = [], {}
    whole = os.path.abspath(folder)
    for row, name in enumerate(paths.to_pylist()):
        file, fault = _located(name, whole, root)
        files.append(file)
        if fault and (contents is None or not contents[row].is_valid):
            faults[row] = fault
    return Pictures(files, contents, faults)


def _located(name: str | None, folder: str, root: str | None) -> tuple[str, str]:
    """Where a file is, and what is wrong with its name."""
    if name is None or not name.strip():
        return "", "names no picture; give its file"
    file = os.path.normpath(os.path.join(folder, name.strip()))
    if "\0" in name:
        return "", "is no name of a file"
    if os.path.commonpath([folder, file]) != folder:
        where = f"root, {root}" if root is not None else f"the folder of the table, {folder}"
        return "", f"lies outside of {where}; give the folder that all pictures are in as root=..."
    return file, ""


def _parts(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Contents and paths."""
    if _is_binary(column.type):
        return column.cast(pa.large_binary()), pa.chunked_array([pa.nulls(len(column), pa.large_string())])
    contents = pc.struct_field(column, BYTES).cast(pa.large_binary())
    if column.type.get_field_index(PATH) < 0:
        return contents, pa.chunked_array([pa.nulls(len(column), pa.large_string())])
    return contents, pc.struct_field(column, PATH).cast(pa.large_string())


def _is_binary(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_binary(kind.value_type)
    kinds = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)
    return any(is_kind(kind) for is_kind in kinds)
