"""Options with which a table can be trained on as it stands: what ``inspect`` names, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from drurank.errors import in_list
from drurank.splits import SPLITS
from drurank.tabular.dates import form_of, said_form
from drurank.tabular.feature import Feature
from drurank.tabular.indices import says_split
from drurank.tabular.odd import known_categories, oddity
from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules.cells import empty_columns
from drurank.tabular.rules.features import distinct_columns
from drurank.tabular.rules.finding import Finding
from drurank.tabular.rules.groups import REMEDY
from drurank.tabular.rules.spelling import MOST_RENAMED, groups_on_both_sides, twin_features
from drurank.tabular.spellings import as_commonest, plain_label, twins
from drurank.tabular.writings import is_missing

OF_FEATURES = {"features", "categorical", "allow_leaks", "join_feature_twins", "percents", "dates"}
"""Options that name columns to learn from."""


def suggested_options(data: GroupedRows) -> dict[str, str | list[str]]:
    """Options of ``Table`` by name: a mark, a choice, or names of columns.

    Columns are read as what they look like, and values that are one when written alike as one. IDs, columns without a
    value in training, and those of too many categories are left out, and missing cells get an indicator.
    """
    found: dict[str, str | list[str]] = {}
    out = {name for check in (empty_columns, distinct_columns) for finding in check(data) for name in finding.names}
    if data.split_column is not None:
        out |= {feature.name for feature in data.features if _says_split(feature)}
    forms: set[str | None] = set()
    for feature in data.features:
        if feature.name in out:
            continue
        odd = oddity(data, feature)
        if odd is None or odd.kind == "many_categories":
            if not feature.is_number and _has_too_many(data, feature):
                out.add(feature.name)
            continue
        if odd.too_many:
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
    twins = [name for name in twin_features(data) if name not in out]
    if twins:
        found["join_feature_twins"] = twins
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


def remedies(data: GroupedRows, findings: Sequence[Finding]) -> dict[str, Any]:
    """Options by which these rows can be trained on as far as options can do that, those that ``findings`` name.

    Where a finding names several, it is the one that keeps most and cannot make results look too good: a column that
    determines the label is left out, and dates are read as such.
    """
    found: dict[str, Any] = {**suggested_options(data)} if data.features else {}
    if data.missing != "error":
        found.pop("missing", None)
    column = next((feature.name for feature in data.features if _says_split(feature)), None)
    if column is not None and data.split_column is None:
        found["split"] = column
    if any(finding.code == "unusable_pictures" and finding.severity == "error" for finding in findings):
        found |= {"broken": "drop", "check": "whole"}
    for finding in findings:
        for name, value in _options_of(data, finding).items():
            found[name] = added(found.get(name), value)
    return without_excluded(found)


def added(given: Any, more: Any) -> Any:
    """An option's value with more of it: names and mappings are joined, another value takes the place of the first."""
    if isinstance(more, dict):
        return {**(given or {}), **more}
    return list(dict.fromkeys([*(given or []), *more])) if isinstance(more, list) else more


def without_excluded(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, of which none names a column that another leaves out."""
    out = options.get("exclude") or []
    left = {
        name: [column for column in value or () if column not in out] if name in OF_FEATURES else value
        for name, value in options.items()
    }
    left = {name: value for name, value in left.items() if value or name not in OF_FEATURES}
    if left.get("features"):
        left.pop("exclude", None)
    if "dates" not in left:
        left.pop("date_format", None)
    return left


def _says_split(feature: Feature) -> bool:
    """Whether a feature is rather the column of a split."""
    return says_split(feature.column.texts)


def _options_of(data: GroupedRows, finding: Finding) -> dict[str, Any]:
    """Options that are no way to read a column, for one finding."""
    if finding.code == "determines_label":
        return {"exclude": list(finding.names)}
    if finding.code == "unusable_columns":
        return _of_unusable(data, finding)
    if finding.code == "spelling":
        return _of_spelling(data, finding)
    column = data.split_column
    if finding.severity != "error" or column is None:
        return {}
    if finding.code == "split_spelling":
        close = {text: get_close_matches(text.lower(), SPLITS, n=1) for text in finding.names}
        return {"split_names": {text: near[0] for text, near in close.items()}} if all(close.values()) else {}
    if finding.code == "shared_groups":
        split = data.split_names[column.plain(finding.value or "")]
        return {"split_names": {text: REMEDY[split] for text in column.texts if data.split_names.get(text) == split}}
    return {}


def _of_unusable(data: GroupedRows, finding: Finding) -> dict[str, Any]:
    """Dates are numbers of days, columns of a few words are codes, those of odd types are left out.

    A number that is too large has no option.
    """
    features = {feature.name: feature for feature in data.features}
    odd = [name for name in finding.names if name in data.unusable]
    days = [name for name in odd if "as a number of days" in data.unusable[name]]
    codes = [
        name
        for name in finding.names
        if name in features and not features[name].is_number and oddity(data, features[name]) is None
    ]
    found = {"dates": days, "exclude": [name for name in odd if name not in days], "categorical": codes}
    return {name: columns for name, columns in found.items() if columns}


def _of_spelling(data: GroupedRows, finding: Finding) -> dict[str, Any]:
    name, label = finding.names[0], data.label_column
    if label is not None and label.name == name:
        renamed = as_commonest(label, twins(label.texts, plain_label)) if label.is_text else {}
        return {"relabel": renamed} if 0 < len(renamed) <= MOST_RENAMED else {}
    if name not in [column.name for column in data.group_columns] or groups_on_both_sides(data):
        return {}
    return {"join_twins": True}
