"""The citation can be read by programs, and says what the package and its pages say."""

from pathlib import Path

import pytest
import yaml

import drurank

ROOT = Path(__file__).parents[2]
REQUIRED = {"cff-version", "message", "title", "authors"}
"""Keys that version 1.2.0 of the Citation File Format requires."""


@pytest.fixture(scope="module")
def citation():
    return yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_the_required_keys_are_there(citation):
    assert citation.keys() >= REQUIRED
    assert citation["cff-version"] == "1.2.0"
    assert citation["title"].startswith("drurank")
    assert citation["authors"] == [{"name": "drurank developers"}]


def test_the_version_is_that_of_the_package(citation):
    assert citation["version"] == drurank.__version__


def test_the_paper_is_the_one_that_its_page_names(citation):
    (paper,) = citation["references"]
    page = " ".join((ROOT / "docs/paper.md").read_text(encoding="utf-8").split())
    names = [f"{author['given-names']} {author['family-names']}" for author in paper["authors"]]
    assert f"{', '.join(names[:-1])} and {names[-1]}, *{paper['title']}*" in page
