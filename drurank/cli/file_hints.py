"""Options of ``fit`` that errors name, as the file of a study has them."""

from __future__ import annotations

import re
import shlex

import yaml

from drurank.yaml_files import as_json, read_yaml

OPTION = re.compile(
    r"`[^`]*`|(?<![\w-])--(?P<name>(?P<section>data|model|trainer)\.[a-z]\w*(?:\.\w+)*)"
    r"(?: (?!(?:is|are|and|or|both|has|would|names|holds|too|to|with|instead|out|if)\b)"
    r"(?P<value>'[^']*'|\"[^\"]*\"|[^\s;'\"]*[^\s;,.:)'\"]))?"
)
"""A command, or an option of a section, and its value where one follows that is no word of the sentence."""


def in_study_file(message: str) -> str:
    """A message with options of ``fit`` as they stand in the file of a study.

    >>> in_study_file("give --data.thousands ','; --model.min_count is 0")
    'give `data: {init_args: {thousands: ","}}`; model.min_count is 0'
    """
    return OPTION.sub(_written, message)


def _written(found: re.Match[str]) -> str:
    if found["name"] is None:
        return found[0]
    section, _, option = found["name"].partition(".")
    if found["value"] is None:
        return found["name"]
    (word,) = shlex.split(found["value"])
    try:
        value = as_json(read_yaml(word))
    except yaml.YAMLError:
        value = as_json(word)
    if "." in option:
        return f"`{found['name']}: {value}`"
    entry = f"{option}: {value}"
    return f"`{section}: {{{entry}}}`" if section == "trainer" else f"`{section}: {{init_args: {{{entry}}}}}`"
