"""The command that splits a table again, where a split has parted what is one group, or copies of a row."""

from __future__ import annotations

import shlex
from pathlib import Path

from drurank.tabular.columns import as_value
from drurank.tabular.formats import DELIMITERS
from drurank.tabular.reading import suffix_of
from drurank.tabular.rows import GroupedRows
from drurank.tabular.several import files_of


def split_again(data: GroupedRows, *, join: bool = True) -> str:
    """What to do about groups or copies on both sides that are to be on one: a command, where the rows are of a file.

    Args:
        data: the rows.
        join: whether groups that differ only by how they are written are to be one, and not only where they are so far.
    """
    joining = ["--join_twins", "true"] if join or data.join_twins else []
    if data.split_column is None or data.label_column is None or not _is_file(data.source):
        return f"split the rows again with `{' '.join(['split', *joining])}`"
    label, split = data.label_column.name, data.split_column.name
    group = as_value([column.name for column in data.group_columns])
    file = Path(files_of(data.source)[0])
    suffix = suffix_of(file) if suffix_of(file) in DELIMITERS else ".parquet"
    new = "joined" if join else "again"
    output = str(file.with_name(f"{file.name.partition('.')[0]}_{new}{suffix}"))
    words = [
        "--path",
        data.source,
        "--label",
        label,
        "--group",
        group,
        "--output",
        output,
        "--split",
        f"{split}_{new}",
    ]
    return f"split the rows again: `{shlex.join(['drurank', 'split', *words, *joining])}`"


def _is_file(source: str) -> bool:
    try:
        return Path(files_of(source)[0]).is_file()
    except (OSError, ValueError):
        return False
