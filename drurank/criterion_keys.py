"""The keys that criteria are logged under, as ``val_qdcg10``."""

from __future__ import annotations

import difflib
import re

from drurank.criteria import RESERVED, known_names
from drurank.criterion import Criterion
from drurank.errors import InputError
from drurank.figures.selecting import find_selectable


def key_of(name: str, prefix: str = "val") -> str:
    """The key a criterion is logged under, as ``val_qdcg10``."""
    return f"{prefix}_{name}"


def logged_criterion(key: str) -> Criterion | None:
    """The criterion that is logged under a validation key; ``None`` if the key is not ours, as ``val_auroc``."""
    return find_selectable(_name_in(key))


def criterion_of_key(key: str) -> Criterion | None:
    """The criterion that a monitored key stands for; ``None`` if the key is not ours, as ``val_auroc``.

    Raises:
        InputError: if it is one of ours of test data, which must not be used to choose.
    """
    wanted = key.replace("test_", "val_")
    if key != wanted and (logged_criterion(wanted) or _name_in(wanted) in RESERVED):
        raise InputError(f"monitoring {key!r} would choose by the test data; monitor {wanted!r}")
    return logged_criterion(key)


def resembled_key(key: str) -> str | None:
    """The key of a criterion that a key may be meant for, as ``val_qdcg10`` of ``val_qdgc10``; ``None`` without one."""
    name = _name_in(key)
    close = difflib.get_close_matches(name, known_names(), n=1, cutoff=0.8)
    return key.removesuffix(name) + close[0] if close and not logged_criterion(key) else None


def _name_in(key: str) -> str:
    found = re.fullmatch(r"(?:id_)?val_([\w-]+)", key)
    return found[1] if found else ""
