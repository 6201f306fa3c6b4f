"""Every command that is given an output refuses to replace what is there, unless it is told to."""

from pathlib import Path

import pytest

from drurank.cli import main

ROWS = ["g,y,yhat,x", *(f"{'abcdef'[row % 6]},{row // 6 % 2},{row // 3 % 2},{row}" for row in range(48))]
COLUMNS = ["--label", "y", "--prediction", "yhat", "--group", "g"]
DATA = ["--data.path", "t.csv", "--data.label", "y", "--data.group", "g"]
COMPARED = ["--first", "ERM", "--second", "DRU"]
COMMANDS = {
    "split": (["split", "--path", "t.csv", *COLUMNS[:2], *COLUMNS[4:], "--output", "s.csv"], "s.csv"),
    "report": (["report", "--predictions", "t.csv", *COLUMNS, "--output", "report"], "report/groups.png"),
    "report of two": (
        ["report", "--predictions", "t.csv", "u.csv", *COLUMNS, "--output", "out"],
        "out/comparison_all.csv",
    ),
    "inspect": (["inspect", *DATA, "--output", "seen"], "seen/findings.json"),
    "compare": (["study", "compare", "--folder", "{study}", *COMPARED, "--output", "c.csv"], "c.csv"),
    "plot": (["study", "plot", "--folder", "{study}", "--output", "drawn"], "drawn/methods.png"),
    "predict": (["predict", "--run", "{run}", "--output", "p.csv", "--trainer.accelerator", "cpu"], "p.csv"),
}


@pytest.mark.parametrize(("words", "there"), COMMANDS.values(), ids=COMMANDS)
def test_what_exists_is_replaced_only_if_that_is_said(words, there, results, done, capsys):
    for name in ("t.csv", "u.csv"):
        Path(name).write_text("\n".join(ROWS) + "\n")
    words = [word.format(study=results, run=done) for word in words]
    Path(there).parent.mkdir(exist_ok=True)
    Path(there).write_text("mine")
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    said = f"error: {there} exists; give another output, or --overwrite true to replace it\n"
    assert capsys.readouterr().err.endswith(said)
    assert Path(there).read_text() == "mine"
    if words[1] != "plot":  # which takes long
        main([*words, "--overwrite"])
        assert Path(there).read_bytes() != b"mine"
