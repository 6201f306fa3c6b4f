"""Reading tables from files, nothing guessed: a CSV cell is the text that stands in it."""

from __future__ import annotations

import csv
import logging
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from drurank.errors import InputError, nearest
from drurank.files import refuse_pipe
from drurank.parquet import Wanted
from drurank.splits import USUAL_COLUMN, SplitColumn
from drurank.tabular.arrow import is_dataset, read_arrow, read_dataset, read_parquet
from drurank.tabular.delimited import check_delimiter, read_delimited, read_header
from drurank.tabular.formats import DELIMITERS, JSON, KNOWN, PARQUET, TEXTS
from drurank.tabular.hub import read_hub
from drurank.tabular.jsonrows import read_json
from drurank.tabular.text import TextFile

HUB_NAME = re.compile(r"[\w-]+(/[\w.-]*[\w-])?")
"""What may be the name of a data set on the hub: no ending of ours, no folder within a folder."""
ODD = (RecursionError, UnicodeError, KeyError, TypeError)
"""What damaged files and odd encodings make of parsers."""
OFFERED = f"{', '.join(KNOWN)} (the text ones also with .gz)"


def read_table(
    path: str,
    *,
    delimiter: str | None = None,
    text_encoding: str | None = None,
    split: SplitColumn = USUAL_COLUMN,
    wanted: Wanted | None = None,
) -> pa.Table:
    """Read a file of CSV, TSV, JSON, Parquet or Arrow, or a folder that the library ``datasets`` saved.

    JSON is one object a line, or one array of objects.
    In CSV and TSV every column is text. What ``datasets`` calls a ``ClassLabel`` is read as the names of its labels.

    Args:
        path: the file or folder.
        delimiter: what cuts the cells of a CSV or TSV file; by default what its name says, or, where that leaves the
            header whole, the only one of ``, ; tab |`` that cuts the header and each row into as many cells.
        text_encoding: encoding of a text file; by default what its byte order mark says, else UTF-8.
        split: the column that says which split of a ``DatasetDict`` a row is in, unless there is one.
        wanted: whether a column of Parquet is read; all are, if not given, as always those of other formats.

    Raises:
        InputError: if the file is missing or cannot be read, a row has more or fewer cells than the header, there are
            no rows, or a column has no name or that of another.
    """
    file = Path(os.path.expanduser(path))
    refuse_other_files(path, file)
    with refusing_damage(path):
        table = _read(path, file, delimiter, text_encoding, split, wanted)
    return checked_names(path, _without_index(path, table))


@contextmanager
def refusing_damage(path: str) -> Iterator[None]:
    """Answer what parsers raise of a damaged file in a sentence.

    Args:
        path: of the file that is read meanwhile, for messages.

    Raises:
        InputError: naming it.
    """
    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, csv.Error, OSError, EOFError, zlib.error, *ODD) as error:
        said = " ".join(f"{type(error).__name__ if isinstance(error, ODD) else ''} {error}".split())[:200]
        kind = suffix_of(path).removeprefix(".")
        raise InputError(f"{path} cannot be read as {kind}: {said}; fix the file or its permissions") from error


def read_head(path: str, *, delimiter: str | None = None, text_encoding: str | None = None) -> pa.Table | None:
    """The columns of a table without its rows, where the head of the file says them.

    It is read so that a name that is misspelt need not wait for a large table.

    Args:
        path: the file; of several, the first.
        delimiter: see ``read_table``.
        text_encoding: see there.

    Returns:
        An empty table; ``None`` for other kinds of files, and where reading the whole would say what is wrong.
    """
    file, suffix = Path(os.path.expanduser(path)), suffix_of(path)
    if not file.is_file():
        return None
    try:
        if suffix in PARQUET:
            names = pq.read_schema(file).names
        elif suffix in DELIMITERS:
            asked = None if delimiter is None else check_delimiter(delimiter)
            names = read_header(TextFile(path, file, text_encoding), DELIMITERS[suffix], asked)
        else:
            return None
        odd = not names or len(set(names)) < len(names)
        return None if odd else pa.schema([(name, pa.string()) for name in names]).empty_table()
    except (InputError, pa.ArrowException, csv.Error, OSError, EOFError, zlib.error, *ODD):
        return None


def checked_names(path: str, table: pa.Table) -> pa.Table:
    """The table, if it has rows and columns with different names.

    Raises:
        InputError: if not.
    """
    refuse_names(path, table.column_names)
    if table.num_rows == 0:
        raise InputError(f"{path} has no rows; give a table with at least one")
    return table


def refuse_names(path: str, columns: Sequence[str]) -> None:
    """Refuse columns without a name, or with that of another.

    Raises:
        InputError: naming the first.
    """
    names = Counter(columns)
    for place, (name, times) in enumerate(names.items()):
        if not name.strip():
            raise InputError(f"{path}: column {place} (the first is 0) has no name; name it, or write without an index")
        if times > 1:
            raise InputError(f"{path} has the column {name!r} twice; rename one of them")


def _read(
    path: str, file: Path, delimiter: str | None, text_encoding: str | None, split: SplitColumn, wanted: Wanted | None
) -> pa.Table:
    suffix = suffix_of(path)
    for name, value, endings in (("delimiter", delimiter, DELIMITERS), ("text_encoding", text_encoding, TEXTS)):
        if value is not None and not (file.is_file() and suffix in endings):
            raise InputError(f"{path}: {name}={value} is only for files that end in {', '.join(endings)}; leave it out")
    if not file.exists():
        return read_hub(path, split)
    if file.is_dir():
        return read_dataset(path, file, split)
    if suffix in DELIMITERS:
        asked = None if delimiter is None else check_delimiter(delimiter)
        return read_delimited(TextFile(path, file, text_encoding), DELIMITERS[suffix], asked)
    if suffix in JSON:
        return read_json(TextFile(path, file, text_encoding))
    return read_parquet(path, file, wanted) if suffix in PARQUET else read_arrow(path, file)


def may_be_on_hub(path: str) -> bool:
    """Whether a path that does not exist may be the name of a data set on the hub."""
    return HUB_NAME.fullmatch(path) is not None and suffix_of(path) not in KNOWN


def suffix_of(path: str | Path) -> str:
    """The ending of a file's name that says its format, in lower case; of a compressed text file the one before."""
    name = Path(str(path).lower())
    before = name.with_suffix("").suffix if name.suffix == ".gz" else ""
    return before if before in TEXTS else name.suffix


def refuse_other_files(path: str, file: Path) -> None:
    """Refuse what is missing, no table, or can be read once only.

    Args:
        path: as it was given, for messages.
        file: where it is.

    Raises:
        InputError: naming it.
    """
    if not file.exists():
        if may_be_on_hub(path):
            return
        beside = file.parent.glob("*") if file.parent.is_dir() else ()
        found = sorted(str(other) for other in beside if suffix_of(other) in KNOWN)
        raise InputError(f"there is no file {path}; {nearest(str(file), found)}")
    if file.is_dir():
        if not is_dataset(file):
            raise InputError(
                f"{path} is a folder; give one file that ends in {OFFERED}, or a folder that `datasets` saved"
            )
        for inside in file.rglob("*"):
            if not inside.is_dir():
                refuse_pipe(inside, "save the data set again by save_to_disk")
    elif suffix_of(path) not in KNOWN:
        raise InputError(f"{path} is not a table that can be read; give a file that ends in {OFFERED}")
    else:  # a table is read more than once, as its header, rows and fingerprint
        refuse_pipe(file, "write what it gives into a file, and give that")


def _without_index(path: str, table: pa.Table) -> pa.Table:
    """The table without a first column that has no name and counts the rows, as pandas writes it by default."""
    if table.num_columns < 2 or table.column_names[0].strip() or not pa.types.is_string(table[0].type):
        return table
    counted = pa.array(range(table.num_rows)).cast(pa.string())
    if not table[0].combine_chunks().equals(counted):
        return table
    logging.getLogger(__name__).warning("%s: the first column has no name and counts the rows; it is left out", path)
    return table.remove_column(0)
