"""The class of docs/data_sources.md, through the command line."""

from pathlib import Path

import numpy as np
import pytest

from blocks import BLOCK
from drurank.cli import main
from runs import read_csv, read_json

PAGE = Path(__file__).parents[2] / "docs" / "data_sources.md"


@pytest.fixture
def words(tmp_path, monkeypatch):
    """Options that name the class of the page, and a file of 3 training wards and 2 others."""
    (block,) = [text for *_, title, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")) if title == "visits.py"]
    (tmp_path / "visits.py").write_text(block, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    rng = np.random.default_rng(0)
    ward = np.array(["c", "a", "e"] * 10 + ["b"] * 8 + ["d"] * 12)
    split = np.array(["train"] * 30 + ["ood_val"] * 8 + ["ood_test"] * 12)
    np.savez(tmp_path / "visits.npz", x=rng.normal(size=(50, 4)), y=np.arange(50) % 2, ward=ward, split=split)
    return ["--data", "visits.Visits", "--data.path", tmp_path / "visits.npz", "--data.batch_size", "8"]


def test_source_of_the_page_is_fitted_and_tested(words, run, tmp_path):
    run("fit", "--model", "DRU", *words, "--trainer.max_epochs", "1")
    run("test", "--run", "runs/version_0")
    assert [row["group"] for row in read_csv(tmp_path / "runs/version_0/weights.csv")[:3]] == ["a", "c", "e"]
    content = read_json(tmp_path / "runs/version_0/test/qdcg10/report.json")["splits"]["ood_test"]
    assert (content["rows"], content["groups"], content["groups_unseen_in_training"]) == (12, 1, 1)
    (group,) = read_csv(tmp_path / "runs/version_0/test/qdcg10/groups.csv")
    assert (group["group"], group["count"], group["seen_in_training"]) == ("d", "12", "false")


def test_source_of_the_page_is_inspected(words):
    seen = main(["inspect", *map(str, words)])
    assert {split.split: (split.rows, split.groups) for split in seen.splits} == {
        "train": (30, 3),
        "ood_val": (8, 1),
        "ood_test": (12, 1),
    }
