"""A link that leads to itself, in the place of whatever a command reads or writes, ends it in a sentence."""

from pathlib import Path

import pytest

from drurank.cli import main
from runs import SMALL
from studies import written

ROWS = ["g,y,yhat,x", *(f"{'abcdef'[row % 6]},{row // 6 % 2},{row // 3 % 2},{row}" for row in range(48))]
COLUMNS = ["--label", "y", "--prediction", "yhat", "--group", "g"]
SPLIT = ["split", *COLUMNS[:2], *COLUMNS[4:]]
DATA = ["--data.label", "y", "--data.group", "g"]
FIT = ["fit", "--model", "ERM", *SMALL, "--trainer.max_epochs", "1"]
COMMANDS = {
    "split": [*SPLIT, "--path", "loop.csv", "--output", "s.csv"],
    "split of two": [*SPLIT, "--path", "t.csv,loop.csv", "--output", "s.csv"],
    "split to": [*SPLIT, "--path", "t.csv", "--output", "loop.csv"],
    "report": ["report", "--predictions", "loop.csv", *COLUMNS],
    "report to": ["report", "--predictions", "t.csv", *COLUMNS, "--output", "loop.csv"],
    "report of two": ["report", "--predictions", "t.csv", "loop.csv", *COLUMNS, "--output", "o"],
    "inspect": ["inspect", "--data.path", "loop.csv", *DATA],
    "inspect of": ["inspect", "--config", "loop.csv"],
    "inspect to": ["inspect", "--data.path", "t.csv", *DATA, "--output", "loop.csv"],
    "fit of": ["fit", "--config", "loop.csv"],
    "fit data": ["fit", "--model", "ERM", "--data", "Table", "--data.path", "loop.csv", *DATA],
    "fit to": [*FIT, "--trainer.default_root_dir", "loop.csv/x"],
    "fit logger": [*FIT, "--trainer.logger", "CSVLogger", "--trainer.logger.save_dir", "loop.csv"],
    "import": ["--import", "loop.py", *FIT],
    "resume": ["fit", "--ckpt_path", "loop.csv/checkpoints/last.ckpt"],
    "test": ["test", "--run", "loop.csv"],
    "predict": ["predict", "--ckpt_path", "loop.csv"],
    "predict to": ["predict", "--run", "{run}", "--output", "loop.csv"],
    "study run": ["study", "run", "--config", "loop.csv", "--output", "s"],
    "study run to": ["study", "run", "--config", "s.yaml", "--output", "loop.csv/x"],
    "study table": ["study", "table", "--folder", "loop.csv"],
    "study plot to": ["study", "plot", "--folder", "{study}", "--output", "loop.csv"],
    "study compare": ["study", "compare", "--runs", "loop.csv", "{run}"],
    "study export-best": ["study", "export-best", "--folder", "loop.csv", "--output", "best"],
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_link_to_itself_ends_a_command_in_a_sentence(words, done, results, tmp_path, capsys):
    for name in ("loop.csv", "loop.py"):
        Path(name).symlink_to(name)
    Path("t.csv").write_text("\n".join(ROWS) + "\n")
    written(tmp_path / "s.yaml")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SystemExit) as stop:
        main([word.format(run=done, study=results) for word in words])
    assert stop.value.code == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("error: ")
    assert "loop." in said
    assert sorted(tmp_path.rglob("*")) == before


def test_a_checkpoint_of_a_run_that_is_one_is_named(copied, refused):
    (copied / "checkpoints/worst.ckpt").unlink()
    (copied / "checkpoints/worst.ckpt").symlink_to("worst.ckpt")
    said = refused("test", "--run", copied)
    assert str(copied / "selection.json") in said
    assert "worst.ckpt" in said
