"""The words of a command line, put so that the parser reads them as they are meant.

Classes come before their options, names of columns and labels stay text, and ``drurank:`` names a configuration that
comes with the package.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from drurank.errors import InputError
from drurank.imports import trust
from drurank.recipes import find_config
from drurank.yaml_files import TEXTS, as_json, is_plain, read_text, read_yaml, text_words

CONFIG = ("--config", "-c")
OPTIONS_WITH_CLASSES = ("model", "data", "trainer", "optimizer", "lr_scheduler")
OF_MODEL = ("optimizer", "lr_scheduler")
"""Options of LightningCLI that are the model's here."""
WEIGHTS = ("ckpt_path", "run")
"""Options that say which weights are meant; what is typed counts, wherever a saved configuration stands."""
TextOption = Callable[[str, str], tuple[bool, bool, bool] | None]
"""Whether an option of data takes a list, a mapping, and null, beside text; ``None`` if it takes other things."""


@dataclass(frozen=True)
class Given:
    """An option with its value.

    Attributes:
        place: of its first word.
        end: place after its last word.
        option: without dashes and ``init_args``, as ``model.network``; ``config`` for both spellings of that.
        value: of the option; empty where it has none.
    """

    place: int
    end: int
    option: str
    value: str

    @property
    def content(self) -> dict[str, Any]:
        """The content of a configuration; empty where it cannot be read, which the parser says."""
        try:
            file = file_named(find_config(self.value))
            read = read_yaml(self.value if file is None else file.read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError):
            return {}
        return read if isinstance(read, dict) else {}


def file_named(value: str) -> Path | None:
    """The file that a value names; ``None`` where it is the content itself, which may be too long for a name."""
    try:
        file = Path(value).expanduser()
        return file if file.is_file() else None
    except (OSError, ValueError, RuntimeError):
        return None


def given_options(words: list[str]) -> Iterator[Given]:
    """All options of a command line, in order."""
    for place, word in enumerate(words):
        if not word.startswith("-") or word == "-":
            continue
        option, equals, value = word.partition("=")
        end = place + 1
        if not equals and end < len(words) and not words[end].startswith("--"):
            value, end = words[end], end + 1
        name = "config" if option in CONFIG else option.removeprefix("--").replace(".init_args.", ".")
        yield Given(place, end, name, value)


def trust_named(words: list[str]) -> None:
    """Let classes be imported of the packages that a command line names, and the configurations named there.

    Args:
        words: those that a person typed, before any are added from the files of a run.
    """
    for given in given_options([str(word) for word in words]):
        if given.option == "config":
            trust(given.content)
        elif given.option.partition(".")[0].removesuffix("+") in OPTIONS_WITH_CLASSES:
            trust({given.option: _nested(given.value)})


def _nested(value: str) -> Any:
    """A value that is typed, as a list or mapping if it is one."""
    try:
        return read_yaml(value) if value.lstrip()[:1] in ("{", "[") else value
    except (ValueError, yaml.YAMLError):
        return value


def with_recipes(words: list[str]) -> list[str]:
    """The words with the paths of the configurations that come with the package.

    Raises:
        InputError: if there is none of this name.
    """
    found = list(words)
    for given in given_options(words):
        if given.option == "config" and given.value:
            found[given.place : given.end] = _option("--config", find_config(given.value), given)
    return found


def refuse_studies(words: list[str]) -> None:
    """Refuse the file of a study as a configuration of a fit.

    Raises:
        InputError: if one is given.
    """
    for given in given_options(words):
        if given.option == "config" and "candidates" in given.content:
            raise InputError(
                f"--config {given.value} is the file of a study, since it has candidates; run it by `study run "
                f"--config {given.value} --output FOLDER`"
            )


def optimizers_of_model(words: list[str]) -> list[str]:
    """The words with ``--optimizer`` and ``--lr_scheduler``, as LightningCLI calls them, as options of the model.

    Args:
        words: those after the program's name; the first one is the command.
    """
    found = list(words)
    for given in reversed(list(given_options(words))):
        if given.option == "config":
            content = given.content
            inner = {key: content.pop(key) for key in OF_MODEL if key in content}
            if inner:
                content["model"] = _with_arguments(content.get("model"), inner)
                found[given.place : given.end] = ["--config", as_json(content)]
        elif given.option.partition(".")[0] in OF_MODEL:
            found[given.place] = f"--model.{words[given.place].removeprefix('--')}"
    return found


def without_other_commands(words: list[str], of_others: Container[str]) -> list[str]:
    """The words with configurations as this command takes them, also where another command saved them.

    Args:
        words: those after the program's name; the first one is the command.
        of_others: options that other commands have and this one lacks, without dashes.
    """
    found, every = list(words), list(given_options(words))
    typed = any(given.option in WEIGHTS for given in every)
    for given in reversed(every):
        content = given.content if given.option == "config" else {}
        kept = {
            key: value
            for key, value in content.items()
            if key not in of_others and not (key in WEIGHTS and (typed or value is None))
        }
        if kept.keys() != content.keys():
            found[given.place : given.end] = ["--config", as_json(kept)]
    return found


def _with_arguments(section: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """A section that names a class, or not yet, with more arguments of it."""
    named: dict[str, Any] = {"class_path": section} if isinstance(section, str) else dict(section or {})
    return {**named, "init_args": {**(named.get("init_args") or {}), **arguments}}


def classes_first(words: list[str]) -> list[str]:
    """The words with each class before the first of its options, where it is named only after it.

    Args:
        words: those after the program's name; the first one is the command.
    """
    named: dict[str, tuple[int, str]] = {}
    touched: dict[str, int] = {}
    for given in given_options(words):
        if given.option == "config":
            content = given.content
            for key, class_path in _sections(_of_command(content, words[0])):
                if class_path is not None:
                    named.setdefault(key, (given.place, class_path))
                touched.setdefault(key, given.place)
        elif not given.option.endswith("+"):
            parts = given.option.split(".")
            for depth in range(1, len(parts)):
                touched.setdefault(".".join(parts[:depth]), given.place)
            if _may_name_class(given.value):
                named.setdefault(given.option, (given.place, given.value))
    late = [key for key, (place, _) in named.items() if key in touched and touched[key] < place]
    found = list(words)
    for key in sorted(late, key=lambda key: (touched[key], key.count(".")), reverse=True):
        found[touched[key] : touched[key]] = [f"--{key}", named[key][1]]
    return found


def _may_name_class(value: str) -> bool:
    """Whether a typed value may be a class, which a list, a mapping of other things or nothing is not."""
    read = _nested(value)
    return "class_path" in read if isinstance(read, dict) else isinstance(read, str) and value not in ("", "null")


def named_classes(words: list[str], key: str) -> list[str]:
    """The classes that options and configurations name for an option, in order."""
    found = []
    for given in given_options(words):
        if given.option == "config":
            content = given.content
            sections = _sections(_of_command(content, words[0]))
            found += [path for name, path in sections if name == key and path is not None]
        elif given.option == key and given.value:
            found.append(given.value)
    return found


def names_as_text(words: list[str], takes_text: TextOption) -> list[str]:
    """The words with names of columns and labels, that YAML would take for mappings or numbers, as text.

    Args:
        words: those after the program's name; the first one is the command.
        takes_text: tells of a class and one of its options whether that takes text, and of what kind.
    """
    classes = named_classes(words, "data")
    found: list[str] = []
    place = 0
    for given in given_options(words):
        head, _, name = given.option.partition(".")
        if head != "data" or not name or not given.value or given.place < place:
            continue
        kinds = takes_text(classes[-1] if classes else "", name)
        if kinds is None or is_plain(given.value) or (kinds[2] and given.value == "null"):
            continue
        found += [*words[place : given.place], *text_words(name, _as_text(given.value, *kinds[:2]))]
        place = given.end
    return [*found, *words[place:]]


def usual_text(class_path: str, name: str) -> tuple[bool, bool, bool] | None:
    """``TextOption`` where the class is not known."""
    return (True, True, True) if name in TEXTS else None


def _as_text(value: str, lists: bool, mappings: bool) -> Any:
    inner = value.strip()
    if (lists and inner.startswith("[")) or (mappings and inner.startswith("{")):
        return read_text(inner)
    return value


def _of_command(content: dict[str, Any], command: str) -> dict[str, Any]:
    inner = content.get(command)
    return {**content, **inner} if isinstance(inner, dict) else content


def _sections(content: dict[str, Any], key: str = "") -> Iterator[tuple[str, str | None]]:
    """Options of a configuration that are mappings, with the class that each names, those within them too."""
    for name, value in content.items():
        if not isinstance(value, dict) or name == "dict_kwargs":
            continue
        path = key if name == "init_args" else f"{key}.{name}".removeprefix(".")
        if name != "init_args":
            class_path = value.get("class_path")
            yield path, class_path if isinstance(class_path, str) else None
        yield from _sections(value, path)


def _option(name: str, value: str, given: Given) -> list[str]:
    return [name, value] if given.end - given.place == 2 else [f"{name}={value}"]
