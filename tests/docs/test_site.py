"""The site is built without a broken link, and each page begins with what it is about."""

import logging
import re
import sys
from importlib import import_module
from pathlib import Path
from types import FunctionType

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config

import drurank

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "site"))
from hooks import PAGES  # noqa: E402

WRITTEN = sorted([*(ROOT / name for name in PAGES), *ROOT.glob("docs/**/*.md")])
"""Every page of the site but those that the package itself writes."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    heard = []

    class Ear(logging.Handler):
        def emit(self, record):
            heard.append(record.getMessage())

    ear = Ear(logging.WARNING)
    logging.getLogger("mkdocs").addHandler(ear)
    try:
        build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder)))
    finally:
        logging.getLogger("mkdocs").removeHandler(ear)
    return folder, heard


def test_no_link_or_anchor_is_broken(site):
    assert site[1] == []


def test_nothing_is_loaded_from_elsewhere(site):
    pages = list(site[0].rglob("*.html"))
    assert len(pages) > 25
    for page in pages:
        html = page.read_text(encoding="utf-8")
        loaded = re.findall(
            r"<(?:script|img|iframe|source)[^>]+src=\"([^\"]+)\"|<link[^>]+rel=\"stylesheet\"[^>]+href=\"([^\"]+)\"",
            html,
        )
        assert not [one for pair in loaded for one in pair if one.startswith(("http", "//"))], page.name


def test_formulas_are_mathml(site):
    html = (site[0] / "ideas" / "ranks.html").read_text(encoding="utf-8")
    assert html.count("<math ") >= 2
    assert "arithmatex" not in html


def test_the_search_and_headers_have_names_and_what_scrolls_is_reached_by_keys(site):
    for page in site[0].rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        assert html.count('role="dialog"') == html.count('role="dialog" aria-label="Search"') == 1, page.name
        for tag in ("<pre>", '<div class="wide">'):
            assert tag not in html.partition("<article")[2], page.name
        assert not re.search(r"<th[^>]*></th>", html), page.name
        assert html.count('display="block"') == html.count('<div class="wide" tabindex="0"><math '), page.name


def test_pictures_have_a_text(site):
    for page in site[0].rglob("*.html"):
        for image in re.findall(r"<img[^>]*>", page.read_text(encoding="utf-8")):
            assert re.search(r'alt="[^"]{20,}"', image), f"{page.name}: {image}"


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.stem)
def test_a_page_begins_with_a_short_answer(page):
    title, answer = page.read_text(encoding="utf-8").split("\n\n")[:2]
    assert re.fullmatch("# .+", title)
    assert not re.match(r"[#|>!<$-]|```|:::|\d+\. ", answer), "a page begins with a paragraph"
    assert 9 <= len(answer.split()) <= 60, "a page begins with a paragraph of 60 words or fewer"


def test_pages_say_no_number_of_data_sets_that_evidence_may_outgrow():
    numbers = "two|three|four|five|six|seven|eight|nine|ten|\\d+"
    for page in ROOT.glob("docs/each_method/*.md"):
        assert not re.search(rf"\b({numbers}) data ?sets", page.read_text(encoding="utf-8")), page.name


def test_the_api_shows_every_public_class_and_function(site):
    html = (site[0] / "reference" / "api.html").read_text(encoding="utf-8")
    shown = [name for name in drurank.__all__ if name not in ("Predictor", "training")]
    for package in [import_module(f"drurank.{name}") for name in (*shown, "report", "study")]:
        for name in package.__all__:
            if isinstance(made := getattr(package, name), type | FunctionType):
                # A function that is called as its module stands there under the module's name too.
                places = {f"{package.__name__}.{name}", f"{made.__module__}.{name}"}
                assert any(f'id="{place}"' in html for place in places), places


def test_there_is_no_page_that_works_on_a_server_alone(site):
    assert not (site[0] / "404.html").exists()
