"""One entry of a plan's candidates: a method with its options, each with one value, several, or a range."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from drurank.errors import InputError
from drurank.study.candidates import Range, Repeat

SECTIONS = ("model", "data", "trainer")
"""What is given as in a configuration of ``fit``."""
SHARED = ("data", "trainer", "select", "seed_everything", "ckpt_path")
"""Options of ``fit`` that are the same for all candidates."""
EXAMPLE = "{model: DRU, cutoff: [5, 10]}"
REPEATS = "{path: [split_0.csv, split_1.csv]}"
Entry = dict[str, list[Any] | Range]
"""Option of ``fit`` to its values or range; ``model`` to the class of the method, or several."""


def read_entry(source: str, content: Any) -> Entry:
    """Read an entry.

    Args:
        source: the file, for messages.
        content: what the file says.

    Raises:
        InputError: if it names no method, or an option twice, or one that candidates cannot vary.
    """
    if not isinstance(content, dict) or not content.get("model"):
        raise InputError(f"{source}: a candidate is {content!r}; give a mapping with model, as {EXAMPLE}")
    entry: Entry = {}
    for name, value in content.items():
        option = _option(source, str(name))
        if option in entry:
            raise InputError(f"{source}: a candidate names {option} twice, in {content!r}; name it once")
        entry[option] = _values(source, str(name), value)
    methods = entry["model"]
    for method in methods if isinstance(methods, list) else [methods]:
        if not isinstance(method, str) or not all(part.isidentifier() for part in method.split(".")):
            raise InputError(f"{source}: model is {method!r}; give the class of a method, as DRU")
    return entry


def combinations(source: str, entry: Entry) -> Iterator[tuple[str, dict[str, Any]]]:
    """All settings of an entry for a grid: method, and option to value.

    Raises:
        InputError: if an option is a range.
    """
    lists: dict[str, list[Any]] = {}
    for name, value in entry.items():
        if isinstance(value, Range):
            raise InputError(f"{source}: {name} is a range, which a grid cannot try; give a list, or search: random")
        lists[name] = value
    for values in itertools.product(*lists.values()):
        options = dict(zip(lists, values, strict=True))
        yield str(options.pop("model")), options


def search_space(source: str, entry: Entry) -> tuple[str, dict[str, Range | tuple[str, ...]]]:
    """What a search may propose for an entry: method, and option to its range or its values as JSON.

    Raises:
        InputError: if it names several methods.
    """
    methods = entry["model"]
    if isinstance(methods, Range) or len(methods) != 1:
        raise InputError(f"{source}: model is {methods!r}; a search takes one method an entry, so give each its own")
    space: Mapping[str, Range | tuple[str, ...]] = {
        name: value if isinstance(value, Range) else tuple(json.dumps(choice) for choice in value)
        for name, value in entry.items()
        if name != "model"
    }
    return methods[0], dict(space)


def read_repeats(source: str, content: Any, entries: Sequence[Entry]) -> list[Repeat | None]:
    """Read the splits on each of which every setting is run; one without options, if none are named.

    Raises:
        InputError: if they are not lists of equal length of options of the data, or a candidate varies one of these.
    """
    if content is None:
        return [None]
    if not isinstance(content, dict) or not content or not all(isinstance(one, list) for one in content.values()):
        raise InputError(f"{source}: repeats is {content!r}; give options of the data with a list each, as {REPEATS}")
    lengths = {len(values) for values in content.values()}
    if (
        len(lengths) > 1
        or min(lengths) < 2
        or len({repr(one) for one in zip(*content.values(), strict=True)}) < max(lengths)
    ):
        raise InputError(f"{source}: repeats is {content!r}; give lists of one length, of two or more different splits")
    options = {str(name) if "." in str(name) else f"data.{name}": values for name, values in content.items()}
    for option in options:
        if not option.startswith("data."):
            raise InputError(f"{source}: repeats names {option!r}; give options of the data, as {REPEATS}")
        if any(option in entry for entry in entries):
            raise InputError(f"{source}: repeats and a candidate both name {option}; leave it out of the candidate")
    every = zip(*options.values(), strict=True)
    return [Repeat(number, dict(zip(options, values, strict=True))) for number, values in enumerate(every)]


def _option(source: str, name: str) -> str:
    """Full name of an option: without a dot it is one of the method's."""
    if name in SHARED:
        instead = {"seed_everything": "seeds", "select": "criteria"}.get(
            name, f"{name}.<option>, or a study of its own"
        )
        raise InputError(f"{source}: a candidate names {name!r}, which it cannot vary; give {instead}")
    if name in ("min_count", "model.min_count"):
        raise InputError(
            f"{source}: a candidate names min_count, which decides what groups criteria are of and so is the same for "
            "all; give it under model, as model: {init_args: {min_count: 5}}"
        )
    if "." not in name:
        return name if name == "model" else f"model.{name}"
    if name.partition(".")[0] not in SECTIONS:
        known = ", ".join(f"{key}." for key in SECTIONS)
        raise InputError(f"{source}: a candidate names {name!r}; begin it with {known}")
    return name


def _values(source: str, name: str, value: Any) -> list[Any] | Range:
    if isinstance(value, dict) and {"low", "high"} <= set(value) <= {"low", "high", "log"}:
        return _range(source, name, value)
    if value == []:
        raise InputError(f"{source}: {name} is an empty list, which makes no candidate; give a value, or leave it out")
    return value if isinstance(value, list) else [value]


def _range(source: str, name: str, value: dict[str, Any]) -> Range:
    # YAML 1.1 reads 1e-4 as text.
    low, high = (_number(end) for end in (value["low"], value["high"]))
    log = value.get("log", False)
    if low is None or high is None or not isinstance(log, bool) or low >= high or (log and low <= 0):
        raise InputError(
            f"{source}: {name} is {value!r}; give low below high, as {{low: 1e-4, high: 1e-1, log: true}}, and with "
            "log a low above 0"
        )
    return Range(low, high, log)


def _number(value: Any) -> float | None:
    """A finite number, also one that is given as text; ``None`` for all else."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if is_number else None
