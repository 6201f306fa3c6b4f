"""What the tests share: a folder and a seed of their own each, and small runs."""

import gc
import os
import sys
from functools import cache
from itertools import takewhile
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from filelock import FileLock
from lightning.pytorch import Trainer

from drawing import RENDER, save_dot, saved_by
from drurank import imports
from quick_libraries import keep_what_is_there, use_quickly
from quick_parsing import parse_quickly
from runs import QUIET, SMALL
from sampling import AS_EVER, FEW, drawn_often

SEEDS = ("PL_GLOBAL_SEED", "PL_SEED_WORKERS")
SLOW = (
    "processes/test_distributed.py",
    "cli/test_study.py",
    "processes",
    "study",
    "stacked/test_engine.py",
    "cli/test_study_workers.py",
    "test_imports.py",
    "test_extras.py",
    "methods/test_every_method.py",
    "data/test_text_runs.py",
    "data/test_image_runs.py",
    "methods/test_resume_every_method.py",
    "training/test_resume.py",
    "methods/test_tuners.py",
    "run_folder/test_loggers.py",
    "cli/test_configs.py",
    "test_noise.py",
    "test_spread.py",
    "cli/test_export.py",
    "methods/test_jtt.py",
    "cli/test_real_runs.py",
    "training/test_checkpoint.py",
    "docs/test_blocks.py",
)
"""Folders and files that start processes or compute for longer, the longest first; not in the quick suite."""


def pytest_configure(config):
    parse_quickly()
    use_quickly()
    for warning in (
        "ignore:.*does not have many workers",  # data this small is quickest without
        "ignore:.*is smaller than the logging interval",  # epochs of a few batches
        "ignore:.*treespec, LeafSpec:DeprecationWarning",  # Lightning 2.6 on newer torch
        "ignore:.*treespec, LeafSpec:FutureWarning",
        "ignore:.*use of fork",  # loader workers of a process that has threads
        "ignore:.*Checkpoint directory .* exists and is not empty",  # resumed runs go on in their folder
    ):
        config.addinivalue_line("filterwarnings", warning)


def pytest_collection():
    """What is collected stays, so the garbage collector need not walk through it again and again."""
    gc.disable()


def pytest_collection_finish():
    """What is imported by now stays too."""
    keep_what_is_there()
    gc.enable()


def pytest_collection_modifyitems(items):
    """Mark what is slow, and run it first, so that of two workers none has a long file left in the end."""
    slow = [Path(__file__).parent / name for name in SLOW]
    missing = [str(path) for path in slow if not path.exists()]
    if missing:
        raise pytest.UsageError(f"SLOW of tests/conftest.py names what is not there: {', '.join(missing)}")

    @cache
    def place(file):
        return next((number for number, path in enumerate(slow) if file.is_relative_to(path)), len(slow))

    items.sort(key=lambda item: place(item.path))
    for item in items:
        if place(item.path) < len(slow):
            item.add_marker("slow")


@pytest.fixture(scope="module", autouse=True)
def _imports_of_a_module():
    """Forget what the tests of a module imported, which processes that others start could not find."""
    before = [*imports._imported]
    yield
    imports._imported[:] = before


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True, scope="session")
def dots():
    """Pictures are drawn up and not rendered."""
    with saved_by(save_dot):
        yield


@pytest.fixture
def pictures():
    """Pictures are rendered, for a test that looks at them."""
    with saved_by(RENDER):
        yield


@pytest.fixture(autouse=True, scope="session")
def few_draws():
    """Of distributions of true accuracies few are drawn, which takes longer than the rest of a report."""
    with drawn_often(FEW):
        yield


@pytest.fixture(scope="module")
def all_draws():
    """As many are drawn as ever, for tests of how exact figures are."""
    with drawn_often(AS_EVER):
        yield


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """Work in a folder of its own; leave no seed, no process group and no module of that folder to the next test."""
    monkeypatch.chdir(tmp_path)
    for name in SEEDS:
        os.environ.pop(name, None)
    before = next(reversed(sys.modules))
    yield
    for name in [*takewhile(lambda name: name != before, reversed(sys.modules))]:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]
    for name in SEEDS:
        os.environ.pop(name, None)
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()


@pytest.fixture(scope="session")
def run():
    """Run the command line in this process, on the CPU."""
    from drurank.cli import TRAINING, main

    def call(command, *words):
        os.environ.pop("PL_GLOBAL_SEED", None)
        return main([command, *map(str, words), *(QUIET if command in TRAINING else [])])

    return call


@pytest.fixture(scope="session")
def fit(run):
    """Fit on small Shortcut data into ``root``; gives the folder of the run."""

    def call(root, *words, method="DRU", epochs=3, data=SMALL):
        before = set(Path(root).glob("version_*"))
        where = ["--trainer.default_root_dir", root, "--trainer.max_epochs", epochs]
        run("fit", "--model", method, *data, *where, *words)
        (made,) = set(Path(root).glob("version_*")) - before
        return made

    return call


@pytest.fixture
def trainer():
    """A Trainer that writes nothing, one epoch if not told otherwise."""

    def make(**options):
        quiet = {"logger": False, "enable_checkpointing": False, "enable_model_summary": False}
        return Trainer(**{"accelerator": "cpu", "max_epochs": 1, "enable_progress_bar": False, **quiet, **options})

    return make


@pytest.fixture
def refused(run, capsys):
    """The one sentence, without ``error: ``, that a command which cannot run ends with."""

    def call(*words):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            run(*words)
        said = capsys.readouterr().err
        assert stop.value.code == 2
        assert "Traceback" not in said
        (line,) = said.splitlines()
        assert line.startswith("error: ")
        return line.removeprefix("error: ")

    return call


@pytest.fixture
def pretend():
    """Pretend to be one of several processes, until the end of the test."""
    with pytest.MonkeyPatch.context() as patch:

        def to_be(rank, world):
            patch.setattr(dist, "is_initialized", lambda: world > 1)
            patch.setattr(dist, "get_rank", lambda: rank)
            patch.setattr(dist, "get_world_size", lambda: world)

        yield to_be


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """Folder of a study that was run to its end, for tests that only read; its file lies beside it."""
    from studies import finish, written

    # One for all processes of the tests, whichever comes first.
    shared = tmp_path_factory.getbasetemp()
    folder = (shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared) / "undisturbed"
    with FileLock(f"{folder}.lock"):
        if not (folder / "done").is_file():
            folder.mkdir()
            finish(written(folder / "s.yaml"), folder / "study")
            (folder / "done").touch()
    return folder / "study"


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """Folder of a finished study whose results were written without training, for tests that only read."""
    from studies import write_results

    return write_results(tmp_path_factory.mktemp("results") / "study")
