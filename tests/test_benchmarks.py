"""Every benchmark can be read: it finds what it imports, in the package and among the tests' helpers."""

import runpy
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parent.parent / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_finds_what_it_imports(monkeypatch, file):
    monkeypatch.syspath_prepend(file.parent)
    assert runpy.run_path(str(file), run_name="read")["__doc__"]
