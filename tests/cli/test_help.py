"""The commands, the help of each, and how the program ends."""

import re
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from drurank.cli import main
from drurank.cli.training_parser import concrete
from drurank.data import GroupDataModule
from drurank.methods import GroupModule
from runs import QUIET, ROOT, SMALL
from warm import Program

OURS = {
    key: [cls for cls in concrete(base) if cls.__module__.startswith("drurank.")]
    for key, base in (("model", GroupModule), ("data", GroupDataModule))
}


@pytest.mark.slow
def test_help_in_a_process_of_its_own():
    shown = subprocess.run(
        [sys.executable, ROOT / "cli.py", "fit", "--help"], capture_output=True, text=True, timeout=120
    )
    assert shown.returncode == 0
    for word in ("--model", "--data", "--select", "--ckpt_path", "--trainer.max_epochs"):
        assert word in shown.stdout
    assert shown.stderr == ""


@pytest.mark.parametrize(
    ("option", "kind", "explained"),
    [
        (
            "--model",
            "DRU",
            {
                "rank_by": "worst",
                "upweight": "wrong",
                "cutoff": r"log2\(C \+ 2\) / log2\(r_g \+ 2\)",
                "ties": "lowest",
                "accuracy_from": "pass over the training set",
                "normalize_weights": "mean 1",
                "network": "sizes",
                "loss": "one value per sample",
                "optimizer": "optimizer",
                "lr_scheduler": "scheduler",
                "lr_interval": "step",
                "init_from": "checkpoint",
                "min_count": "fewer samples",
                "shrink": "posterior mean",
                "positive": "positive class",
                "rank_by_figure": "ranked by",
                "on_nonfinite": "nan or inf",
                "detect": "training rows",
            },
        ),
        (
            "--model",
            "Worst",
            {"upweight_factor": "above 0", "upweight": "misclassified", "accuracy_from": "evaluation"},
        ),
        ("--model", "Const", {"upweight_factor": "above 0", "accuracy_from": "evaluation"}),
        (
            "--data",
            "Synthetic",
            {"setting": "1 to 4", "priors": "signals", "noise_std": "variance", "batch_size": "one"},
        ),
        ("--data", "Shortcut", {"flipped": "share", "agreement": "chance", "groups": "number of groups"}),
    ],
)
def test_help_explains_every_option(printed, option, kind, explained):
    text = printed("fit", f"{option}.help", kind)
    for name, words in explained.items():
        (entry,) = re.findall(rf"^  {option}\.{name} .*?(?=^  --|\Z)", text, re.MULTILINE | re.DOTALL)
        assert re.search(words, " ".join(entry.split())), name
    shown = set(re.findall(rf"^  {option}\.(\w+) ", text, re.MULTILINE))
    assert set(explained) <= shown
    if kind == "DRU":
        assert shown == set(explained)


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_all_commands_are_named(capsys, words):
    main(words)
    shown = capsys.readouterr().out
    for command in ("fit", "validate", "test", "predict", "report", "split", "inspect"):
        assert re.search(rf"^  {command} ", shown, re.MULTILINE), command


STUDY = ("run", "table", "concordance", "compare", "export-best", "plot", "report")
HELPS = [
    *([command, "--help"] for command in ("fit", "validate", "test", "predict", "report", "split", "inspect")),
    *(["study", command, "--help"] for command in STUDY),
    *(["fit", f"--{key}.help", cls.__name__] for key in OURS for cls in OURS[key]),
    ["fit", "--model.network.help", "MLP"],
    ["fit", "--model.network.help", "TextClassifier"],
    ["fit", "--model.loss.help", "CrossEntropy"],
]


@pytest.mark.parametrize("words", HELPS, ids=" ".join)
def test_no_help_shows_objects_of_python(printed, words):
    shown = " ".join(printed(*words).split())
    assert re.findall(r"<function \S+|<class \S+|\S+ at 0x\w+|<[\w.]+ object", shown) == []


@pytest.mark.slow
def test_installed_command_ends_with_status_0(tmp_path):
    (command,) = entry_points(group="console_scripts", name="drurank")
    words = ["fit", "--model", "ERM", *SMALL, *QUIET, "--trainer.default_root_dir", tmp_path, "--trainer.max_epochs", 1]
    code = f"import sys; from {command.module} import {command.attr}; sys.exit({command.attr}())"
    (tmp_path / "command.py").write_text(code)
    with Program([tmp_path / "command.py", *words], tmp_path / "log") as command:
        assert command.wait(120) == 0, (tmp_path / "log").read_text()
