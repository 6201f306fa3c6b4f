"""Every command and every block of Python in the tutorials runs, in its order, in an empty folder."""

import shutil
import sys

import pytest

from blocks import BLOCK
from drurank import criteria, imports
from page_commands import after_program, commands, ended
from runs import ROOT

PAGES = sorted([ROOT / "docs" / "start.md", *ROOT.glob("docs/tutorials/*.md")])
HELD = ("several_devices", "start")
"""Pages none of whose commands can run here; each block says why."""
AS_NOTEBOOKS = ("own_table", "choosing_methods", "service")
"""Pages whose cells test_notebooks.py runs."""


def blocks(page):
    """Reason why it is not run, language, name of its file and text of each block."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def test_pages_of_which_no_block_runs_are_those_that_are_named():
    for page in PAGES:
        assert (page.stem in HELD) == all(reason for reason, *_ in blocks(page)), page.name


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.stem not in HELD + AS_NOTEBOOKS], ids=lambda page: page.stem
)
def test_what_it_says_runs(page, tmp_path, monkeypatch):
    if "--data.tokenizer encoder" in page.read_text(encoding="utf-8"):
        from encoders import minilm

        shutil.copytree(minilm(), tmp_path / "encoder")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(criteria, "_registry", dict(criteria._registry))  # what --import adds stays here
    monkeypatch.setattr(imports, "_imported", [])
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    before, names = set(sys.modules), {"__name__": page.stem}
    try:
        for reason, language, title, text in blocks(page):
            if reason:
                continue
            if title:
                (tmp_path / title).write_text(text, encoding="utf-8")
            elif language == "python":
                exec(compile(text, f"{page.name}", "exec"), names)
            else:
                for words in map(after_program, commands(text)):
                    assert words, f"{text}: not commands of this program; say why they are not run"
                    assert ended(words) in (None, 0), words
    finally:
        for name in {"my_method", "below80"} & (set(sys.modules) - before):
            del sys.modules[name]
