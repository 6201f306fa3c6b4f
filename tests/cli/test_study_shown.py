"""What is shown of finished candidates, where little is asked for."""

import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pa_parquet
import pytest

from drurank.study import Study, study_table
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


def test_names_of_a_study_are_words_of_the_commands_that_it_is_shown_with(run, tmp_path):
    names, split = ("A;touch owned $(id)", "B `id`"), "x$(touch owned);'y"
    rng = np.random.default_rng(3)
    folder = write_counts(tmp_path / "a study", {name: rng.integers(2, 8, (2, 6)) for name in names}, 10)
    for file in folder.rglob("groups.parquet"):
        table = pa_parquet.read_table(file)
        tested = table.filter(pc.equal(table["split"], "ood_test"))
        more = tested.set_column(1, "split", [[split] * tested.num_rows])
        pa_parquet.write_table(pa.concat_tables([table, more]), file)
    for checkpoints in folder.glob("candidates/*"):
        (checkpoints / "version_0/checkpoints").mkdir(parents=True)
        (checkpoints / "version_0/checkpoints/qdcg10.ckpt").touch()
    run("study", "report", "--folder", folder, "--on", split)
    choice, shown = ["--by", "qdcg10", "--on", split], ["--cells", "qdcg10,average,p10,worst"]
    (block,) = re.findall(r"```\n(.*?)\n```", (folder / "report.md").read_text(), re.DOTALL)
    found = [shlex.split(line.partition(" study ")[2]) for line in block.splitlines()]
    assert found == [
        [*words, "--folder", str(folder)]
        for words in (
            ["table", *choice, *shown],
            ["concordance", *choice],
            ["plot", *choice, *shown],
            ["compare", "--first", names[0], "--second", names[1], *choice, *shown],
            ["export-best", *choice, "--output", "best"],
        )
    ]
    table = study_table(Study.load(folder), "qdcg10", on=split)
    (said,) = [remark for remark in table.remarks if "copies it" in remark]
    assert shlex.split(re.search(r"study export-best (.*) copies it", said)[1]) == choice
