"""The picture of the data flow is that of the imports."""

import ast
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAY_IMPORT = {
    "data": set(),
    "ranking": set(),
    "criteria": set(),
    "metrics": {"criteria", "ranking"},
    "training": {"data", "metrics", "ranking", "criteria"},
    "methods": {"data", "metrics", "ranking", "training"},
    "report": {"criteria"},
    "callbacks": {"data", "methods", "training", "report"},
}
"""What lies further up the flow, of each package."""


def imported(name):
    """Which of these packages the files of one import, anywhere."""
    place = ROOT / "drurank" / name
    found = set()
    for file in place.rglob("*.py") if place.is_dir() else [place.with_suffix(".py")]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [one.name for one in node.names] if isinstance(node, ast.Import) else []
            found |= {module.split(".")[1] for module in modules if module.startswith("drurank.")}
    return found & set(MAY_IMPORT) - {name}


@pytest.mark.parametrize("name", MAY_IMPORT)
def test_nothing_imports_what_lies_further_down(name):
    assert imported(name) <= MAY_IMPORT[name]


def test_the_picture_shows_the_packages_and_an_arrow_only_where_one_imports_the_other():
    drawn = runpy.run_path(str(ROOT / "docs" / "site" / "pictures.py"))
    assert {name for pair in drawn["FLOW"] for name, _ in pair} == set(MAY_IMPORT)
    for one, other, _ in drawn["ARROWS"]:
        assert other in imported(one) or one in imported(other), (one, other)
