"""What the reference says of configurations, criteria, figures and messages is what the program has."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import yaml

from drurank.criteria import _BUILT_IN, criterion
from drurank.criterion import CriterionFamily
from drurank.figures import FIGURES

ROOT = Path(__file__).parents[2]
GAP = "\0"


def text_of(page):
    return (ROOT / "docs" / "reference" / f"{page}.md").read_text(encoding="utf-8")


def rows(page, header):
    """Cells of the tables with that first heading."""
    tables = re.findall(rf"^\| {header} \|.*\n\|[-|]+\|\n((?:\|.*\n?)+)", text_of(page), re.MULTILINE)
    return [re.split(r" \| ", line.strip("| ")) for table in tables for line in table.splitlines()]


@cache
def texts():
    """Every text in the code, with a mark where a value is put in."""
    found = []
    for file in (ROOT / "drurank").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                found.append("".join(part.value if isinstance(part, ast.Constant) else GAP for part in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return GAP.join(found)


@pytest.mark.parametrize("message", [row[0].strip("`") for row in rows("errors", "message")])
def test_each_message_still_stands_in_the_code(message):
    parts = [part.strip(" ;:") for part in message.split("...")]
    fixed = [part for part in parts if part]
    assert max(map(len, fixed)) >= 10, "too short to be told from others"
    assert [part for part in fixed if part not in texts()] == []


def test_the_messages_are_those_of_each_moment():
    headings = re.findall(r"^## (.+)", text_of("errors"), re.MULTILINE)
    assert headings == ["Reading data", "Starting a run", "Training", "Testing and resuming", "Studies"]


def test_every_configuration_is_listed_with_what_it_sets():
    found = {}
    for file in (ROOT / "configs").rglob("*.yaml"):
        sections = ", ".join(f"`{key}`" for key in yaml.safe_load(file.read_text(encoding="utf-8")))
        found[f"`{file.relative_to(ROOT / 'configs').with_suffix('').as_posix()}`"] = sections
    assert {row[0]: row[1] for row in rows("configuration", "configuration")} == found


def test_every_criterion_is_listed_with_what_is_better():
    better = {}
    for entry in _BUILT_IN:
        names = entry.names if isinstance(entry, CriterionFamily) else (entry.name,)
        better |= {f"`{name}`": "higher" if criterion(name).higher_is_better else "lower" for name in names}
    listed = rows("criteria_and_figures", "criterion")
    assert {name: row[-1] for row in listed for name in row[0].split(", ")} == better


def test_every_figure_is_listed_with_what_is_better():
    better = {f"`{name}`": "higher" if figure.higher_is_better else "lower" for name, figure in FIGURES.items()}
    assert {row[0]: row[-1] for row in rows("criteria_and_figures", "figure")} == better
