"""Names that differ only by how they are written."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from drurank.tabular.columns import Column, as_option
from drurank.tabular.feature import MOST_CATEGORIES, Feature
from drurank.tabular.joining import with_twins_joined
from drurank.tabular.odd import oddity
from drurank.tabular.resplitting import split_again
from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules.finding import TINY, Finding
from drurank.tabular.spellings import as_commonest, plain_boolean, plain_group, plain_label, plain_spelling, twins
from drurank.words import counted, quoted, some

MOST_RENAMED = 10
"""Names that a sentence says how to rename."""


def _roles(data: GroupedRows) -> list[tuple[str, Column]]:
    """Columns whose values are names: label and group."""
    columns = [("label", data.label_column)] if data.label_column is not None else []
    columns += [("group", column) for column in data.group_columns if not data.join_twins]
    return list({column.name: (role, column) for role, column in columns if column is not None}.values())


def _named(data: GroupedRows) -> list[tuple[str, Column]]:
    """Columns of names: label, group, and features that are categories."""
    rows = data.once(np.arange(len(data.split)))
    return _roles(data) + [("feature", feature.column) for feature in _categories(data) if feature.repeats(rows)]


def _categories(data: GroupedRows) -> list[Feature]:
    return [feature for feature in data.features if not feature.is_number]


def spelled_alike(data: GroupedRows) -> Iterator[Finding]:
    """Labels, groups and categories that are one when written alike, in one finding a column."""
    return _alike(data, _named(data))


def names_alike(data: GroupedRows) -> Iterator[Finding]:
    """The same without columns of many categories, which takes no look at each row."""
    few = [("feature", f.column) for f in _categories(data) if f.size <= MOST_CATEGORIES]
    return _alike(data, _roles(data) + few)


def twin_features(data: GroupedRows) -> list[str]:
    """Columns of categories of which ``spelled_alike`` says that some are one when written alike."""
    names = [column.name for role, column in _named(data) if role == "feature"]
    return [finding.names[0] for finding in spelled_alike(data) if finding.names[0] in names]


def _alike(data: GroupedRows, columns: list[tuple[str, Column]]) -> Iterator[Finding]:
    for role, column in columns:
        alike = _twins_of(data, role, column)
        if alike:
            said = some(" = ".join(map(quoted, sorted(texts))) for texts in alike)
            remedy = _remedy(data, role, column, alike)
            across = groups_on_both_sides(data) if role == "group" else 0
            leak = f", {across:,} of these groups in training and in an OOD split" if across else ""
            yield Finding(
                "spelling",
                "note" if role == "feature" else "warning",
                f"the {role} column {column.name!r} has names that differ only by case, blanks, Unicode form or how a "
                f"number is written: {said}{leak}; each counts apart, so if they are one, {remedy}",
                [column.name, *(text for texts in alike for text in texts)],
            )


def _twins_of(data: GroupedRows, role: str, column: Column) -> list[list[str]]:
    if role != "feature":
        return twins(column.texts, plain_label if role == "label" else plain_spelling)
    odd = oddity(data, next(feature for feature in data.features if feature.name == column.name))
    if odd is not None and odd.writing is not None:
        return []  # Numbers and dates, which another finding says how to read.
    return twins(dict.fromkeys(map(plain_boolean, column.texts)))


def _remedy(data: GroupedRows, role: str, column: Column, alike: list[list[str]]) -> str:
    """What to do about names that are one; labels that are text can be read as the commonest way of writing them."""
    if role == "group" and groups_on_both_sides(data):
        return split_again(data)
    if role == "group":
        return f"give join_twins=True{_lifted(data)}"
    if role == "feature":
        return f"give {as_option('join_feature_twins', [column.name])}"
    renamed = as_commonest(column, alike) if role == "label" and column.is_text else {}
    return f"give relabel={renamed!r}" if 0 < len(renamed) <= MOST_RENAMED else "write them alike"


def groups_on_both_sides(data: GroupedRows) -> int:
    """How many groups are in training by one way of writing them, and in an OOD split by another."""
    if not data.trains:
        return 0
    place = {name: number for number, name in enumerate(data.group_names)}
    unseen = data.group_sizes("ood_val") + data.group_sizes("ood_test")
    alike = [[place[name] for name in names] for names in twins(data.group_names, plain_group)]
    return sum(bool(data.group_is_trained[groups].any() and unseen[groups].any()) for groups in alike)


def joined_as_advised(data: GroupedRows) -> GroupedRows:
    """The rows with groups that are written alike as one, where it is advised to give ``join_twins``."""
    if data.join_twins or not _is_joining_advised(data):
        return data
    group, names = with_twins_joined(data.group, data.group_names, data.trained_groups or ())
    return replace(data, group=group, group_names=names)


def _is_joining_advised(data: GroupedRows) -> bool:
    return data.members is None and bool(twins(data.group_names, plain_group)) and not groups_on_both_sides(data)


def _lifted(data: GroupedRows) -> str:
    """How many groups are tiny in a split only as long as each way of writing them counts apart."""
    place = {name: number for number, name in enumerate(data.group_names)}
    alike = [[place[name] for name in names] for names in twins(data.group_names, plain_group)]
    lifted = set()
    for split in data.splits:
        size = data.group_sizes(split)
        for number, groups in enumerate(alike):
            here = size[groups]
            if here.sum() >= TINY and ((here > 0) & (here < TINY)).any():
                lifted.add(number)
    return f", which lifts {counted(len(lifted), 'group')} to {TINY} rows or more in a split" if lifted else ""


def unicode_forms(data: GroupedRows) -> Iterator[Finding]:
    """Names in several Unicode forms (a letter with an accent, or a letter and an accent), which count as one here."""
    for role, column in _named(data):
        if not column.is_text:
            continue
        written = [text for text in column.values.unique().to_pylist() if text and not text.isascii()]
        forms: dict[str, int] = {}
        for text in written:
            normal = unicodedata.normalize("NFC", text)
            forms[normal] = forms.get(normal, 0) + 1
        several = [text for text, times in forms.items() if times > 1]
        if several:
            rows = int(np.isin(column.codes, [column.texts.index(column.plain(text)) for text in several]).sum())
            yield Finding(
                "unicode_form",
                "note",
                f"the {role} column {column.name!r} writes {some(map(quoted, several))} in several Unicode forms "
                f"({rows:,} rows); they count as one here and as different elsewhere, so write them in form NFC",
                [column.name, *several],
            )
