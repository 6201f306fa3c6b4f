"""A table in one file or several, and which row of which file one of its rows is."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from drurank.errors import InputError
from drurank.parquet import Wanted
from drurank.splits import USUAL_COLUMN, SplitColumn
from drurank.tabular.arrow import is_dataset
from drurank.tabular.columns import Column, Files
from drurank.tabular.formats import PARQUET
from drurank.tabular.patterns import files_matching
from drurank.tabular.reading import read_head, read_table, suffix_of


@dataclass(frozen=True)
class Source:
    """A table and the files that it was read from.

    Attributes:
        path: as it was given, or the file where it is but one; for messages.
        files: that it was read from.
        table: the rows of all files.
        places: of the table's rows among those of all files, int64 ``[n]``, where it has not all of them.
        times: how often each occurs, int64 ``[n]``, where it has only those that differ; once, if not given.
    """

    path: str
    files: Files
    table: pa.Table
    places: np.ndarray | None = None
    times: np.ndarray | None = None

    @classmethod
    def read(
        cls,
        path: str,
        *,
        delimiter: str | None = None,
        text_encoding: str | None = None,
        split: SplitColumn = USUAL_COLUMN,
        wanted: Wanted | None = None,
    ) -> Source:
        """Read what ``path`` names, file after file in the order of their names; the rest is as in ``read_table``.

        Raises:
            InputError: if a file is missing, named twice or cannot be read, or has other columns than the first.
        """
        files = files_of(path)
        tables = [
            read_table(file, delimiter=delimiter, text_encoding=text_encoding, split=split, wanted=wanted)
            for file in files
        ]
        starts = np.cumsum([0, *(table.num_rows for table in tables[:-1])])
        return cls(files[0] if len(files) == 1 else path, Files(files, starts), joined(files, tables))

    @classmethod
    def given(cls, name: str, table: pa.Table) -> Source:
        """A table that was read from no file.

        Args:
            name: what it is called in messages.
            table: its rows.
        """
        return cls(name, Files([name], np.zeros(1, dtype=np.int64)), table)

    def column(self, name: str) -> Column:
        """One of its columns.

        Raises:
            InputError: if its type is neither a number, a boolean nor text.
        """
        return Column(self.path, name, self.table[name], self.places, self.several, times=self.times)

    @property
    def rows(self) -> int:
        """Rows that its own stand for."""
        return int(self.table.num_rows if self.times is None else self.times.sum())

    def take(self, rows: np.ndarray) -> Source:
        """Some of its rows.

        Args:
            rows: places in the table, int64 ``[k]``.
        """
        return replace(
            self,
            table=self.table.take(pa.array(rows)),
            places=rows if self.places is None else self.places[rows],
            times=None if self.times is None else self.times[rows],
        )

    @property
    def several(self) -> Files | None:
        """The files, where they are more than one."""
        return self.files if len(self.files.names) > 1 else None

    def fingerprint(self) -> str:
        """SHA-256 of the file, or of those of all files in their order."""
        paths = [Path(os.path.expanduser(file)) for file in self.files.names]
        digests = [digest for file in paths for digest in _digests(file)]
        alone = len(paths) == 1 and not paths[0].is_dir()
        return digests[0] if alone else hashlib.sha256("".join(digests).encode()).hexdigest()


def check_head(
    path: str,
    check: Callable[[pa.Table], None],
    *,
    delimiter: str | None = None,
    text_encoding: str | None = None,
) -> list[str] | None:
    """Check the columns of a table before its rows are read, where the head of its first file says them.

    Args:
        path: as it was given.
        check: raises an error of a table without rows whose columns are not as wanted.
        delimiter: see ``read_table``.
        text_encoding: see there.

    Returns:
        The names of the columns; ``None`` where no head says them.

    Raises:
        InputError: if a file is named twice, or what the check raises.
    """
    head = read_head(files_of(path)[0], delimiter=delimiter, text_encoding=text_encoding)
    if head is None:
        return None
    check(head)
    return list(head.column_names)


def read_files(data: Any) -> list[str]:
    """The files that a data module reads, as far as it has a ``path``."""
    path = getattr(data, "path", None)
    return [os.path.expanduser(file) for file in files_of(path)] if isinstance(path, str) else []


def files_of(path: str) -> list[str]:
    """The files that a path names, sorted.

    They are itself, the parts of a folder of Parquet, those of a pattern as ``part-*.json``, or several with commas.

    Raises:
        InputError: if one is named twice, too much has to be looked through for those of a pattern, or a folder says
            what is in a column.
    """
    if _is_there(path):
        return _parts(path)
    files: list[str] = []
    for piece in path.split(","):
        name = os.path.expanduser(piece.strip())
        files += _parts(name) if _is_there(name) else files_matching(name) or [name]
    files.sort()
    twice = [file for file, other in pairwise(files) if file == other]
    if twice:
        raise InputError(f"{twice[0]} is named twice in path {path!r}; name each file once")
    return files


def _parts(path: str) -> list[str]:
    """The files of Parquet in a folder, as Spark and others write a table; the path itself where it is no such."""
    folder = Path(os.path.expanduser(path))
    if not folder.is_dir() or is_dataset(folder):
        return [path]
    inside = sorted(one for one in folder.iterdir() if not one.name.startswith(("_", ".")))
    partitions = [one.name for one in inside if one.is_dir() and "=" in one.name]
    if partitions:
        raise InputError(
            f"{path} has a folder {partitions[0]!r}, which says what is in a column; write all columns into the files, "
            "in one folder"
        )
    return [str(one) for one in inside if suffix_of(one) in PARQUET and one.is_file()] or [path]


def _is_there(path: str) -> bool:
    return os.path.exists(os.path.expanduser(path))


def joined(files: Sequence[str], tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of tables with the same columns.

    Args:
        files: what each is called in messages.
        tables: ``[f]``.

    Raises:
        InputError: if columns differ, or are of kinds that do not go together.
    """
    names = tables[0].column_names
    if len(tables) == 1:
        return tables[0]
    for file, table in zip(files, tables, strict=True):
        lacking = [name for name in names if name not in table.column_names]
        beyond = [name for name in table.column_names if name not in names]
        if lacking or beyond:
            said = f"no column {lacking[0]!r}, which" if lacking else f"a column {beyond[0]!r}, unlike"
            raise InputError(
                f"{file} has {said} {files[0]}{' has' if lacking else ''}; give files with the same columns"
            )
        if suffix_of(file) != suffix_of(files[0]):
            raise InputError(f"{file} is of another format than {files[0]}; give files of one format")
    tables = _plain_where_mixed(names, tables)
    kinds = dict(zip(names, tables[0].schema.types, strict=True))
    for file, table in zip(files[1:], tables[1:], strict=True):
        for name in names:
            both = [pa.schema({name: kind}) for kind in (kinds[name], table.schema.field(name).type)]
            try:
                kinds[name] = pa.unify_schemas(both, promote_options="permissive").types[0]
            except pa.ArrowException as error:
                raise InputError(
                    f"{file}: column {name!r} holds {both[1].types[0]}, and in the files before {both[0].types[0]}; "
                    "write one kind in a column"
                ) from error
    return concatenated(files, [table.select(names) for table in tables])


def _plain_where_mixed(names: Sequence[str], tables: Sequence[pa.Table]) -> list[pa.Table]:
    """The same tables, without codes in columns that are codes of text in some and text in others."""
    found = list(tables)
    for name in names:
        is_coded = [pa.types.is_dictionary(table.schema.field(name).type) for table in tables]
        if not all(is_coded):
            for place in np.flatnonzero(is_coded):
                column = found[place][name]
                at = found[place].column_names.index(name)
                found[place] = found[place].set_column(at, name, column.cast(column.type.value_type))
    return found


def concatenated(files: Sequence[str], tables: Sequence[pa.Table]) -> pa.Table:
    """The same of tables whose columns go together.

    Raises:
        InputError: if a number is too large for the kind of its column.
    """
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        said = " ".join(str(error).split())[:80]
        raise InputError(
            f"{files[0]} and the other files cannot be joined: {said}; write large numbers as text"
        ) from error


def _digests(file: Path) -> list[str]:
    if file.is_dir():
        return [_digest(inside) for inside in sorted(file.rglob("*")) if inside.is_file()]
    return [_digest(file)]


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
