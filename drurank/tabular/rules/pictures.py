"""Pictures that cannot be used, or show nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from drurank.tabular.rows import GroupedRows
from drurank.tabular.rules.finding import Finding, Severity
from drurank.words import counted

USELESS = "nothing can be learnt from them; take such rows out, or look for what went wrong"


def unusable_pictures(data: GroupedRows) -> Iterator[Finding]:
    """Pictures that are missing or broken."""
    looks, used = data.looks, data.used
    faults = [int(row) for row in used if looks and looks[row].fault]
    if faults and data.pictures is not None:
        row = faults[0]
        more = f", one of {len(faults):,} such pictures" if len(faults) > 1 else ""
        said = f"{looks[row].fault}{more}; fix or remove it, or leave such rows out (broken='drop')"
        severity: Severity = "error" if data.missing == "error" else "warning"
        yield Finding.of_cell("unusable_pictures", severity, data.pictures, row, said, [data.name_row(row)])


def plain_pictures(data: GroupedRows) -> Iterator[Finding]:
    """Pictures of one colour alone."""
    looks, used = data.looks, data.used
    plain = [int(row) for row in used if looks and looks[row].is_plain]
    if plain and data.pictures is not None:
        more = f", as {counted(len(plain) - 1, 'other')}" if len(plain) > 1 else ""
        said = f"is of one colour{more}: {USELESS}"
        yield Finding.of_cell("plain_pictures", "warning", data.pictures, plain[0], said)


def conflicting_pictures(data: GroupedRows) -> Iterator[Finding]:
    """The same picture with different labels."""
    if not data.looks or data.pictures is None:
        return
    used = data.used[data.label[data.used] >= 0]
    digest = np.array([data.looks[row].digest for row in used])
    known = digest != ""
    _, which = np.unique(digest, return_inverse=True)
    least, most = (np.full(len(used) + 1, start) for start in (len(data.label_names), -1))
    np.minimum.at(least, which[known], data.label[used][known])
    np.maximum.at(most, which[known], data.label[used][known])
    found = used[known & (least[which] < most[which])]
    if len(found):
        row = int(found[0])
        twin = next(
            int(other) for other in found if data.looks[other].digest == data.looks[row].digest and other != row
        )
        said = (
            f"is the same picture as in row {data.name_row(twin)}, whose label is another one, as are {len(found):,} "
            "pictures in all; give each picture one label"
        )
        yield Finding.of_cell("conflicting_pictures", "warning", data.pictures, row, said)


def small_pictures(data: GroupedRows) -> Iterator[Finding]:
    """Pictures that are made larger before they are learnt from."""
    looks, side = data.looks, data.side
    seen = [looks[row] for row in data.used if not looks[row].fault] if looks else []
    small = np.array([min(look.width, look.height) < side for look in seen])
    if len(small) and small.any():
        least = min(min(look.width, look.height) for look in seen)
        yield Finding(
            "small_pictures",
            "note",
            f"{small.sum():,} of {len(small):,} pictures have a shorter side of less than {side} pixels, the least "
            f"{least}, and are made larger; a smaller size=... costs less and shows as much",
            [],
        )
