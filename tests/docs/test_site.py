"""The site is built without a broken link, and each page begins with what it is about."""

import logging
import re
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config

ROOT = Path(__file__).parents[2]
OWN = sorted([ROOT / "docs" / "start.md", *ROOT.glob("docs/tutorials/*.md"), *ROOT.glob("docs/ideas/*.md")])


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


@pytest.mark.parametrize("page", OWN, ids=lambda page: page.stem)
def test_a_page_begins_with_a_short_answer(page):
    title, answer = re.match(r"(.*)\n\n((?:.+\n)+)", page.read_text(encoding="utf-8")).groups()
    assert title.startswith("# ")
    assert 10 <= len(answer.split()) <= 60, "a page begins with a paragraph of 60 words or fewer"
