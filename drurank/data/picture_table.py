"""A table of pictures: where they are, and which of them cannot be used."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from lightning.pytorch.utilities.rank_zero import rank_zero_warn

from drurank.data.file import FileData
from drurank.errors import InputError
from drurank.images.cells import holds_names, holds_pictures, named, pictures_of
from drurank.images.folders import table_of_folder
from drurank.images.pictures import Check, Pictures
from drurank.splits import SplitColumn
from drurank.tabular.arrow import is_dataset
from drurank.tabular.columns import Column
from drurank.tabular.formats import PARQUET
from drurank.tabular.reading import suffix_of
from drurank.tabular.rows import GroupedRows
from drurank.tabular.several import Source

Broken = Literal["error", "drop"]


class PictureTable(FileData):
    """What ``Images`` reads before it decodes anything.

    Attributes:
        image: column of the pictures.
        root: folder that paths are relative to, if it was given.
        levels: what the folders on the way to a picture say.
        check: what is read of each picture before training.
        broken: whether one that cannot be used is an error or dropped.
    """

    image: str
    root: str | None
    levels: list[str]
    check: Check
    broken: Broken

    def _converted(self, table: pa.Table) -> pa.Table:
        if self.image not in table.column_names:
            return table  # said where it is missed
        kind = table[self.image].type
        if holds_pictures(kind):  # which are compared and told by what they hold
            return table.set_column(table.column_names.index(self.image), self.image, named(table[self.image]))
        if not holds_names(kind):
            raise InputError(
                f"{self.path}: column {self.image!r} holds {kind} and no pictures or names of files; name the column "
                "that does as image=..., of text, of binary cells, or as the library datasets writes pictures"
            )
        return table

    @cached_property
    def _source(self) -> Source:
        folder = Path(os.path.expanduser(self.path))
        if self._given is not None or not folder.is_dir() or is_dataset(folder) or _holds_tables(folder):
            if self.levels:
                raise InputError(f"levels is {self.levels} and {self.path} no folder of folders; leave it out")
            return super()._source
        levels, split = self.levels or [self.label], SplitColumn(self.split or "", self.split_names)
        return Source.given(self.path, table_of_folder(self.path, folder, levels, self.image, split))

    @property
    @abstractmethod
    def _decodes_once(self) -> bool:
        """Whether all pictures are decoded before training."""

    @property
    def _folder(self) -> Path:
        """What paths are relative to."""
        if self.root is not None:
            root = Path(self.root).expanduser()
            if not root.is_dir():
                raise InputError(f"root is {self.root!r}, which is no folder; give the one that the pictures are in")
            return root
        if self._given is not None:
            return Path()
        files = [Path(os.path.expanduser(name)) for name in self._source.files.names]
        folders = dict.fromkeys(file if file.is_dir() else file.parent for file in files)
        if len(folders) > 1 and not holds_pictures(self._source.table[self.image].type):
            raise InputError(
                f"{self.path}: the tables lie in {len(folders)} folders, so that names of pictures do not say which "
                "they are relative to; give the folder as root=..."
            )
        return next(iter(folders))

    @cached_property
    def _pictures(self) -> Pictures:
        return pictures_of(self._source.table[self.image], self._folder, self.root)

    @cached_property
    def _looked(self) -> dict[int, str]:
        """What is wrong with the pictures that were looked at, by row; empty where nothing is."""
        return {}

    @cached_property
    def _rows(self) -> GroupedRows:
        """The rows that are used, those whose pictures are broken in no split, where they are to be dropped.

        Raises:
            InputError: naming the first picture that is missing or broken.
        """
        data = super()._rows
        used = data.used
        new = np.array([row for row in used.tolist() if row not in self._looked], dtype=np.int64)
        # What is decoded once anyway is dropped before that, not found then.
        drops_early = self.broken == "drop" and self._decodes_once
        faults = self._pictures.faults(new, "whole" if drops_early else self.check, self.path)
        self._looked |= dict.fromkeys(new.tolist(), "") | faults
        broken = np.array([row for row in used.tolist() if self._looked[row]], dtype=np.int64)
        if len(broken) and self.broken == "error":
            more = f", one of {len(broken):,} pictures that cannot be used" if len(broken) > 1 else ""
            remedy = "fix or remove it, or leave such rows out (broken='drop')"
            raise InputError(f"{self._name_of(int(broken[0]))} {self._looked[int(broken[0])]}{more}; {remedy}")
        if len(broken):
            split = data.split.copy()
            split[broken] = -1
            self._say_dropped(data, broken)
            data = replace(data, split=split)
        return data

    def _say_dropped(self, data: GroupedRows, broken: np.ndarray) -> None:
        by_split = np.bincount(data.split[broken], minlength=len(data.splits))
        said = ", ".join(f"{name} {count:,}" for name, count in zip(data.splits, by_split, strict=True) if count)
        first = int(broken[0])
        rank_zero_warn(
            f"{self.path}: left out {len(broken):,} of {len(data.used):,} rows whose pictures cannot be used ({said}), "
            f"as {self._name_of(first)} {self._looked[first]}"
        )

    @property
    def _name_of(self) -> Callable[[int], str]:
        """Gives a row's picture as a message begins with it; one that a cell holds has no name."""
        column = Column(self.path, self.image, self._table[self.image], files=self._source.several)
        return partial(_where, column, holds_pictures(self._source.table[self.image].type))


def _where(column: Column, is_held: bool, row: int) -> str:
    return f"{column.file_of(row)}: {f'the picture in {column.where(row)}' if is_held else column.said(row)}"


def _holds_tables(folder: Path) -> bool:
    """Whether a folder has parts of a table, which hold pictures or their names."""
    return any(suffix_of(file) in PARQUET for file in folder.iterdir())
