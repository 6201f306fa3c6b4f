"""The rules about grouped data, each written once: a function that yields what it finds.

``find`` runs all of them, for a look at the data; ``refuse`` those that stop a run, and stops at the first error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules import (
    cells,
    copies,
    features,
    groups,
    labels,
    leaks,
    misspelling,
    odd,
    pictures,
    scale,
    sentinels,
    spelling,
    splits,
)
from drurank.tabular.rules.finding import SEVERITIES, Check, Finding

Use = Literal["read", "start", "fit", "evaluate", "predict"]
"""What rows are wanted for: to know their splits; to start a fit; to be trained on, scored, or predicted for."""


@dataclass(frozen=True)
class Rule:
    """A rule, and where it stops a run.

    Attributes:
        check: yields what it finds.
        stops: the uses that an error of it stops; without any, it only tells.
    """

    check: Check
    stops: tuple[Use, ...] = ()


RULES = (
    Rule(splits.blank_split, ("read",)),
    Rule(splits.unknown_splits, ("read",)),
    Rule(splits.lacking_splits, ("start",)),
    Rule(features.no_features, ("fit",)),
    Rule(features.unusable_columns, ("fit", "evaluate", "predict")),
    Rule(odd.too_many_categories, ("fit",)),
    Rule(cells.missing_cells, ("fit", "evaluate", "predict")),
    Rule(cells.empty_columns, ("fit",)),
    Rule(groups.group_says_label, ("fit",)),
    Rule(labels.one_label, ("fit",)),
    Rule(labels.fraction_labels, ("fit",)),
    Rule(cells.blank_labels, ("fit", "evaluate")),
    Rule(cells.blank_groups, ("fit", "evaluate")),
    Rule(labels.unseen_labels, ("fit", "evaluate", "predict")),
    Rule(groups.shared_groups, ("fit", "evaluate")),
    Rule(leaks.determines_label, ("fit",)),
    Rule(labels.unlabelled_splits),
    Rule(odd.odd_columns),
    Rule(cells.padded_cells),
    Rule(cells.joined_values),
    Rule(cells.missing_as_text),
    Rule(groups.shared_ood_groups),
    Rule(groups.unseen_groups),
    Rule(groups.one_group),
    Rule(groups.group_fixes_label),
    Rule(groups.one_class_groups),
    Rule(groups.tiny_groups),
    Rule(labels.imbalance),
    Rule(labels.rare_labels),
    Rule(sentinels.sentinels),
    Rule(scale.label_words),
    Rule(scale.label_scale),
    Rule(spelling.spelled_alike),
    Rule(spelling.unicode_forms),
    Rule(misspelling.misspelt),
    Rule(pictures.unusable_pictures),
    Rule(pictures.plain_pictures),
    Rule(pictures.conflicting_pictures),
    Rule(pictures.small_pictures),
    Rule(copies.copied_rows),
    Rule(copies.copies_across_splits),
    Rule(leaks.nearly_determines_label),
    Rule(features.constant_columns),
    Rule(features.distinct_columns),
    Rule(features.unseen_categories),
)


def find(data: GroupedRows) -> list[Finding]:
    """All that every rule finds, the gravest first."""
    found = [finding for rule in RULES for finding in rule.check(data)]
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))


def refuse(data: GroupedRows, use: Use) -> None:
    """Stop at the first error that is in the way of this use.

    Raises:
        InputError: with the sentence of the finding.
    """
    for rule in RULES:
        for finding in rule.check(data) if use in rule.stops else ():
            if finding.severity == "error":
                raise finding.error(data.source, partial(_besides, data, finding))


def _besides(data: GroupedRows, first: Finding) -> list[str]:
    """Sentences of the other errors that a fit would stop at, with their file where it is another one."""
    errors = [finding for finding in find(data) if finding.severity == "error" and finding != first]
    where = first.file or data.source
    return [
        finding.sentence
        if (finding.file or data.source) == where
        else f"{finding.file or data.source}: {finding.sentence}"
        for finding in errors
    ]
