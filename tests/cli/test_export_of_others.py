"""A checkpoint or a run of somebody else's is exported whole or not at all, and tells nothing of who exports it."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import drurank.export.checking as checking
from drurank.cli.export import export_model
from drurank.run_folder.checkpoint_checks import note_structure
from drurank.signals import EarlySignals
from drurank.terminal import CONTROL

pytestmark = pytest.mark.filterwarnings("ignore:The state dict in .* contains no parameters")
IDENTITY = "torch.nn.modules.linear.Identity"
ODD = ["a\n# b", "\x1b[31mred", "<script>alert(1)</script>", "\u202etxt", "`c` | *d*"]
FILES = ["README.md", "encoding.json", "model.pt2"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Numbers and a category."""
    rng = np.random.default_rng(0)
    frame = {name: rng.normal(size=200) for name in ("height", "width")}
    frame |= {"job": rng.choice(["clerk", "nurse"], 200), "y": np.resize(list("abcde"), 200)}
    frame |= {"g": rng.choice(["p", "q"], 200), "split": np.repeat(["train", "val", "test"], [100, 50, 50])}
    file = tmp_path_factory.mktemp("of_others") / "private.csv"
    pd.DataFrame(frame).to_csv(file, index=False)
    return file


@pytest.fixture(scope="module")
def trained(fit, table):
    """A run of it."""
    data = ["--data", "Table", "--data.path", table, "--data.label", "y", "--data.group", "g", "--data.split", "split"]
    return fit(table.parent, data=data, epochs=1, method="ERM")


@pytest.fixture
def crafted(trained, tmp_path):
    """A checkpoint that was changed, and notes its structure as if it had been written so."""

    def call(change, name="crafted.ckpt"):
        checkpoint = torch.load(trained / "checkpoints/last.ckpt", map_location="cpu", weights_only=True)
        change(checkpoint)
        checkpoint.pop("drurank_written")
        note_structure(checkpoint)
        torch.save(checkpoint, tmp_path / name)
        return tmp_path / name

    return call


def of_sizes(**sizes):
    """The network of a checkpoint gives its inputs, nothing is known of its data, and its sizes are others."""

    def change(checkpoint):
        del checkpoint["Table"]
        checkpoint["state_dict"] = {}
        checkpoint["drurank"]["network"] = {"class_path": IDENTITY, "init_args": {}}
        checkpoint["drurank"]["sizes"].update({"in_features": 2, "num_classes": 2, **sizes})

    return change


def of_network(**arguments):
    def change(checkpoint):
        of_sizes()(checkpoint)
        checkpoint["drurank"]["network"]["init_args"] = arguments

    return change


def of_table(**state):
    return lambda checkpoint: checkpoint["Table"].update(state)


def of_mean(mean):
    return lambda checkpoint: checkpoint["Table"]["numeric"][0].update(mean=mean)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (of_sizes(num_classes=10**9), "is damaged: its sizes.num_classes is 1000000000, and its network gives"),
        (of_sizes(num_classes=3), "is damaged: its sizes.num_classes is 3, and its network gives"),
        (of_sizes(num_classes=10**18), f"is damaged: its sizes.num_classes is {10**18}; give"),
        (of_sizes(num_classes=0), "is damaged: its sizes.num_classes is 0; give"),
        (of_sizes(in_features=10**9), "becomes 24,000,000,000 bytes of its network's inputs or more"),
        (of_sizes(in_features=10**30), f"is damaged: its sizes.in_features is {10**30}; give"),
        (of_sizes(in_features=5 * 10**6, num_classes=5 * 10**6), "becomes 320,000,000 bytes of labels or more"),
        (of_sizes(cardinalities=[3, 2**62]), f"is damaged: its sizes.cardinalities[1] is {2**62}; give"),
        (of_sizes(cardinalities=[0]), "is damaged: its sizes.cardinalities[0] is 0; give"),
        (of_sizes(vocabulary=2**70, max_length=9), f"is damaged: its sizes.vocabulary is {2**70}; give"),
        (of_sizes(vocabulary=9, max_length=0), "is damaged: its sizes.max_length is 0; give"),
        (of_table(label_names=["a", "b"]), "is damaged: its Table.label_names"),
        (of_table(numeric=[]), "in_features 5, num_classes 5, and its Table has in_features 3, num_classes 5; give"),
        (of_table(label_names=["a", "b", "c", "d", "\ud800"]), "is damaged: its Table.label_names.4"),
        (of_table(label_names=["a", "b", "c", "d", 5]), "is damaged: its Table.label_names"),
        (of_mean(float("nan")), "is damaged: its Table"),
        (of_network(a=torch.ones(2)), "cannot be exported: network.init_args.a is tensor([1., 1.]), a Tensor; give"),
        (of_network(a="\ud800"), "cannot be exported: network.init_args.a is '\\ud800', no Unicode text; give"),
        (of_network(a=float("inf")), "cannot be exported: network.init_args.a is inf, no finite number; give"),
    ],
)
def test_what_cannot_be_right_is_refused_before_anything_is_made(crafted, refused, change, said):
    file = crafted(change)
    answer = refused("export", "--to", "torch", "--ckpt_path", file, "--output", "new/out")
    assert answer.startswith(str(file))
    assert said in answer
    assert not Path("new").exists()


@pytest.fixture
def hears_interrupts():
    """SIGINT is heard, which a job that a shell runs in the background is told to ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def stopped_by(how, number):
    """Stop an export while its network is read again, or as the file of this number is put in its place."""

    def patch(monkeypatch):
        def fail(*given):
            if how == "disk":
                raise OSError(28, "No space left on device")
            os.kill(os.getpid(), signal.SIGTERM if how == "signal" else signal.SIGINT)

        if number is None:
            monkeypatch.setattr("drurank.cli.export.read", fail)
            return
        replace, asked = Path.replace, []

        def replaced(self, target):
            asked.append(target)
            if len(asked) == number:
                fail()
            return replace(self, target)

        monkeypatch.setattr(Path, "replace", replaced)

    return patch


@pytest.mark.usefixtures("hears_interrupts")
@pytest.mark.parametrize("how", ["disk", "signal", "interrupt"])
@pytest.mark.parametrize("number", [None, 1, 2, 3])
def test_nothing_stays_of_an_export_that_is_stopped(trained, monkeypatch, how, number):
    with monkeypatch.context() as patch:
        stopped_by(how, number)(patch)
        with pytest.raises((OSError, SystemExit)) as stop, EarlySignals():
            export_model("torch", run=str(trained), output="new/out")
    status = {"signal": 143, "interrupt": 130}
    assert getattr(stop.value, "code", None) == status.get(how)
    assert not Path("new").exists()


def test_an_export_that_is_stopped_while_it_writes_leaves_the_one_before(trained, monkeypatch):
    export_model("torch", run=str(trained), output="out")
    before = {file.name: file.read_bytes() for file in Path("out").iterdir()}
    monkeypatch.setattr(Path, "write_text", lambda *given, **more: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(SystemExit), EarlySignals():
        export_model("torch", run=str(trained), output="out", overwrite=True)
    assert {file.name: file.read_bytes() for file in Path("out").iterdir()} == before
    assert sorted(before) == FILES


def test_labels_are_written_out_on_the_page_and_exact_in_the_encoding(crafted, run):
    file = crafted(of_table(label_names=ODD), name="<b>\x1b.ckpt")
    run("export", "--to", "torch", "--ckpt_path", file, "--output", "out")
    page, encoding = (Path("out", name).read_text(encoding="utf-8") for name in FILES[:2])
    assert json.loads(encoding)["labels"] == ODD
    assert not CONTROL.search(page + encoding)
    assert page.startswith("# model.pt2, from \\<b\\>\\\\x1b.ckpt\n")
    labels = "0 is a # b, 1 is \\\\x1b\\[31mred, 2 is \\<script\\>alert(1)\\</script\\>, 3 is \\\\u202etxt, "
    assert f"\n`probabilities` has a column for each class: {labels}4 is \\`c\\` \\| \\*d\\*.\n" in page


@pytest.fixture
def moved(trained, table, tmp_path):
    """The run, whose data is elsewhere."""

    def call(path):
        folder = shutil.copytree(trained, tmp_path / "moved")
        config = (folder / "config.yaml").read_text()
        (folder / "config.yaml").write_text(config.replace(str(table), str(path)))
        return folder

    return call


@pytest.mark.parametrize("there", [True, False])
def test_the_page_tells_nothing_of_the_disk_of_who_exports(moved, run, tmp_path, capsys, there):
    (tmp_path / "known.csv").write_text("x\n1\n")
    path = tmp_path / "secret.csv"
    if there:
        path.write_text("user,password\nann,123\n")
    run("export", "--to", "torch", "--run", moved(path), "--output", "out")
    said = capsys.readouterr().out
    assert "(random inputs, since the run's data cannot be read (" in said
    assert ("password" if there else "known.csv") in said
    page = Path("out/README.md").read_text()
    assert page.splitlines()[-1].startswith("On random inputs, the probabilities of 1,000 rows differ from the ")
    for name in ("secret", "password", "known", str(tmp_path)):
        assert name not in page


def test_the_page_does_not_name_the_table_that_was_read(trained, table, run, capsys):
    run("export", "--to", "torch", "--run", trained, "--output", "out")
    assert f"({table}); encoding.json and README.md" in capsys.readouterr().out
    page = Path("out/README.md").read_text()
    assert page.splitlines()[-1].startswith("On rows of the run's data, the probabilities of 200 rows differ from the ")
    assert table.name not in page
    assert str(table.parent) not in page


def test_of_a_checkpoint_alone_no_file_is_read(crafted, table, run, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(checking, "with_rows", lambda *given: asked.append(given))
    shutil.copy(table, "the rows")
    run("export", "--to", "torch", "--ckpt_path", crafted(lambda checkpoint: None), "--output", "out")
    assert not asked
    assert (
        "(random inputs, since the run's data cannot be read (nothing names a file of it))" in capsys.readouterr().out
    )


IMPORTED = """
import sys
import drurank.cli.export as export

replace_files, imported = export.replace_files, {}

def watched(writers):
    before = set(sys.modules)
    replace_files(writers)
    imported[[*writers][0].name] = sorted({*sys.modules} - before)

export.replace_files = watched
for to in sys.argv[2:]:
    export.export_model(to, ckpt_path=sys.argv[1], output=to)
print(imported)
"""


def test_nothing_is_imported_while_files_are_written_since_a_signal_then_ends_the_process(trained):
    for package in ("onnx", "onnxscript", "safetensors"):
        pytest.importorskip(package)
    words = [sys.executable, "-c", IMPORTED, str(trained / "checkpoints/last.ckpt"), "safetensors", "torch", "onnx"]
    said = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300).stdout
    assert said.splitlines()[-1] == "{'model.safetensors': [], 'model.pt2': [], 'model.onnx': []}"
