"""Features that are taken for something else than they look like."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from drurank.tabular.columns import as_option
from drurank.tabular.feature import Feature
from drurank.tabular.odd import Odd, Oddity, oddity
from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules.finding import Finding, Severity, quoted, some

TOLD: tuple[tuple[Oddity, Severity], ...] = (
    ("dates", "warning"),
    ("compact_dates", "warning"),
    ("marked_numbers", "warning"),
    ("codes", "note"),
)


def odd_columns(data: GroupedRows) -> Iterator[Finding]:
    """Dates that are categories, and codes that are quantities, in one finding for each kind and remedy."""
    found: dict[tuple[Oddity, str], list[tuple[str, Odd]]] = {}
    for feature in data.features:
        odd = oddity(data, feature)
        if odd is not None:
            found.setdefault((odd.kind, odd.remedy.partition("=")[0]), []).append((feature.name, odd))
    for kind, severity in TOLD:
        for option in (option for told, option in found if told == kind):
            names, odd = [name for name, _ in found[kind, option]], found[kind, option][0][1]
            others = f", and so do {some(map(quoted, names[1:]), shown=10)}" if len(names) > 1 else ""
            either = "" if kind == "codes" else f", or leave it out ({as_option('exclude', names)})"
            more = odd.remedy.removeprefix(as_option(option, names[:1]))
            remedy = odd.remedy if option in OF_ALL else as_option(option, names) + more
            said = f"column {quoted(names[0])} {odd.looks}{others}; give {remedy}{either}"
            yield Finding(kind, severity, said, names)


OF_ALL = ("thousands", "decimal")
"""Options of all columns, which name none."""


def too_many_categories(data: GroupedRows) -> Iterator[Finding]:
    """Features of more categories than one-hot encoding takes, in one finding."""
    limit = data.most_categories
    if limit is None:
        return
    many = {f.name: count for f in data.features if not f.is_number and (count := _known(data, f)) > limit}
    if many:
        name = next(iter(many))
        odd = next(oddity(data, feature) for feature in data.features if feature.name == name)
        instead = f"{odd.remedy}, since it looks like that, or " if odd and odd.kind != "many_categories" else ""
        others = f" (so {'does' if len(many) == 2 else 'do'} {some(map(quoted, list(many)[1:]), shown=10)})"
        yield Finding(
            "too_many_categories",
            "error",
            f"column {quoted(name)} has {many[name]:,} categories in training, more than the {limit:,} that one-hot "
            f"encoding takes{others if len(many) > 1 else ''}; give {instead}encoding='embed', or leave it out "
            f"({as_option('exclude', list(many))}); for texts, use the data Text with text=...",
            list(many),
            column=name,
        )


def _known(data: GroupedRows, feature: Feature) -> int:
    """How many categories training has."""
    limit = data.most_categories or 0
    return feature.size if feature.size <= limit else len(np.unique(feature.code[data.learnt]))
