"""Words of small runs, and readers of what they write."""

import csv
import json
from pathlib import Path

import pytest
import torch

SMALL = ["--data", "Shortcut", "--data.groups", "[6,4,4]", "--data.group_size", "10", "--data.batch_size", "16"]
FIT = ["fit", "--model", "DRU", *SMALL]
QUIET = ["--trainer.accelerator", "cpu", "--trainer.enable_progress_bar", "false"]
SELECT = ["qdcg10", "worst", "average", "p25"]  # of the run that tests of the command line read
ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "configs"


def read_json(path):
    return json.loads(Path(path).read_text(encoding="utf-8"))


def read_csv(path):
    """Rows as dicts, empty cells left out."""
    with Path(path).open(newline="", encoding="utf-8") as lines:
        return [{name: cell for name, cell in row.items() if cell} for row in csv.DictReader(lines)]


def plain(file):
    return torch.load(file, weights_only=True)


def same(one, other):
    """Whether two nests of plain values and tensors are equal to the bit."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def assert_same_logged(one, other):
    """Criteria of each validation are equal to the bit; mean losses, sums of floats, to what their order may change."""
    assert len(one) == len(other)
    for seen, should in zip(one, other, strict=True):
        assert seen.keys() == should.keys()
        for key in seen:
            if key.endswith("_loss"):
                assert float(seen[key]) == pytest.approx(float(should[key]), rel=1e-5), key
            else:
                assert seen[key] == should[key], key


def assert_same_run(resumed, straight):
    one, other = (plain(folder / "checkpoints/last.ckpt") for folder in (resumed, straight))
    for key in ("epoch", "global_step", "state_dict", "optimizer_states", "drurank"):
        assert same(one[key], other[key]), key
    assert read_json(resumed / "selection.json") == read_json(straight / "selection.json")
    for table in ("weights.csv", "metrics.csv"):
        assert read_csv(resumed / table) == read_csv(straight / table), table
    for name in read_json(straight / "selection.json"):
        one, other = (plain(folder / f"checkpoints/{name}.ckpt") for folder in (resumed, straight))
        assert one["epoch"] == other["epoch"], name
        assert same(one["state_dict"], other["state_dict"]), name
