"""How each column of a table is taken: as label, group, split, number, categories or text, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from drurank.errors import in_list
from drurank.tabular.columns import Column
from drurank.tabular.dates import said_form
from drurank.tabular.feature import DATE, PLAIN, Feature
from drurank.tabular.odd import oddity
from drurank.tabular.rows import GroupedRows
from drurank.tabular.spellings import plain_group
from drurank.words import counted, some

SHOWN = 15
JOINED = " after joining"


@dataclass(frozen=True)
class Taken:
    """A column and how it is taken.

    Attributes:
        name: of the column.
        role: label, group, split, number, date, categories, text, pictures or not used.
        facts: what it holds, or why it is not used.
        odd: what is odd about that; empty where nothing is.
        remedy: the option that changes it.
    """

    name: str
    role: str
    facts: str
    odd: str = ""
    remedy: str = ""

    @property
    def short(self) -> str:
        """Its name, and what is to be known of it before a fit."""
        values = self.facts.replace(" values", "").replace(" value", "")
        shown = {"label": f" ({self.facts})", "categories": f" ({values})"}
        shown["group"] = f" ({self.facts})" if JOINED in self.facts else ""
        shown["not used"] = shown["label"]
        form = self.facts.partition(", ")[2].replace("(", "").replace(")", "")
        shown["date"] = f" ({form})" if form else ""
        return in_list(self.name) + shown.get(self.role, "")


def columns_taken(data: GroupedRows) -> list[Taken]:
    """Each column that has a role or is a feature; none where the data is no table."""
    if data.label_column is None and not data.read:
        return []
    taken = []
    if data.label_column is not None:
        taken.append(Taken(data.label_column.name, "label", _classes(data)))
    for column in data.group_columns:
        taken.append(Taken(column.name, "group", _groups(data, column)))
    if data.members is not None:
        names = some(map(repr, data.group_names), shown=SHOWN)
        taken.append(Taken(names, "groups that overlap", f"{counted(len(data.members.row), 'membership')}"))
    if data.split_column is not None:
        taken.append(Taken(data.split_column.name, "split", ", ".join(data.splits)))
    taken += [Taken(feature.name, data.texts_are, _looks(data)) for feature in data.texts]
    taken += [_feature(data, feature) for feature in data.features]
    taken += [Taken(name, "not used", "cannot be read") for name in data.unusable]
    taken += [Taken(name, "not used", "numbers the rows") for name in data.indices]
    return taken


def _feature(data: GroupedRows, feature: Feature) -> Taken:
    odd = oddity(data, feature)
    said = (odd.looks, odd.remedy) if odd else ("", "")
    if not feature.is_number:
        return Taken(feature.name, "categories", _values(feature.column), *said)
    numbers = feature.column.numbers[data.learnt]
    numbers = numbers[np.isfinite(numbers)]
    ends = [feature.said(end) for end in ((numbers.min(), numbers.max()) if len(numbers) else ())]
    if feature.is_date:
        form = f", {said_form(feature.written)}" if feature.written not in (PLAIN, DATE) else ""
        return Taken(feature.name, "date", f"{' to '.join(ends) or 'no date'}{form}", *said)
    return Taken(feature.name, "number", " to ".join(ends) or "no number", *said)


def _looks(data: GroupedRows) -> str:
    if not data.looks or not len(data.used):
        return ""
    from drurank.images.look import sum_up as look_at  # of the extra for pictures

    return look_at([data.looks[row] for row in data.used])


def _values(column: Column) -> str:
    left = f", {len(column.texts):,}{JOINED}" if len(column.texts) < column.ways else ""
    return counted(column.ways, "value") + left


def _groups(data: GroupedRows, column: Column) -> str:
    left = len({*map(plain_group, column.texts)}) if data.join_twins else len(column.texts)
    what = "" if len(data.group_columns) > 1 else " group" if left == 1 else " groups"
    said = f", {left:,}{what}{JOINED}" if left < len(column.texts) else ""
    return counted(len(column.texts), "value") + said


def _classes(data: GroupedRows) -> str:
    """The labels of training by class number, which is their place in ``class_weight``."""
    names = [name for name, known in zip(data.label_names, data.label_is_trained, strict=True) if known]
    return some((f"class {place}: {name!r}" for place, name in enumerate(names)), shown=SHOWN)


def sum_up(columns: Sequence[Taken]) -> str:
    """All of it in a sentence, role by role, the first columns of each."""
    roles = dict.fromkeys(column.role for column in columns)
    return "; ".join(_role(role, [column for column in columns if column.role == role]) for role in roles)


def _role(role: str, columns: list[Taken]) -> str:
    names = some((column.short for column in columns), shown=SHOWN)
    return f"{'numbers' if role == 'number' else 'dates' if role == 'date' else role}: {names}"
