"""Every command and every block of Python in the tutorials runs, in its order, in an empty folder."""

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from drurank import criteria, imports
from drurank.cli import main

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "docs" / "start.md", *ROOT.glob("docs/tutorials/*.md")])
BLOCK = re.compile(r"(<!-- not run: .+? -->\n)?^```(\w+)(?: title=\"(.+?)\")?\n(.*?)^```", re.MULTILINE | re.DOTALL)
HELD = ("several_devices", "start")
"""Pages none of whose commands can run here; each block says why."""
AS_NOTEBOOKS = ("own_table", "choosing_methods", "service")
"""Pages whose cells test_notebooks.py runs."""


def blocks(page):
    """Reason why it is not run, language, name of its file and text of each block."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def commands(text):
    """The words of each command of a block of the shell."""
    return [shlex.split(line, comments=True) for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def test_every_block_is_found():
    for page in PAGES:
        assert page.read_text(encoding="utf-8").count("```") == 2 * len(blocks(page)), page.name
        assert (page.stem in HELD) == all(reason for reason, *_ in blocks(page)), page.name


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.stem not in HELD + AS_NOTEBOOKS], ids=lambda page: page.stem
)
def test_what_it_says_runs(page, tmp_path, monkeypatch):
    if "--data.tokenizer encoder" in page.read_text(encoding="utf-8"):
        from encoders import minilm

        shutil.copytree(minilm(), tmp_path / "encoder")
    monkeypatch.chdir(tmp_path)
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
                for words in commands(text):
                    assert words[:2] == ["python", "cli.py"], words
                    assert run(words[2:]) in (None, 0), words
    finally:
        for name in {"my_method", "below80"} & (set(sys.modules) - before):
            del sys.modules[name]


def run(words):
    """What a command ends with: None where it did not say so."""
    try:
        main(words)
    except SystemExit as end:
        return end.code
    return None
