"""Options with which a table can be trained on as it stands: what ``inspect`` names, put together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from drurank.errors import in_list
from drurank.tabular.dates import form_of, said_form
from drurank.tabular.feature import Feature
from drurank.tabular.odd import oddity
from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules.cells import empty_columns
from drurank.tabular.rules.features import distinct_columns
from drurank.tabular.rules.odd import known_categories
from drurank.tabular.writings import is_missing


def suggested_options(data: GroupedRows) -> dict[str, str | list[str]]:
    """Options of ``Table`` by name: a mark, a choice, or names of columns.

    Columns are read as what they look like. IDs, columns without a value in training, and those of too many categories
    are left out, and missing cells get an indicator.
    """
    found: dict[str, str | list[str]] = {}
    out = {name for check in (empty_columns, distinct_columns) for finding in check(data) for name in finding.names}
    forms: set[str | None] = set()
    for feature in data.features:
        if feature.name in out:
            continue
        odd = oddity(data, feature)
        if odd is None or odd.kind == "many_categories":
            if not feature.is_number and _has_too_many(data, feature):
                out.add(feature.name)
            continue
        if odd.kind == "codes" and _has_too_many(data, feature):
            out.add(feature.name)
            continue
        name, mark = odd.option
        if mark is not None:
            found.setdefault(name, mark)
            continue
        if name == "dates":
            forms.add(odd.date_format)
            if len(forms) > 1 or odd.either_form:
                out.add(feature.name)  # All dates of a table are read by one format; what it is, the user has to say.
                continue
            found |= {"date_format": odd.date_format} if odd.date_format else {}
        columns = found.setdefault(name, [])
        assert isinstance(columns, list)
        columns.append(feature.name)
    if any(_lacks_cells(data, feature) for feature in data.features if feature.name not in out):
        found["missing"] = "indicator"
    if out:
        found["exclude"] = [feature.name for feature in data.features if feature.name in out]
    return found


def said_dates(data: GroupedRows, options: Mapping[str, str | list[str]]) -> list[str]:
    """How the dates of these options are written, a sentence for each column of which one form alone fits all cells."""
    found = []
    for feature in data.features:
        form = form_of(feature.column.texts) if feature.name in options.get("dates", ()) else None
        if form is not None:
            found.append(f"{in_list(feature.name)}: date, {said_form(form)}")
    return found


def _lacks_cells(data: GroupedRows, feature: Feature) -> bool:
    """Whether a cell is blank, or is once the column is read as the numbers or dates that it looks like."""
    odd = oddity(data, feature)
    words: list[int] = []
    if odd is not None and odd.writing is not None:
        words = [place for place, text in enumerate(feature.column.texts) if is_missing(text)]
    return bool(feature.missing[data.used].any() or np.isin(feature.column.codes[data.used], words).any())


def _has_too_many(data: GroupedRows, feature: Feature) -> bool:
    """Whether one-hot encoding refuses its values as categories."""
    known = len(np.unique(feature.values[data.learnt])) if feature.is_number else known_categories(data, feature)
    return data.most_categories is not None and known > data.most_categories
