"""Values of other data that training did not have, which a network reads as one unknown value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from lightning.pytorch.utilities.rank_zero import rank_zero_info, rank_zero_warn
from torch import Tensor

from drurank.data.encoding import UNSEEN, CategoricalFeature
from drurank.tabular.columns import Column, as_option
from drurank.tabular.feature import Feature
from drurank.tabular.rules.cells import JOINED, joined_cells
from drurank.tabular.spellings import plain_group, plain_spelling, twins
from drurank.words import counted, joined, quoted, some

SHOWN = 3


def say_unseen(
    source: str,
    features: Sequence[CategoricalFeature],
    columns: Mapping[str, Column],
    rows: np.ndarray,
    codes: np.ndarray,
) -> None:
    """Say how many rows have a category that training lacks, by column, with examples.

    Args:
        source: what the rows were read from.
        features: the columns of categories, ``K`` of them.
        columns: by name.
        rows: places in the table, int64 ``[n]``.
        codes: of these rows, int64 ``[n, K]``.
    """
    unseen = codes == UNSEEN
    found = unseen.any(axis=1).sum()
    if found:
        of = {feature.name: (feature, rows[unseen[:, k]]) for k, feature in enumerate(features) if unseen[:, k].any()}
        alike = {name: _alike(columns[name], some, feature) for name, (feature, some) in of.items()}
        said = [_of_column(columns[name], some, alike[name]) for name, (_, some) in of.items()]
        twins = [name for name in alike if alike[name]]
        remedy = f"; write them as training has them, or fit with {as_option('join_feature_twins', twins)}"
        tell = rank_zero_warn if twins else rank_zero_info
        tell(
            f"{source}: {found:,} of {len(rows):,} rows have a category that training did not have, which is read as "
            f"unknown, by column: {'; '.join(said)}{remedy if twins else ''}"
        )


def say_joined(source: str, features: Sequence[Feature], rows: np.ndarray) -> None:
    """Say how many cells are read as another way of writing them, as training has it.

    Args:
        source: what the rows were read from.
        features: columns that are learnt from.
        rows: places in the table, int64 ``[n]``.
    """
    said = joined_cells(features, rows)
    if said:
        rank_zero_info(f"{source}: {JOINED}: {said}")


def say_unseen_groups(source: str, group: Tensor, names: Sequence[str], trained: int) -> None:
    """Say how many rows are of groups that training lacks, with examples.

    Args:
        source: what the rows were read from.
        group: of each row, int64 ``[n]``.
        names: of the groups, those of training first.
        trained: how many groups training has.
    """
    unseen = group[group >= trained]
    if len(unseen):
        new, every = sorted(set(unseen.tolist())), set(group[group >= 0].tolist())
        rank_zero_info(
            f"{source}: {len(unseen):,} of {len(group):,} rows ({len(new):,} of {counted(len(every), 'group')}) are of "
            f"groups that training did not have: {some(quoted(names[number]) for number in new)}"
        )


def say_blank_groups(source: str, group: Tensor, columns: Sequence[str]) -> None:
    """Say how many rows to predict have no group.

    Args:
        source: what the rows were read from.
        group: of each row, int64 ``[n]``, -1 where it has none.
        columns: those of the group.
    """
    blank = int((group < 0).sum())
    if blank:
        rank_zero_info(
            f"{source}: {blank:,} of {counted(len(group), 'row')} {'has' if blank == 1 else 'have'} no group, where "
            f"{joined(columns, 'or')} is blank; predicted all the same, and in no group "
            "of a report"
        )


def say_twins(source: str, group: Tensor, names: Sequence[str]) -> None:
    """Warn of groups of these rows whose names differ only by how they are written from others, or from training's.

    Args:
        source: what the rows were read from.
        group: of each row, int64 ``[n]``, -1 where it has none.
        names: of the groups, those of training and of these rows.
    """
    here = {names[number] for number in torch.unique(group[group >= 0]).tolist()}
    alike = [sorted(written) for written in twins(names, plain_group) if here.intersection(written)]
    if alike:
        meant = {name for written in alike for name in written}
        numbers = [number for number, name in enumerate(names) if name in meant]
        rows = int(torch.isin(group, torch.tensor(numbers)).sum())
        said = some(" = ".join(map(quoted, written)) for written in alike)
        rank_zero_warn(
            f"{source}: {rows:,} of {len(group):,} rows are of groups whose names differ only by case, blanks, Unicode "
            f"form or how a number is written from those of other groups, here or in training: {said}; each counts "
            "apart, so if they are one, fit with join_twins=True"
        )


def _alike(column: Column, rows: np.ndarray, feature: CategoricalFeature) -> dict[int, str]:
    """Codes of the values of these rows that training writes otherwise, and how."""
    known = {plain_spelling(value): value for value in feature.values if value is not None}
    plain = {int(code): plain_spelling(column.texts[code]) for code in np.unique(column.codes[rows]) if code >= 0}
    return {code: known[text] for code, text in plain.items() if text in known}


def _of_column(column: Column, rows: np.ndarray, alike: Mapping[int, str]) -> str:
    """A column with the values of these rows: those that training writes otherwise, then the commonest first."""
    code, count = np.unique(column.codes[rows], return_counts=True)
    values = [
        (repr(column.texts[c]) if c >= 0 else "blank") + (f", in training {alike[c]!r}" if c in alike else "")
        for c in sorted(code.tolist(), key=lambda c: (c not in alike, -count[code == c].item()))
    ]
    more = f" and {len(values) - SHOWN:,} more values" if len(values) > SHOWN else ""
    return f"{column.name} {len(rows):,} ({', '.join(values[:SHOWN])}{more})"
