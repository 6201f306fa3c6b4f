"""Names of the splits."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

SPLITS = ("train", "id_val", "ood_val", "val", "id_test", "ood_test", "test")
"""Splits of rows: *OOD* ones hold groups that training lacks, *ID* ones other rows of training's groups."""

FEW_GROUPS = 20
"""Tested groups below which you are told that figures hang on a few of them."""
TRAINING, VALIDATION, TEST = ("train",), ("ood_val", "val", "id_val"), ("ood_test", "test", "id_test")
"""Splits by what they are for, the one that most hangs on first."""
SPELLINGS = {"valid": "val", "validation": "val", "dev": "val"}
"""What folders and data sets of others often call a split, in lower case, and what it is here."""


@dataclass(frozen=True)
class SplitColumn:
    """The column that says the split of a row where folders, or the parts of a data set, have the names of splits.

    Attributes:
        name: of the column.
        known: spellings that ``split_names`` says the meaning of.
    """

    name: str = "split"
    known: Collection[str] = ()

    def cell(self, name: str) -> str:
        """What stands in the column for a folder or a part of this name.

        >>> SplitColumn().cell("Validation"), SplitColumn(known=["dev"]).cell("dev"), SplitColumn().cell("ood_test")
        ('val', 'dev', 'ood_test')
        """
        return name if name in self.known else SPELLINGS.get(name.lower(), name)


USUAL_COLUMN = SplitColumn()
"""The one that is meant where no other is named."""


def lacking(wanted: tuple[str, ...], found: list[str]) -> str | None:
    """What is said where none of the wanted splits has rows, after the name of what lacks them; else ``None``."""
    if set(wanted) & set(found):
        return None
    return f"has no rows in split {' or '.join(wanted)}; found {', '.join(found) or 'none'}; assign some rows to it"
