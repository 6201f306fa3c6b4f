"""Features that are taken for something else than they look like."""

from __future__ import annotations

from collections.abc import Iterator

from drurank.tabular.columns import as_option
from drurank.tabular.feature import Feature
from drurank.tabular.odd import Odd, Oddity, has_too_many, known_categories, oddity
from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules.features import ids, is_unusable
from drurank.tabular.rules.finding import Finding, Severity
from drurank.tabular.writings import Writing, option_of
from drurank.words import quoted, some

TOLD: tuple[tuple[Oddity, Severity], ...] = (
    ("dates", "warning"),
    ("compact_dates", "warning"),
    ("marked_numbers", "warning"),
    ("codes", "note"),
)


def odd_columns(data: GroupedRows) -> Iterator[Finding]:
    """Dates that are categories, and codes that are quantities, in one finding for each kind and remedy.

    Where an error names the column, or a warning says that it is an ID, that says the remedy.
    """
    found: dict[tuple[Oddity, tuple[Writing, str] | None, str], list[Odd]] = {}
    as_ids = {feature.name for feature in ids(data)}
    for feature in data.features:
        odd = oddity(data, feature) if feature.name not in as_ids else None
        if odd is not None and not (is_unusable(data, feature) or has_too_many(data, feature)):
            found.setdefault((odd.kind, odd.writing, odd.looks), []).append(odd)
    for kind, severity in TOLD:
        for alike in (alike for (told, *_), alike in found.items() if told == kind):
            names, odd = [one.column for one in alike], alike[0]
            others = f", and so do {some(map(quoted, names[1:]), shown=10)}" if len(names) > 1 else ""
            either = "" if kind == "codes" else f", or leave it out ({as_option('exclude', names)})"
            said = f"column {quoted(names[0])} {odd.looks}{others}; give {odd.remedy_of(names)}{either}"
            yield Finding(kind, severity, said, names)


def too_many_categories(data: GroupedRows) -> Iterator[Finding]:
    """Features of more categories than one-hot encoding takes, in one finding."""
    limit = data.most_categories
    if limit is None:
        return
    many = {
        feature: known_categories(data, feature)
        for feature in data.features
        if has_too_many(data, feature) and not is_unusable(data, feature)
    }
    if many:
        names = [feature.name for feature in many]
        others = f" (so {'does' if len(many) == 2 else 'do'} {some(map(quoted, names[1:]), shown=10)})"
        yield Finding(
            "too_many_categories",
            "error",
            f"column {quoted(names[0])} has {next(iter(many.values())):,} categories in training, more than the "
            f"{limit:,} that one-hot encoding takes{others if len(many) > 1 else ''}; {_instead(data, list(many))}",
            names,
            column=names[0],
        )


def _instead(data: GroupedRows, many: list[Feature]) -> str:
    """What to do about columns of too many categories: what reads them as they look, else another encoding."""
    alike: dict[tuple[Writing, str], list[str]] = {}
    for feature in many:
        odd = oddity(data, feature)
        if odd is not None and odd.writing is not None:
            alike.setdefault(odd.writing, []).append(feature.name)
    readable = [name for names in alike.values() for name in names]
    rest = [feature.name for feature in many if feature.name not in readable]
    advice = [
        f"give {option_of(writing, names)}, since {some(map(quoted, names), shown=10)} "
        f"{'looks' if len(names) == 1 else 'look'} like {'dates' if writing[0] == 'date' else 'numbers'}"
        for writing, names in alike.items()
    ]
    if rest:
        which = f" for {some(map(quoted, rest), shown=10)}" if readable else ""
        them = "it" if len(rest) == 1 else "them"
        advice.append(
            f"give encoding='embed'{which}, or leave {them} out ({as_option('exclude', rest)}); for texts, use the "
            "data Text with text=..."
        )
    return "; ".join(advice)
