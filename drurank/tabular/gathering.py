"""From the cells of a table to rows of codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from drurank.errors import InputError
from drurank.splits import SPLITS
from drurank.tabular.coding import ALL_ROWS, code_groups, code_labels, code_splits, without_unknown
from drurank.tabular.columns import Column, Files, as_option, refuse_unknown
from drurank.tabular.feature import PLAIN, Feature
from drurank.tabular.indices import index_columns
from drurank.tabular.joining import joined_texts, with_twins_joined
from drurank.tabular.memberships import read_members
from drurank.tabular.rows import By, GroupedRows, GroupIn, Missing


def gather_rows(
    path: str,
    table: pa.Table,
    *,
    label: str | None,
    group: Sequence[str] = (),
    by: By = "crossed",
    split: str | None = None,
    split_names: Mapping[str, str] | None = None,
    features: Sequence[str] = (),
    exclude: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numbers: Sequence[str] = (),
    dates: Sequence[str] = (),
    written: Mapping[str, str] | None = None,
    joined: Mapping[str, Sequence[str]] | None = None,
    most_categories: int | None = None,
    texts: Sequence[str] = (),
    kinds: Mapping[str, bool] | None = None,
    file_of: Mapping[str, str] | None = None,
    files: Files | None = None,
    places: np.ndarray | None = None,
    join_twins: bool = False,
    group_in: GroupIn = "all",
    missing: Missing = "error",
    allow_leaks: Sequence[str] = (),
    trained_labels: Sequence[str] | None = None,
    trained_groups: Sequence[str] | None = None,
    remedies: Mapping[str, str] | None = None,
) -> GroupedRows:
    """Code the rows of a table; what is wrong with its cells is for the rules to say.

    Args:
        path: the file, for messages.
        table: its cells.
        label: these are the arguments of ``Table``, or, with ``texts``, of ``Text`` in ``drurank.data``.
        group: see there; without any, all rows are one group.
        by: see there.
        split: see there; without it, all rows are in one split.
        split_names: see there.
        features: see there.
        exclude: see there.
        categorical: see there.
        numbers: features that an option made numbers of.
        dates: those of them that are dates.
        written: how the cells of a column were found to be written, by name.
        joined: columns of ``join_feature_twins``, and the values that training is known to have in each.
        most_categories: see ``GroupedRows``.
        texts: columns of text, in place of features.
        kinds: the features by name and whether they are numbers, in place of the three above.
        file_of: the file that a column is of, if not ``path``.
        files: those of the rows, where the table is of several.
        places: of the rows in the file, int64 ``[n]``, where they are but some of its rows.
        join_twins: see ``GroupedRows``, as for those below.
        group_in: see there.
        missing: see there.
        allow_leaks: see there.
        trained_labels: see there.
        trained_groups: see there.
        remedies: see there.

    Raises:
        InputError: if there is no such column, an option names one that cannot be what it says, or label, group or
            split are neither numbers nor booleans nor text.
    """
    roles = dict.fromkeys(group, "the group")
    roles |= {label: "the label"} if label else {}
    roles |= {split: "the split"} if split else {}
    refuse_unknown(path, table, [*roles, *texts])
    joined = joined or {}
    if kinds is None and not texts:
        wanted = {*roles, *features, *categorical, *allow_leaks, *joined}
        indices = index_columns(table, wanted)
        asked = {"categorical": categorical, "allow_leaks": allow_leaks, "join_feature_twins": [*joined]}
        every_asked = [name for given in asked.values() for name in given]
        names = _feature_names(path, table, roles, features, [*exclude, *indices], every_asked)
        for option, given in {"features": features, **asked}.items():
            _refuse_other(path, option, given, roles, names)
    else:
        names, indices = list(kinds or ()), []
        refuse_unknown(path, table, names)

    def column(name: str, meant: Mapping[str, str] | None = None) -> Column:
        return Column((file_of or {}).get(name, path), name, table[name], places, files, meant=meant)

    overlap = by == "overlapping" and bool(group)
    read = {name: column(name) for name in roles if not (overlap and name in group)}
    every = np.arange(table.num_rows)
    spellings = {**{name: name for name in SPLITS}, **(split_names or {})}
    if split:
        spellings = {read[split].plain(text): meant for text, meant in spellings.items()}
    split_code, splits = code_splits(read[split], spellings) if split else (np.zeros_like(every), [ALL_ROWS])
    label_code, label_names = code_labels(read[label]) if label else (np.full_like(every, -1), [])
    label_code, label_names = without_unknown(label_code, label_names, split_code, splits, trained_labels)
    members = read_members(path, table, group, places, files).sorted() if overlap else None
    if members is None:
        group_code, group_names = code_groups([read[name] for name in group], every)
    else:
        group_code, group_names = np.full_like(every, -1), list(members.groups)
    if join_twins and group:
        group_code, group_names = with_twins_joined(group_code, group_names, trained_groups or ())
    rows = GroupedRows(
        source=path,
        splits=splits,
        split=split_code,
        label_names=label_names,
        label=label_code,
        group_names=group_names,
        group=group_code,
        grouped=bool(group),
        members=members,
        texts=[Feature(column(name), is_number=False) for name in texts],
        label_column=read[label] if label else None,
        group_columns=[read[name] for name in group if name in read],
        split_column=read[split] if split else None,
        split_names=spellings,
        trained_labels=trained_labels,
        trained_groups=trained_groups,
        join_twins=join_twins,
        group_in=group_in,
        missing=missing,
        allow_leaks=allow_leaks,
        most_categories=most_categories,
        indices=[name for name in indices if name not in names],
        remedies=remedies or {},
    )
    found, unusable = [], {}
    for name in names:
        try:
            cells = column(name)
        except InputError as error:
            unusable[name] = str(error).removeprefix(f"{path}: ")
            continue
        is_number = kinds[name] if kinds else name not in categorical and cells.holds_numbers(rows.learnt)
        is_asked = kinds is not None or name in (*categorical, *numbers)
        if name in joined and is_number:
            raise InputError(
                f"{path}: join_feature_twins names the column {name!r}, which is one of numbers; leave it out there, "
                f"or, if they are codes, give {as_option('categorical', [name])} too"
            )
        if name in joined:
            cells = column(name, joined_texts(cells, rows.learnt, joined[name]))
        how = (written or {}).get(name, PLAIN)
        found.append(Feature(cells, is_number, is_asked, name in dates, how, name in joined))
    return replace(rows, features=found, unusable=unusable)


def _feature_names(
    path: str,
    table: pa.Table,
    roles: Mapping[str, str],
    features: Sequence[str],
    exclude: Sequence[str],
    asked: Sequence[str],
) -> list[str]:
    """The columns to learn from: those that are asked for, or else all that have no role and are not left out."""
    refuse_unknown(path, table, [*features, *exclude, *asked])
    return list(dict.fromkeys(features)) or [n for n in table.column_names if n not in roles and n not in exclude]


def _refuse_other(path: str, option: str, asked: Sequence[str], roles: Mapping[str, str], names: Sequence[str]) -> None:
    """Refuse an option that names a column that is not to learn from."""
    for name in asked:
        if name in roles or name not in names:
            why = roles.get(name, "not among the features")
            raise InputError(f"{path}: {option} names the column {name!r}, which is {why}; leave it out there")
