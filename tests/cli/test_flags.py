import logging
import sys
import warnings

import pytest
from lightning.pytorch.utilities.rank_zero import rank_zero_info

from drurank.cli import main
from drurank.cli.flags import PACKAGE, class_flags, in_flags, named_as_flags, warned_as_flags
from drurank.data import Shortcut
from drurank.errors import InputError
from runs import SMALL

KNOWN = [
    "--trainer.gradient_clip_val",
    "--trainer.devices",
    "--model",
    "--model.help",
    "--model.penalty",
    "--model.split",
    "--model.optimizer.lr",
    "--model.network",
    "--data.split",
    "--data.frozen",
    "--data.exclude",
    "--data.groups",
    "--data.split_names",
    "--data.delimiter",
    "--ckpt_path",
    "-h",
]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("devices is 0; give more", "--trainer.devices is 0; give more"),
        ("t.csv: groups is 'a', and so is b", "t.csv: --data.groups is 'a', and so is b"),
        ("exclude and delimiter are both ','", "--data.exclude and --data.delimiter are both ','"),
        ("exclude is 'a' and delimiter ';'; give one", "--data.exclude is 'a' and --data.delimiter ';'; give one"),
        ("see ckpt_path, or start without ckpt_path", "see --ckpt_path, or start without --ckpt_path"),
        (
            "the split 'a' is new; exclude it, and the groups are 3",
            "the split 'a' is new; exclude it, and the groups are 3",
        ),
        ("t.csv: groups 'a' has one row", "t.csv: groups 'a' has one row"),
        ("the column 'ckpt_path' of my/ckpt_path.csv", "the column 'ckpt_path' of my/ckpt_path.csv"),
    ],
)
def test_argument_that_is_named_becomes_a_flag(message, said):
    assert in_flags(message, KNOWN, words=True) == said
    assert in_flags(message, KNOWN) == message


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("clip gradients (gradient_clip_val=1)", "clip gradients (--trainer.gradient_clip_val 1)"),
        ("give penalty='l2'.", "give --model.penalty l2."),
        ("give frozen=True, or devices=None", "give --data.frozen true, or --trainer.devices null"),
        ("give lr=1e-5; it is 3", "give --model.optimizer.lr 1e-5; it is 3"),
        ("write optimizer.lr=0.1 there", "write --model.optimizer.lr 0.1 there"),
        ("leave out exclude=['id', 'note']", "leave out --data.exclude id,note"),
        ("leave out exclude=['a b']", "leave out --data.exclude '[a b]'"),
        ("leave out exclude=['income, yearly', 'a b']", """leave out --data.exclude '["income, yearly", "a b"]'"""),
        ("leave out exclude=['a: b', 'Größe, cm']", """leave out --data.exclude '["a: b", "Größe, cm"]'"""),
        ("give delimiter=',', or else", "give --data.delimiter ',', or else"),
        ("give split_names={'no': 'train'}", """give --data.split_names '{"no": "train"}'"""),
        ("give groups=[4, 3, 3]", "give --data.groups '[4, 3, 3]'"),
        ("write split_names={'dev': 'ood_val'}", "write --data.split_names '{dev: ood_val}'"),
        ("write delimiter=';' or delimiter='\\t'", "write --data.delimiter ';' or --data.delimiter '\\t'"),
        ("give model=DRU", "give --model DRU"),
        ("give network=...", "give --model.network ..."),
        ("give ckpt_path=<run>/checkpoints/last.ckpt.", "give --ckpt_path <run>/checkpoints/last.ckpt."),
    ],
)
def test_argument_becomes_a_flag(message, said):
    assert in_flags(message, KNOWN) == said


@pytest.mark.parametrize(
    "message",
    [
        "give split='id_val'",  # of the data or of the method
        "give wrong=1",
        "give help=1",
        "the word devices alone",
        "give --trainer.devices=1",
        "the file runs/devices=1/t.csv",
        "the column 'devices=1'",
        "Lightning says `devices=1`",
        "the network was MLP(devices=1, penalty='l2')",
        "give network=nn.Linear(3, 2)",
        "where devices == 1",
    ],
)
def test_anything_else_stays(message):
    assert in_flags(message, KNOWN) == message


def test_flags_of_a_command_stand_alone():
    assert in_flags("give label='y' and split=None", ["--label", "--split"]) == "give --label y and --split null"


def test_flags_of_classes_in_classes():
    network = {"class_path": "drurank.networks.MLP", "init_args": {"hidden": 3}}
    found = set(class_flags("model", {"class_path": "drurank.methods.DRU", "init_args": {"network": network}}))
    assert {"--model.cutoff", "--model.min_count", "--model.network.hidden", "--model.optimizer.lr"} <= found
    assert not found & {"--model.network.sizes", "--model.network.pretrained", "--model.upweight_factor"}
    assert list(class_flags("data", None)) == []


def test_errors_that_are_not_ours_pass():
    with pytest.raises(InputError, match=r"^give --devices 1$"), named_as_flags(lambda: ["--devices"]):
        raise InputError("give devices=1")
    with pytest.raises(InputError, match=r"^give --devices 1$"), named_as_flags(lambda: ["--devices"]):
        raise ValueError("outer") from InputError("give devices=1")
    with pytest.raises(ValueError, match=r"^give devices=1$") as stop, named_as_flags(lambda: ["--devices"]):
        raise ValueError("give devices=1")
    assert type(stop.value) is ValueError


@pytest.mark.parametrize(("method", "cutoff"), [("ERM", "cutoff=1"), ("DRU", "--model.cutoff 1")])
def test_fit_knows_the_flags_of_what_is_named(monkeypatch, refused, method, cutoff):
    def refuse(data, stage):
        raise InputError("give devices=1, group_size=5, min_count=2, cutoff=1")

    monkeypatch.setattr(Shortcut, "setup", refuse)
    said = refused("fit", "--model", method, *SMALL)
    assert said == f"give --trainer.devices 1, --data.group_size 5, --model.min_count 2, {cutoff}"


def test_what_a_fit_logs_has_its_flags(run, caplog, monkeypatch):
    monkeypatch.setattr(Shortcut, "setup", lambda data, stage: rank_zero_info("go on with ckpt_path='a/last.ckpt'"))
    with caplog.at_level(logging.INFO):
        run("fit", "--model", "ERM", *SMALL, "--trainer.max_epochs", 1)
        rank_zero_info("outside ckpt_path='a/last.ckpt'")
    assert "go on with --ckpt_path a/last.ckpt" in caplog.messages
    assert caplog.messages[-1] == "outside ckpt_path='a/last.ckpt'"


def test_inspect_shows_findings_with_the_flags_of_a_fit(capsys):
    main(["inspect", "--data", "Shortcut", "--data.groups", "[3,2,2]", "--data.group_size", "5"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "--model.min_count 10" in shown
    assert "min_count=" not in shown


@pytest.mark.parametrize(
    "message",
    [
        "group=[...] with the label",
        "group=a.csv: line 8 is not UTF-8",
        "my label=3.csv is not found",
        r"C:\data\group=a\t.csv is not found",
        "line 3: b'label=1,2' is not UTF-8",
    ],
)
def test_names_of_files_and_what_is_to_be_filled_in_stay(message):
    said = in_flags(message, ["--data.group", "--data.label"])
    assert said in (message, message.replace("group=[...]", "--data.group [...]"))


@pytest.fixture
def shown(monkeypatch):
    """Warnings are shown, as outside of pytest, which records them."""

    def show(message, category, filename, lineno, file=None, line=None):
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))

    monkeypatch.setattr(warnings, "showwarning", show)


@pytest.mark.usefixtures("shown")
def test_a_warning_of_ours_is_one_line_with_flags(tmp_path, run, capsys):
    names = ["a", "A", "b", "c"]
    rows = [f"{row},{row % 2},{names[row % 4]},{'ood_val' if row % 4 > 1 else 'train'}" for row in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["x,y,g,s", *rows]) + "\n", encoding="utf-8")
    data = ["--data", "Table", "--data.path", "t.csv", "--data.label", "y", "--data.group", "g", "--data.split", "s"]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        run("fit", "--model", "ERM", *data, "--data.relabel", "{7: 0}", "--trainer.max_epochs", "1")
    shown = [line for line in capsys.readouterr().err.splitlines() if "warning: " in line]
    (alike,) = [line for line in shown if "'A' = 'a'" in line]
    assert alike.startswith("warning: t.csv: the group column 'g' has names that differ only by case")
    assert not [line for line in shown if ".py:" in line]


@pytest.mark.usefixtures("shown")
def test_only_warnings_of_ours_are_shown_so(capsys):
    with warnings.catch_warnings(), warned_as_flags(lambda: ["--data.relabel"]):
        warnings.simplefilter("always")
        warnings.warn_explicit("give\n relabel={'a': 'b'}", UserWarning, str(PACKAGE / "data/saying.py"), 25)
        warnings.warn_explicit("of another", UserWarning, "/elsewhere/lib.py", 3)
    assert capsys.readouterr().err.splitlines() == [
        "warning: give --data.relabel '{a: b}'",
        "/elsewhere/lib.py:3: UserWarning: of another",
    ]
