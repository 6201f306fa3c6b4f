"""The command that splits a table again, its groups joined, where a split has taken what is one group for two."""

from __future__ import annotations

import shlex
from pathlib import Path

from drurank.tabular.columns import as_value
from drurank.tabular.formats import DELIMITERS
from drurank.tabular.reading import suffix_of
from drurank.tabular.rows import GroupedRows
from drurank.tabular.several import files_of


def split_again(data: GroupedRows) -> str:
    """What to do about groups on both sides that are one when joined: a command, where the rows are of a file."""
    if data.split_column is None or data.label_column is None or not _is_file(data.source):
        return "split the rows again with `split --join_twins true`"
    label, split = data.label_column.name, data.split_column.name
    group = as_value([column.name for column in data.group_columns])
    file = Path(files_of(data.source)[0])
    suffix = suffix_of(file) if suffix_of(file) in DELIMITERS else ".parquet"
    output = str(file.with_name(f"{file.name.partition('.')[0]}_joined{suffix}"))
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
        f"{split}_joined",
    ]
    return f"split the rows again: `{shlex.join(['drurank', 'split', *words, '--join_twins', 'true'])}`"


def _is_file(source: str) -> bool:
    try:
        return Path(files_of(source)[0]).is_file()
    except (OSError, ValueError):
        return False
