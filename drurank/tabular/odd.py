"""Columns that are taken for something else than they look like: numbers for codes, dates for categories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from drurank.tabular.columns import Column, as_option
from drurank.tabular.dates import COMPACT, either_form, form_of, said_form
from drurank.tabular.feature import FEWEST, Feature
from drurank.tabular.rows import GroupedRows
from drurank.tabular.writings import NAMES, Writing, option_of, writing_of

Oddity = Literal["dates", "marked_numbers", "codes", "compact_dates", "many_categories"]
OPTIONS: dict[Oddity, str] = {"compact_dates": "dates", "codes": "categorical", "many_categories": "exclude"}
"""What takes a column as what it looks like, where that is not told by how it is written."""
LOOKED_AT = 1000
"""Distinct cells, or first rows, by which a column is judged."""
MANY = 50
"""Categories that are many where they are also more than a twentieth of the rows."""
CODE_NAME = re.compile(r"(.*[\W_])?(zip|plz|post|postal|code|codes|id|ids)([\W_]?code)?", re.IGNORECASE)
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
FIGURES = 5
"""Numbers of so many digits each, or more, look like codes."""


@dataclass(frozen=True)
class Odd:
    """What is odd about how a column is taken.

    Attributes:
        kind: of oddity.
        looks: what it looks like, behind its name.
        column: its name.
        writing: how its numbers or dates are written, if it is text of such.
        either_form: the two forms of which no cell of its dates says which it is.
        too_many: whether it is of codes, more than one-hot encoding takes as categories.
    """

    kind: Oddity
    looks: str
    column: str
    writing: tuple[Writing, str] | None = None
    either_form: tuple[str, str] | None = None
    too_many: bool = False

    @property
    def option(self) -> tuple[str, str | None]:
        """Name of the option that takes it as what it looks like, and its value where that names no columns."""
        if self.writing is None:
            return "exclude" if self.too_many else OPTIONS[self.kind], None
        kind, mark = self.writing
        return NAMES[kind], mark if kind in ("thousands", "decimal") else None

    @property
    def date_format(self) -> str | None:
        """How its dates are written, where that must be said."""
        return "%Y%m%d" if self.kind == "compact_dates" else None

    @property
    def remedy(self) -> str:
        """The option that takes it as what it looks like."""
        return self.remedy_of([self.column])

    def remedy_of(self, columns: Sequence[str]) -> str:
        """The option that takes these columns, which are odd in the same way, as what they look like."""
        if self.writing is not None:
            forms = " or ".join(f"date_format={form!r}" for form in self.either_form or ())
            either = f" with {forms}, since no cell tells day from month" if forms else ""
            return option_of(self.writing, columns) + either
        form = f" date_format={self.date_format!r}" if self.date_format else ""
        return as_option(self.option[0], columns) + form


def oddity(data: GroupedRows, feature: Feature) -> Odd | None:
    """What is odd about how a feature is taken; nothing where that was said by an option."""
    if feature.asked or len(data.learnt) == 0:
        return None
    return _odd_number(data, feature) if feature.is_number else _odd_category(data, feature)


def known_categories(data: GroupedRows, feature: Feature) -> int:
    """How many categories training has."""
    limit = data.most_categories or 0
    return feature.size if feature.size <= limit else len(np.unique(feature.code[data.learnt]))


def has_too_many(data: GroupedRows, feature: Feature) -> bool:
    """Whether a column of categories has more of them than one-hot encoding takes."""
    limit = data.most_categories
    return limit is not None and not feature.is_number and known_categories(data, feature) > limit


def _odd_category(data: GroupedRows, feature: Feature) -> Odd | None:
    texts = feature.column.texts
    writing = writing_of(texts[:LOOKED_AT]) if feature.column.is_text else None
    if writing is not None:
        if writing[0] == "date":
            form, either = form_of(texts), either_form(texts)
            said = f", {said_form(form)}," if form and either else ""
            looks = f"looks like a date{said} and is taken as categories"
            return Odd("dates", looks, feature.name, writing, either if form is None else None)
        return Odd("marked_numbers", "looks like a number and is taken as categories", feature.name, writing)
    known = np.count_nonzero(np.bincount(feature.code[data.learnt] + 1)[1:]) if feature.size > MANY else 0
    if known > MANY and known * 20 > len(data.learnt):
        return Odd("many_categories", f"has {known:,} categories in training", feature.name)
    return None


def _odd_number(data: GroupedRows, feature: Feature) -> Odd | None:
    column = feature.column
    numbers = column.numbers[data.learnt[:LOOKED_AT]]
    numbers = numbers[np.isfinite(numbers)]
    if len(numbers) < FEWEST or (numbers % 1 != 0).any() or np.unique(numbers).size < 3:
        return None
    written = _first_cells(column)
    if all(map(COMPACT.fullmatch, (f"{number:.0f}" for number in numbers))):
        return Odd("compact_dates", "looks like a date and is taken as a number", feature.name)
    digits = {len(f"{abs(number):.0f}") for number in numbers}
    is_code = _sounds_like_code(feature.name) or any(text.isdigit() and text[0] == "0" != text for text in written)
    if is_code or (len(digits) == 1 and min(digits) >= FIGURES and (numbers > 0).all()):
        known = len(np.unique(feature.values[data.learnt]))
        too_many = data.most_categories is not None and known > data.most_categories
        said = f", of more values ({known:,}) than one-hot encoding takes," if too_many else ""
        return Odd("codes", f"looks like a code{said} and is taken as a number", feature.name, too_many=too_many)
    return None


def _first_cells(column: Column) -> list[str]:
    cells = column.values[:LOOKED_AT].to_pylist() if column.is_text else []
    return [text.strip() for text in cells if text]


@lru_cache
def _sounds_like_code(name: str) -> bool:
    return CODE_NAME.fullmatch(CAMEL.sub("_", name)) is not None
