"""YAML files of options: numbers, true, false and null as in YAML 1.2, and names of columns and labels as text.

YAML 1.1, which PyYAML reads, takes ``no`` for false, ``010`` for 8 and ``1:30`` for 90. Here they are text.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from drurank.errors import InputError
from drurank.limits import LIFT, MOST_VALUES, are_lifted, count_values, refuse_large

TEXTS = frozenset(
    {
        "label",
        "group",
        "split",
        "split_names",
        "relabel",
        "regroup",
        "features",
        "exclude",
        "categorical",
        "allow_leaks",
        "delimiter",
        "text",
        "text_encoding",
        "path",
        "percents",
        "dates",
        "date_format",
        "thousands",
        "decimal",
    }
)
"""Options of data whose values are names of columns, labels, groups or splits: text as it is typed, keys too."""
SPELT = {
    "null": ("~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": ("true|True|TRUE|false|False|FALSE", list("tTfF")),
    "int": (r"[-+]?(?:0|[1-9][0-9]*)", list("-+0123456789")),
    "float": (
        r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+0123456789."),
    ),
    "merge": ("<<", ["<"]),
}
"""How values other than text are spelt, and what they begin with; the first that fits is taken."""
DOTTED = re.compile(
    r"^(?:[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
)
"""Numbers with a point, as YAML 1.1 spells floats."""
PLAIN = re.compile(r"(?!(?:true|false|null)\b)[A-Za-z_][\w,]*", re.IGNORECASE | re.ASCII)
UNPRINTED = re.compile("[\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""Letters that YAML refuses, or takes for blanks, where they are not escaped."""
TAG = "tag:yaml.org,2002:"


class CoreLoader(yaml.SafeLoader):  # type: ignore[misc]
    """Reads scalars as YAML 1.2 does."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}


for _name, (_spelling, _first) in SPELT.items():
    CoreLoader.add_implicit_resolver(f"{TAG}{_name}", re.compile(f"^(?:{_spelling})$"), _first)


class PlanLoader(CoreLoader):
    """Reads ``1e-5`` as text, since the digests of studies are of what was read so from the first."""

    yaml_implicit_resolvers = {
        first: [(tag, DOTTED if tag == f"{TAG}float" else spelling) for tag, spelling in spellings]
        for first, spellings in CoreLoader.yaml_implicit_resolvers.items()
    }


class TextLoader(CoreLoader):
    """Reads all scalars as the text that is typed but a plain null that is no key."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """A mapping whose keys are text.

        Raises:
            yaml.constructor.ConstructorError: if a key is given twice, of which only the last would count.
        """
        seen = set[str]()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key.value!r} is given twice", key.start_mark
                    )
                seen.add(key.value)
                key.tag = f"{TAG}str"
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


def _text(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
    return str(node.value)


for _name in ("bool", "int", "float"):
    TextLoader.add_constructor(f"{TAG}{_name}", _text)


class PlainDumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes text so that ``CoreLoader`` and readers of YAML 1.1 find the same: in quotes where one would not."""

    yaml_implicit_resolvers = {
        first: [*spellings] for first, spellings in yaml.SafeDumper.yaml_implicit_resolvers.items()
    }

    def ignore_aliases(self, data: Any) -> bool:
        """Write a repeated value in full each time, since no option can refer to a YAML anchor."""
        return True


for _name, (_spelling, _first) in SPELT.items():
    for _letter in _first:
        # Text that resolves to another tag than that of text is written in quotes.
        PlainDumper.yaml_implicit_resolvers.setdefault(_letter, []).append(
            (f"{TAG}{_name}", re.compile(f"^(?:{_spelling})$"))
        )


def _write_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # In other quotes these would be read back as blanks.
    style = '"' if any(odd in text for odd in "\x85\u2028\u2029") else None
    return dumper.represent_scalar(f"{TAG}str", str(text), style)


PlainDumper.add_multi_representer(str, _write_text)
PlainDumper.add_representer(str, _write_text)


def dump_yaml(content: Any) -> str:
    """Plain values as YAML, which ``read_yaml`` and PyYAML's ``safe_load`` read back the same, text as text."""
    written: str = yaml.dump(content, Dumper=PlainDumper, default_flow_style=False, allow_unicode=True, sort_keys=False)
    return written


def read_yaml(content: str, loader: type[CoreLoader] = CoreLoader) -> Any:
    """The content of a YAML file of options.

    Args:
        content: of the file.
        loader: how it reads what is no name.

    Raises:
        yaml.YAMLError: if it is not YAML.
    """
    if is_plain(content):
        return content
    node = _limited(content, loader)
    # A mapping is composed anew, since constructing it changes its nodes.
    read = _constructed(_composed(content, loader) if isinstance(node, yaml.MappingNode) else node, loader)
    return _with_texts(read, node) if isinstance(read, dict) else read


def read_options(file: Path, remedy: str) -> dict[str, Any]:
    """The options in a YAML file that a run has written.

    Raises:
        InputError: naming the file and the remedy, if it cannot be read as YAML of plain values, or holds no mapping;
            or if it is too large.
    """
    refuse_large(file)
    try:
        content = read_yaml(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        said = " ".join(str(error).split())[:120]
        raise InputError(f"{file} cannot be read as YAML of plain values ({said}); {remedy}") from error
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise InputError(f"{file} is damaged: it holds no sections; {remedy}")
    return content


def read_text(content: str) -> Any:
    """A value in YAML, as ``{no: 0}`` or ``[a, 01]``, whose scalars and keys are text as typed, but a plain null.

    Raises:
        yaml.YAMLError: if it is not YAML.
    """
    return _constructed(_limited(content, TextLoader), TextLoader)


def _constructed(node: Any, loader: type[CoreLoader]) -> Any:
    return None if node is None else loader("").construct_document(node)


def _composed(content: str, loader: type[CoreLoader]) -> Any:
    try:
        return yaml.compose(content, _quick(loader))  # type: ignore[arg-type]
    except (yaml.YAMLError, UnicodeError):
        return yaml.compose(content, loader)  # whose errors say more, and which reads some letters that C refuses


@cache
def _quick(loader: type[CoreLoader]) -> type:
    """The same in C, where PyYAML was built with it: some ten times as quick."""
    resolvers = {"yaml_implicit_resolvers": loader.yaml_implicit_resolvers}
    return type(f"Quick{loader.__name__}", (getattr(yaml, "CSafeLoader", yaml.SafeLoader),), resolvers)


def _limited(content: str, loader: type[CoreLoader]) -> Any:
    """The composed document.

    Raises:
        yaml.YAMLError: if it has too many values, or its aliases make too many of it.
    """
    if len(content) > MOST_VALUES and _has_too_many(content, loader) and not are_lifted():
        raise yaml.YAMLError(f"it has more than {MOST_VALUES:,} values; {LIFT}")
    node = _composed(content, loader)
    if "*" in content and count_values(node) > MOST_VALUES and not are_lifted():
        raise yaml.YAMLError(f"its aliases make more than {MOST_VALUES:,} values of it; {LIFT}")
    return node


def _has_too_many(content: str, loader: type[CoreLoader]) -> bool:
    """Whether it has more values than are taken, told without the memory that they need."""
    for reader in (_quick(loader), loader):  # type: ignore[arg-type]  # as in ``_composed``
        with suppress(yaml.YAMLError, UnicodeError):
            events = yaml.parse(content, reader)
            values = (event for event in events if isinstance(event, yaml.NodeEvent))
            return next(islice(values, MOST_VALUES, None), None) is not None
    return False


def is_plain(text: str) -> bool:
    """Whether every reader of YAML takes a text for text, and a list of names in it for one."""
    return PLAIN.fullmatch(text) is not None


def text_words(name: str, value: Any) -> list[str]:
    """An option of the data, whose value is text in any spelling, as words of the command line."""
    return ["--config", as_json({"data": {"init_args": {name: value}}})]


def as_json(content: Any) -> str:
    """Plain values as JSON in one line that is YAML too, which knows no pairs of escapes for one letter."""
    text = json.dumps(content, ensure_ascii=False)
    return UNPRINTED.sub(lambda odd: f"\\u{ord(odd[0]):04x}", text)


def _with_texts(read: Any, node: Any, place: tuple[str, ...] = ()) -> Any:
    """The content with the text of the options of data that are ``TEXTS``.

    They stand under ``data`` or its ``init_args``, or are called ``data.<name>``, as in a study.
    """
    if isinstance(read, list) and isinstance(node, yaml.SequenceNode):
        return [_with_texts(*pair, place) for pair in zip(read, node.value, strict=True)]
    if not isinstance(read, dict) or not isinstance(node, yaml.MappingNode):
        return read
    found = dict(read)
    for key, value in node.value:
        name = getattr(key, "value", None)
        if name not in found:
            continue  # Merged from elsewhere, or no text.
        path = (*place, *(word for word in str(name).split(".") if word != "init_args"))
        if path[-2:-1] == ("data",) and path[-1] in TEXTS:
            found[name] = TextLoader("").construct_document(value)
        else:
            found[name] = _with_texts(found[name], value, path)
    return found
