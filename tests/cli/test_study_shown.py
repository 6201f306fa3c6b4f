"""What is shown of finished candidates, where little is asked for."""

import re
from pathlib import Path

import numpy as np
import pytest

from studies import write_counts

COMMANDS = {
    "table": [],
    "concordance": [],
    "compare": ["--first", "ERM", "--second", "DRU"],
    "plot": ["--output", "pictures"],
    "report": [],
}


@pytest.fixture(scope="module")
def by_worst(tmp_path_factory):
    """A study that kept no checkpoint by ``qdcg10``."""
    rng = np.random.default_rng(3)
    correct = {"ERM": rng.integers(2, 8, (2, 6)), "DRU": rng.integers(4, 10, (2, 6))}
    return write_counts(tmp_path_factory.mktemp("by_worst") / "study", correct, 10, kept=("worst", "p10"))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_study_without_the_usual_criterion_is_shown_by_its_first(by_worst, run, capsys, command):
    run("study", command, "--folder", by_worst, *COMMANDS[command])
    said = capsys.readouterr().out
    if command in ("table", "compare"):
        assert re.search(r"chosen by worst\b", said)
    if command == "report":
        assert "study table --by worst " in (by_worst / "report.md").read_text()
    if command == "plot":
        assert Path("pictures/choosing.png").is_file()


def test_another_criterion_is_told_which_there_are(by_worst, refused):
    said = refused("study", "table", "--folder", by_worst, "--by", "qdcg10")
    assert "qdcg10" in said
    assert "worst" in said
