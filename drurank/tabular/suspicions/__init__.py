"""What is suspicious in grouped data: one small function a check, each of which yields its findings."""

from drurank.tabular.rows import GroupedRows
from drurank.tabular.suspicions import cells, copies, features, groups, labels, scale, spelling
from drurank.tabular.suspicions.finding import SEVERITIES, Check, Finding

CHECKS: tuple[Check, ...] = (
    cells.split_cells,
    cells.lacking_parts,
    cells.blank_cells,
    cells.missing_as_text,
    groups.shared_groups,
    groups.one_group,
    groups.group_is_label,
    groups.one_class_groups,
    groups.tiny_groups,
    labels.one_label,
    labels.unseen_labels,
    labels.imbalance,
    scale.label_words,
    scale.label_scale,
    spelling.spelled_alike,
    spelling.unicode_forms,
    copies.copied_rows,
    copies.copies_across_parts,
    features.unusable_columns,
    features.label_in_disguise,
    features.constant_columns,
    features.distinct_columns,
    features.unseen_categories,
)


def find_suspicions(data: GroupedRows) -> list[Finding]:
    """All findings, the gravest first."""
    found = [finding for check in CHECKS for finding in check(data)]
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))
