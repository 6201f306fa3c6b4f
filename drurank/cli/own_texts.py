"""Text of an option stays text: jsonargparse reads every value as YAML, those of a configuration a second time.

A column named ``2e5`` would become a number, ``#x`` nothing, and ``a: b`` a mapping.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from types import UnionType
from typing import Any, Union, get_args, get_origin

from jsonargparse._typehints import ActionTypeHint

TYPED = "_typed_as_text"
"""Attribute of an option while its value comes from the command line, where ``null`` can be no other null."""


@contextmanager
def own_texts() -> Iterator[None]:
    """While a parser works; may be nested."""
    option: Any = ActionTypeHint
    check, call = option._check_type, option.__call__

    @wraps(check)  # jsonargparse passes what the signature names.
    def check_text(self: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(value, str) or not _is_text(self, value):
            return check(self, value, *args, **kwargs)
        nothing = value == "null" and getattr(self, TYPED, False) and type(None) in alternatives(self._typehint)
        return None if nothing else str.__str__(value)  # of an enumeration its value

    @wraps(call)
    def call_typed(self: Any, *args: Any, **kwargs: Any) -> Any:
        setattr(self, TYPED, True)
        try:
            return call(self, *args, **kwargs)
        finally:
            setattr(self, TYPED, False)

    option._check_type, option.__call__ = check_text, call_typed
    try:
        yield
    finally:
        option._check_type, option.__call__ = check, call


def _is_text(option: Any, value: str) -> bool:
    """Whether this value of an option is text as it is typed, and no list or mapping of it on the command line."""
    hint = option._typehint
    if str not in alternatives(hint) or kinds_of_text(hint) is None:
        return False
    lists = any(get_origin(part) is list for part in alternatives(hint))
    return not (lists and getattr(option, TYPED, False) and value.lstrip().startswith("["))


def kinds_of_text(hint: Any) -> tuple[bool, bool, bool] | None:
    """Whether a type takes a list, a mapping, and null, beside text; ``None`` if it takes other things than text."""
    kinds = {get_origin(part) or part: get_args(part) for part in alternatives(hint)}
    inner = [alternative for args in kinds.values() for arg in args for alternative in alternatives(arg)]
    if not kinds.keys() <= {str, list, dict, type(None)} or not set(inner) <= {str, int}:
        return None
    is_text = str in kinds or (inner and all(str in alternatives(arg) for args in kinds.values() for arg in args))
    return (list in kinds, dict in kinds, type(None) in kinds) if is_text else None


def alternatives(hint: Any) -> list[Any]:
    """The types of a union, or the one type."""
    return list(get_args(hint)) if get_origin(hint) in (Union, UnionType) else [hint]
