"""Names that differ only by how they are written."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from drurank.tabular.columns import Column, as_option
from drurank.tabular.feature import MOST_CATEGORIES, Feature
from drurank.tabular.odd import oddity
from drurank.tabular.resplitting import split_again
from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules.finding import TINY, Finding
from drurank.words import counted, quoted, some

NUMBER = re.compile(r"[+-]?\d+(\.\d*)?")
EXPONENT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)e[+-]?\d+")
MOST_RENAMED = 10
"""Names that a sentence says how to rename."""
LONGEST = 15
"""Digits that a float tells apart."""


def plain_spelling(text: str) -> str:
    r"""The same for texts that differ by case, white space, Unicode form, invisible characters, or zeros of a number.

    >>> {plain_spelling(text) for text in ("St. Anna", "st.  anna ", "ST.\u00a0ANNA")}
    {'st. anna'}
    >>> plain_spelling("007"), plain_spelling("7.0"), plain_spelling("-0")
    ('7.0', '7.0', '0.0')
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = "".join(character for character in text if unicodedata.category(character) != "Cf")
    text = " ".join(text.casefold().split())
    # Without -0.0, which the sum turns into 0.0.
    return str(float(text) + 0.0) if len(text) <= LONGEST and NUMBER.fullmatch(text) else text


def plain_boolean(text: str) -> str:
    """The same for true and True; of those who write a CSV some write it so and some so, and Parquet has booleans."""
    return text.lower() if text.lower() in ("true", "false") else text


def plain_group(name: str) -> str:
    """``plain_spelling`` of each part of a group's name, which may be of several columns."""
    return " | ".join(map(plain_spelling, name.split(" | ")))


def plain_label(text: str) -> str:
    """``plain_spelling`` that takes numbers with an exponent too; among names of groups, those may be codes.

    >>> plain_label("1e0"), plain_label("10E-1"), plain_spelling("1e0")
    ('1.0', '1.0', '1e0')
    """
    text = plain_spelling(text)
    if len(text) > LONGEST or not EXPONENT.fullmatch(text):
        return text
    number = float(text)
    is_too_extreme = math.isinf(number) or (number == 0 and re.search("[1-9]", text.partition("e")[0]))
    return text if is_too_extreme else str(number + 0.0)


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


def as_commonest(column: Column, alike: list[list[str]]) -> dict[str, str]:
    """What each way of writing a name would be read as: the commonest way, or the first of equally common ones."""
    rows = np.bincount(column.codes[column.codes >= 0], minlength=len(column.texts))
    renamed: dict[str, str] = {}
    for texts in alike:
        first, *others = sorted(texts, key=lambda text: (-rows[column.texts.index(text)], text))
        renamed |= dict.fromkeys(others, first)
    return renamed


def twins(names: Iterable[str], spell: Callable[[str], str] = plain_spelling) -> list[list[str]]:
    """Names that are the same in plain spelling, in one list each; only those that have another."""
    spellings: dict[str, list[str]] = {}
    for name in names:
        spellings.setdefault(spell(name), []).append(name)
    return [alike for alike in spellings.values() if len(alike) > 1]


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
