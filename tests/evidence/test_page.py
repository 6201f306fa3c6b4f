"""The page of the evidence is what the kept results say."""

from benchmarks.evidence.experiments import ROOT
from benchmarks.evidence.kept import results_of
from benchmarks.evidence.page import Page


def test_the_committed_page_is_remade_to_the_digit(tmp_path, all_draws):
    Page(results_of("full"), tmp_path / "evidence").write(tmp_path / "evidence.md")
    assert (tmp_path / "evidence.md").read_text("utf-8") == (ROOT / "docs" / "evidence.md").read_text("utf-8")
    assert {file.name for file in (tmp_path / "evidence").iterdir()} >= {"methods.png", "cutoffs.png"}


def test_what_is_kept_is_small():
    assert sum(file.stat().st_size for file in results_of("full").iterdir()) < 5e6
