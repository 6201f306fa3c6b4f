"""A class that is named gets its own defaults, not those of the class that stood in its place.

jsonargparse keeps, where another class is named for an option, each argument of the first that the second takes too,
the defaults of the first among them (its issue 460). Here only those are kept that differ from the first's defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from jsonargparse import Namespace, _typehints
from jsonargparse._typehints import ActionTypeHint

Discard = Callable[[Any, Any, Any], None]


@contextmanager
def own_defaults() -> Iterator[None]:
    """While a parser works; may be nested."""
    usual: Discard = _typehints.discard_init_args_on_class_path_change

    def discard(parser: Any, before: Any, after: Any) -> None:
        if before and "init_args" in before and before["class_path"] != after["class_path"]:
            _drop_defaults(before["class_path"], before["init_args"])
        usual(parser, before, after)

    _typehints.discard_init_args_on_class_path_change = discard
    try:
        yield
    finally:
        _typehints.discard_init_args_on_class_path_change = usual


@cache
def _defaults_of(parser: Any) -> Any:
    """What ``get_defaults`` gives, which takes a while; jsonargparse keeps one parser for each class."""
    return parser.get_defaults()


def _drop_defaults(class_path: str, arguments: Any) -> None:
    """Take those arguments away that are the class's defaults."""
    try:
        defaults = _defaults_of(ActionTypeHint.get_class_parser(class_path))  # type: ignore[no-untyped-call]
    except (ImportError, AttributeError, ValueError):
        return  # It is refused where it is used.
    names = arguments.items(branches=True, nested=False) if isinstance(arguments, Namespace) else arguments.items()
    for name, value in list(names):
        if name in defaults and defaults[name] == value:
            del arguments[name]
