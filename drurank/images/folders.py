"""Folders of pictures as a table: the names of the folders that a picture lies in are its columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from lightning.pytorch.utilities.rank_zero import rank_zero_info
from PIL import Image

from drurank.errors import InputError
from drurank.images.decoding import formats
from drurank.splits import SplitColumn
from drurank.words import counted


def table_of_folder(path: str, folder: Path, levels: Sequence[str], image: str, split: SplitColumn) -> pa.Table:
    """A row for each picture below a folder, in the order of their paths.

    Args:
        path: the folder as it was given, for messages.
        folder: where it is.
        levels: what the folders on the way to a picture say, the outermost first: names of columns.
        image: column of its path, relative to the folder.
        split: the one of these columns that says the split, if any does.

    Raises:
        InputError: if there is no picture, or one lies at another depth.
    """
    readable, known = set(formats()), Image.registered_extensions()
    endings = {ending.lower() for ending, name in known.items() if name in readable}
    files = [file.relative_to(folder) for file in sorted(_files_below(path, folder))]
    seen = [file for file in files if not any(part.startswith(".") for part in file.parts)]
    pictures = [file for file in seen if file.suffix.lower() in endings]
    if not pictures:
        raise InputError(f"{path} is a folder without pictures; give the folder of the pictures, or a table of them")
    for file in pictures:
        if len(file.parts) != len(levels) + 1:
            raise InputError(
                f"{path}: {file.as_posix()} lies in {counted(len(file.parts) - 1, 'folder')}, and levels names "
                f"{len(levels)} ({', '.join(levels)}); name what each folder on the way to a picture says"
            )
    if len(seen) > len(pictures):
        other = next(file for file in seen if file.suffix.lower() not in endings)
        rank_zero_info(
            f"{path}: {counted(len(seen) - len(pictures), 'file')} with other endings than pictures have, as "
            f"{other.as_posix()}, left out"
        )
    columns = {name: [file.parts[depth] for file in pictures] for depth, name in enumerate(levels)}
    if split.name in columns:
        columns[split.name] = [split.cell(name) for name in columns[split.name]]
    return pa.table({image: [file.as_posix() for file in pictures], **columns})


def _files_below(path: str, folder: Path) -> Iterator[Path]:
    """Files below a folder, and below those that are linked there.

    Raises:
        InputError: if a linked folder holds itself, or a name cannot be written as text.
    """
    for place, folders, names in os.walk(folder, followlinks=True):
        for name in folders:
            inside = os.path.join(place, name)
            if os.path.islink(inside) and os.path.realpath(inside) in _real_folders(folder, place):
                raise InputError(f"{path}: {inside} is a link to a folder that it lies in; remove it")
        for name in names:
            try:
                name.encode()
            except UnicodeEncodeError as error:
                raise InputError(f"{path}: the file {name!a} has a name that is not valid text; rename it") from error
            yield Path(place, name)


def _real_folders(folder: Path, place: str) -> set[str]:
    """Where the folders on the way to a place really lie, that of the place and the first included."""
    way = [Path(place), *Path(place).parents]
    return {os.path.realpath(one) for one in way[: way.index(folder) + 1]}
