"""Names of the splits."""

SPLITS = ("train", "id_val", "ood_val", "val", "id_test", "ood_test", "test")
"""Splits of rows: *OOD* ones hold groups that training lacks, *ID* ones other rows of training's groups."""

FEW_GROUPS = 20
"""Tested groups below which you are told that figures hang on a few of them."""
TRAINING, VALIDATION, TEST = ("train",), ("ood_val", "val", "id_val"), ("ood_test", "test", "id_test")
"""Splits by what they are for, the one that most hangs on first."""
SPELLINGS = {"valid": "val", "validation": "val", "dev": "val"}
"""What folders and data sets of others often call a split, in lower case, and what it is here."""


def usual_name(split: str) -> str:
    """What a split is called here that others may spell in another way.

    >>> usual_name("Validation"), usual_name("ood_test")
    ('val', 'ood_test')
    """
    return SPELLINGS.get(split.lower(), split)


def lacking(wanted: tuple[str, ...], found: list[str]) -> str | None:
    """What is said where none of the wanted splits has rows, after the name of what lacks them; else ``None``."""
    if set(wanted) & set(found):
        return None
    return f"has no rows in split {' or '.join(wanted)}; found {', '.join(found) or 'none'}; assign some rows to it"
