"""Modules, networks, data and methods of a person's own, named by their import paths."""

import importlib
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from blocks import BLOCK
from drurank import current_folder, imports
from drurank.cli.program import program
from drurank.cli.words import trust_named
from runs import ROOT, SMALL, read_json

PAGE = ROOT / "docs/data_sources.md"


@pytest.fixture
def letters(tmp_path, monkeypatch):
    """The page's data module and network in the current folder."""
    (block,) = [text for *_, title, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")) if title == "letters.py"]
    (tmp_path / "letters.py").write_text(block)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_lightning_data_module_and_network_of_ones_own(letters, run, refused):
    words = ["--data", "letters.Letters", "--model", "DRU", "--trainer.max_epochs", 2]
    network = ["--model.network", "letters.Small", "--model.network.width", 8]
    run("fit", *words, *network, "--optimizer", "SGD", "--optimizer.lr", 0.25)
    config = yaml.safe_load(Path("runs/version_0/config.yaml").read_text())["model"]["init_args"]
    assert config["network"] == {"class_path": "letters.Small", "init_args": {"width": 8, "dropout": 0.1}}
    assert config["optimizer"]["class_path"] == "torch.optim.SGD"
    assert config["optimizer"]["init_args"]["lr"] == 0.25
    run("test", "--run", "runs/version_0")
    assert read_json("runs/version_0/test/qdcg10/report.json")["splits"]
    assert "Letters has no sizes" in refused("fit", *words)


def test_batches_without_groups_are_refused(letters, refused):
    text = Path("letters.py").read_text().replace("GroupedDataset(plain, writers, split=split)", "plain")
    Path("plainly.py").write_text(text)
    said = refused("fit", "--data", "plainly.Letters", "--model", "ERM", "--model.network", "plainly.Small")
    assert re.search(r"TensorDataset, of whose rows no group and no index is known; wrap it as GroupedDataset", said)


@pytest.mark.parametrize(
    "option",
    [
        "model",
        "data",
        "model.network",
        "model.loss",
        "model.optimizer",
        "model.lr_scheduler",
        "trainer.callbacks",
        "trainer.logger",
        "trainer.strategy",
        "trainer.profiler",
        "trainer.plugins",
    ],
)
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("broken.Class", r"the module broken cannot be imported \(ModuleNotFoundError: No module named 'not_there'\)"),
        ("letters.Smal", r"the module letters has no 'Smal': did you mean 'Small'\?"),
        ("nowhere.Class", "there is no module 'nowhere'"),
    ],
)
def test_class_that_cannot_be_imported_is_named_with_the_reason(letters, refused, option, path, said):
    Path("broken.py").write_text("import not_there\n")
    found = refused("fit", "--model", "ERM", *SMALL, f"--{option}", path)
    assert re.search(f"^--{option} {path}: {said}", found)


MINE = """
from lightning.pytorch.profilers import SimpleProfiler
from lightning.pytorch.strategies import SingleDeviceStrategy
from torch import nn

class Mine(SingleDeviceStrategy):
    pass

class Timed(SimpleProfiler):
    pass

class Needy(Mine):
    def __init__(self, much):
        super().__init__()

class Fixed(nn.Linear):
    def __init__(self, width: int = 3):
        super().__init__(width, 2)
"""


@pytest.fixture
def ownmade(tmp_path, monkeypatch):
    """A module of a strategy, a profiler and a network in the current folder."""
    (tmp_path / "ownmade.py").write_text(MINE)
    monkeypatch.syspath_prepend(tmp_path)


def test_a_strategy_and_a_profiler_of_ones_own_are_named_by_their_paths(ownmade, run):
    words = ["--trainer.strategy", "ownmade.Mine", "--trainer.profiler", "ownmade.Timed"]
    finished = run("fit", "--model", "ERM", *SMALL, *words, "--trainer.max_epochs", 1)
    assert (type(finished.trainer.strategy).__name__, type(finished.trainer.profiler).__name__) == ("Mine", "Timed")
    assert yaml.safe_load(Path("runs/version_0/config.yaml").read_text())["trainer"]["strategy"] == "ownmade.Mine"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("ownmade.Timed", "that is no Strategy of Lightning's; give a subclass of one"),
        (
            "ownmade.Needy",
            "cannot be created: .*'much'; give its arguments in a configuration, with",
        ),
    ],
)
def test_what_is_no_strategy_by_itself_is_refused(ownmade, refused, path, said):
    found = refused("fit", "--model", "ERM", *SMALL, "--trainer.strategy", path)
    assert re.search(rf"^--trainer.strategy {path}:? {said}", found)


def test_a_network_that_does_not_fit_the_data_is_named_with_the_shape(ownmade, refused, tmp_path):
    said = refused("fit", "--model", "ERM", *SMALL, "--model.network", "ownmade.Fixed", "--trainer.max_epochs", 1)
    assert re.match(r"the network Fixed cannot take inputs of shape \[\d+, \d+\]: mat1 and mat2 shapes cannot be", said)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("called", "words"),
    [
        ("/usr/bin/drurank", ["drurank"]),
        ("cli.py", ["python", "cli.py"]),
        ("../cli.py", ["python", "../cli.py"]),
        ("/x/site-packages/drurank/__main__.py", ["python", "-m", "drurank"]),
        ("/x/pytest/__main__.py", ["drurank"]),
    ],
)
def test_hints_name_the_program_as_it_was_called(monkeypatch, called, words):
    monkeypatch.setattr(sys, "argv", [called, "fit"])
    assert program() == words


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["fit", "--model", "mine.Method"], True),
        (["fit", "--model.network=mine.small"], True),
        (["fit", "--model.init_args.anything", "mine.Net"], True),
        (["fit", "--trainer.callbacks+=mine.Callback"], True),
        (["fit", "--trainer.callbacks", "[{class_path: mine.Callback}]"], True),
        (["fit", "--config", "mine.yaml"], True),
        (["test", "--run", "mine.Net"], False),
        (["predict", "--ckpt_path", "checkpoints/mine.ckpt", "--output", "mine.csv"], False),
        (["fit", "--data.path", "mine.csv", "--data.seed=mine.x"], False),
        (["fit", "--model", "elsewhere.Method"], False),
    ],
)
def test_current_folder_is_looked_at_for_code_that_is_named_and_last(tmp_path, monkeypatch, words, found):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").touch()
    (tmp_path / "theirs.py").touch()
    (tmp_path / "mine.yaml").write_text("data: {init_args: {transform: mine.Flip}}\n")
    path = [folder for folder in sys.path if folder not in ("", str(tmp_path))]
    monkeypatch.setattr(sys, "path", [*path])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setattr(imports, "_named", set())
    monkeypatch.setattr(current_folder, "_named", {})
    monkeypatch.setattr(current_folder, "_found", {})
    monkeypatch.setenv(current_folder.FOUND, "{}")
    trust_named(words)
    assert sys.path == path
    spec = find_spec("mine")
    assert (spec and spec.origin) == (str(tmp_path / "mine.py") if found else None)
    assert find_spec("theirs") is None
    assert ("mine" in imports.trusted_packages()) == found


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    """The current folder as it is where the path does not lead to it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder not in ("", str(tmp_path))])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setattr(current_folder, "_named", {})
    monkeypatch.setattr(current_folder, "_found", {})
    monkeypatch.setenv(current_folder.FOUND, "{}")
    return tmp_path


def test_what_a_library_looks_for_is_not_found_in_the_current_folder(in_folder):
    (in_folder / "ownnet.py").write_text("import ownhelp\n")
    (in_folder / "ownhelp.py").write_text("from ownpart.inner import one\n\ndef later():\n    import ownlate\n")
    (in_folder / "ownpart").mkdir()  # without an __init__.py
    (in_folder / "ownpart/inner.py").write_text("one = 1\n")
    for name in ("ownlate", "optional", "torch"):
        (in_folder / f"{name}.py").write_text("")
    library = in_folder / "site/library"
    library.mkdir(parents=True)
    text = "import importlib\n\ndef load():\n    import optional\n\ndef look():\n    "
    (library / "__init__.py").write_text(f"{text}importlib.import_module('optional')\n")
    sys.path.append(str(in_folder / "site"))
    trust_named(["fit", "--model.network", "ownnet.Net", "--model.optimizer", "torch.optim.SGD"])
    own, used = importlib.import_module("ownnet"), importlib.import_module("library")
    assert own.ownhelp.one == 1  # of a module and a package beside it
    own.ownhelp.later()
    assert {"ownlate", "ownpart.inner"} <= {*sys.modules}
    for load in (used.load, used.look, lambda: importlib.import_module("optional")):
        with pytest.raises(ModuleNotFoundError, match="optional"):
            load()
    assert "optional" not in sys.modules
    assert find_spec("torch").origin != str(in_folder / "torch.py")


def test_processes_that_are_started_anew_find_the_same(in_folder):
    (in_folder / "ownnet.py").write_text("import ownhelp\n")
    (in_folder / "ownhelp.py").write_text("")
    (in_folder / "optional.py").write_text("")
    trust_named(["fit", "--model.network", "ownnet.Net"])
    importlib.import_module("ownnet")
    code = "import drurank.imports, ownhelp, ownnet; from importlib.util import find_spec; print(find_spec('optional'))"
    words = [sys.executable, "-P", "-c", code]
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=in_folder, env=path, capture_output=True, text=True, check=True)
    assert done.stdout == "None\n"


def test_a_network_whose_arguments_are_missing_is_told_of_the_sizes_of_the_data(letters, refused):
    Path("mine.py").write_text(
        "from torch import nn\n\nclass Net(nn.Linear):\n"
        "    def __init__(self, wide: int, many: int):\n        super().__init__(wide, many)\n"
    )
    said = refused("fit", "--model", "ERM", *SMALL, "--model.network", "mine.Net")
    assert said.startswith("--model.network.wide, --model.network.many are missing; give them on the command line")
    assert said.endswith(
        "or let the network take what the data says: an argument `sizes`, with .in_features and .num_classes"
    )


FUNCTIONS = """
def fn(width=4): ...
def opt(params, lr=0.1): ...
"""
OPTIONS = ["model", "data", "model.network", "model.loss", "model.optimizer", "model.lr_scheduler"]
OPTIONS += ["trainer.callbacks", "trainer.logger"]


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("name", ["fn", "opt"])
def test_a_function_where_a_class_is_needed_is_told_so(tmp_path, monkeypatch, refused, option, name):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "of_functions.py").write_text(FUNCTIONS, encoding="utf-8")
    given = {"model": "DRU", "data": "Shortcut"} | {option: f"of_functions.{name}"}
    words = [word for key, value in given.items() for word in (f"--{key}", value)]
    assert refused("fit", *words) == f"--{option} of_functions.{name}: that is a function, not a class; give a class"
