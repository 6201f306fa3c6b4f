"""What is answered without torch."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest

from drurank import __version__
from drurank.cli import main
from drurank.cli.early import CLASSES_FILE, COMMANDS, KNOWN, check
from drurank.cli.make_known import classes, help_of
from drurank.cli.program import program
from drurank.errors import InputError

ANSWERED = {
    "fit --model DRU --model.cutof 5": "DRU has no option 'cutof': did you mean 'cutoff'",
    "fit --config drurank:method/qdru_m --model.cutof 5": "DRU has no option 'cutof': did you mean 'cutoff'",
    "fit --modl DRU": "there is no option --modl: did you mean '--model'",
    "fit --trainer.max_epoch 5": "there is no option --trainer.max_epoch: did you mean '--trainer.max_epochs'",
    "fit --max_epochs 5": "there is no option --max_epochs: did you mean '--trainer.max_epochs'?",
    "fit --seed 5": "there is no option --seed: did you mean '--seed_everything' or '--seeds'?",
    "fit --trainer.epochs 5": "did you mean '--trainer.max_epochs'",
    "fit --trainer.epcohs 5": "did you mean '--trainer.max_epochs'",
    "fit --lr 0.1": "there is no option --lr: did you mean '--model.optimizer AdamW --model.optimizer.lr'?",
    "fit --model DRU --model.lr 0.1": "did you mean '--model.optimizer AdamW --model.optimizer.lr'?",
    "fit --batchsize 5": "there is no option --batchsize: did you mean '--data.batch_size'?",
    "fit --run r": "there is no option --run: to continue a run give --ckpt_path <run>/checkpoints/last.ckpt",
    "fit --gpus 2": "there is no option --gpus: for GPUs give --trainer.accelerator gpu --trainer.devices <how many>",
    "fit --trainer.num_gpus 2": "no option --trainer.num_gpus: for GPUs give --trainer.accelerator gpu",
    "predict --run r --device cuda": "there is no option --device: for GPUs give --trainer.accelerator gpu",
    "fit --no_cuda": "and for none --trainer.accelerator cpu",
    "fit --devices 2": "there is no option --devices: did you mean '--trainer.devices'?",
    "test": "test needs trained weights; give either --run FOLDER, of a run that `fit` made, as --run runs/version_0",
    "validate --data Table --model DRU": "validate needs trained weights; give either --run FOLDER",
    "predict --keep id": "predict needs trained weights; give either --run FOLDER",
    "fit --data t.csv": "--data is 't.csv', a file; give the kind of data, and the file by its option, as --data Table "
    "--data.path t.csv",
    "test --select worst --ckpt_path none.ckpt": "there is no checkpoint none.ckpt",
    "test --run r --select worst": "--select is an option of fit, not of test; leave it out",
    "fit --output p.csv": "--output is an option of predict, not of fit; leave it out",
    "validate --keep id": "--keep is an option of predict, not of validate; leave it out",
    "split --min 5": "there is no option --min: did you mean '--min_count'?",
    "study export --folder x": "there is no command study 'export': did you mean 'export-best'?",
    "rep --label y": "there is no command 'rep': did you mean 'report'?",
    "fit --model DUR --data Table": "there is no model 'DUR': did you mean 'DRU'",
    "fit --data Tabel": "there is no data 'Tabel': did you mean 'Table'",
    "inspect --data.pth t.csv": "Table has no option 'pth': did you mean 'path'",
    "fit --config none.yaml": "--config none.yaml cannot be read: there is no such file",
    "fit --data Table --data.path none.csv": "there is no file none.csv",
    "fit --ckpt_path none.ckpt": "there is no checkpoint none.ckpt",
    "predict --help": "--ckpt_path",
    "inspect -h": "--output",
    "report --label y": "--predictions is missing",
    "report --help": "--predictions",
    "split --help": "--group",
    "--version": "drurank ",
    "study table --folde x": "there is no option --folde",
}
SCRIPT = """
import contextlib, io, json, sys
from drurank.cli import main
answers = {}
for line in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main(line.split())
        except SystemExit as stop:
            print("status", stop.code)
    answers[line] = said.getvalue(), sorted(set(sys.argv[2:]) & set(sys.modules))
print(json.dumps(answers))
"""


def test_help_typing_errors_and_missing_files_need_no_torch(tmp_path):
    words = [sys.executable, "-c", SCRIPT, json.dumps(list(ANSWERED)), "torch", "lightning"]
    shown = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=os.environ, check=True)
    answers = json.loads(shown.stdout.splitlines()[-1])
    for line, begins in ANSWERED.items():
        said, imported = answers[line]
        assert begins in said, line
        ended = f"status {0 if line.split()[-1] in ('--help', '-h') else 2}"
        assert ended in said or line == "--version", line
        assert imported == [], line


def test_help_of_training_needs_no_tables(tmp_path):
    words = [sys.executable, "-c", SCRIPT, json.dumps(["fit --help", "predict --help"]), "numpy", "pyarrow", "torch"]
    shown = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=os.environ, check=True)
    assert [imported for _, imported in json.loads(shown.stdout.splitlines()[-1]).values()] == [[], []]


def without_classes(text):
    """The help without the classes that it lists, which are those imported so far, nor how the program was called."""
    text = re.sub(
        r"usage: \S+", "", re.sub(r",\s+(?:known\s+subclasses|any\s+by\s+its).*?\)", ")", text, flags=re.DOTALL)
    )
    # Of two equal unions Python shows the one that was made first.
    return " ".join(text.split()).replace("Union[float, int", "Union[int, float")


@pytest.mark.parametrize("command", COMMANDS)
def test_kept_help_is_that_of_the_parser(command):
    kept = (KNOWN / f"{command}.txt").read_text(encoding="utf-8")
    assert without_classes(kept) == without_classes(help_of(command)), "run python -m drurank.cli.make_known"


def test_kept_classes_are_those_of_the_package():
    assert json.loads(CLASSES_FILE.read_text(encoding="utf-8")) == classes(), "run python -m drurank.cli.make_known"


@pytest.mark.parametrize(
    "line",
    [
        "fit --model mine.Method --model.anything 1 --data mine.Data --data.other 2",
        "fit --model DRU --model.init_args.cutoff 1 --model.network.anything 2 --trainer.callbacks.monitor x",
        "fit --model.anything 1 --data.anything 2",
        "fit --model DRU --model.cutoff=1 --trainer.callbacks+=a --optimizer.lr 1 --print_config",
        "fit --help --model DRU",
        "test --run nowhere --import x.py --anything",
        "fit --config {data:1} --data.path pattern*.csv --data.path org/name",
    ],
)
def test_what_is_not_certain_is_left_to_the_parser(monkeypatch, line):
    monkeypatch.delitem(sys.modules, "torch")
    check(line.split())


def test_other_versions_are_left_to_the_parser(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch")
    with pytest.raises(InputError):
        check(["fit", "--modl", "DRU"])
    monkeypatch.setattr("drurank.cli.early.version", lambda name: "0")
    check(["fit", "--modl", "DRU"])


def test_a_table_that_is_not_split_yet_is_split_with_the_command_that_is_named(tmp_path, capsys):
    rows = [f"{row * 7 % 11},{'ab'[row * 5 // 3 % 2]},g{row % 12}" for row in range(240)]
    (tmp_path / "t.csv").write_text("\n".join(["x,y,g", *rows]) + "\n")
    path = str(tmp_path / "t.csv")
    words = ["--data.path", path, "--data.label", "y", "--data.group", "g", "--data.split", "part"]
    for command in (["inspect", *words], ["fit", "--data", "Table", *words, "--model", "DRU"]):
        with pytest.raises(
            InputError, match="no column 'part' that says the split of each row; known: x, y, g;"
        ) as said:
            check(command)
    main(shlex.split(str(said.value).split("`")[1])[len(program()) :])
    assert (tmp_path / "t_split.csv").read_text().startswith('"x","y","g","part"')
    capsys.readouterr()
    words[1] = str(tmp_path / "t_split.csv")
    check(["inspect", *words])  # says nothing


def test_an_output_that_exists_is_refused_before_anything_is_read(tmp_path):
    (tmp_path / "p.csv").write_text("")
    words = ["predict", "--run", "none", "--output", str(tmp_path / "p.csv")]
    with pytest.raises(InputError, match=r"p.csv exists; give another output, or --overwrite true to replace it"):
        check(words)
    check([*words, "--overwrite", "true"])


def test_the_version_is_that_of_the_package(capsys):
    main(["--version"])
    assert capsys.readouterr().out == f"drurank {__version__}\n"
