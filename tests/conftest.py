"""What the tests share: a folder and a seed of their own each, and small runs."""

import os
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from lightning.pytorch import Trainer

from runs import QUIET, SMALL
from studies import written

SEEDS = ("PL_GLOBAL_SEED", "PL_SEED_WORKERS")


def pytest_configure(config):
    for warning in (
        "ignore:.*does not have many workers",  # data this small is quickest without
        "ignore:.*is smaller than the logging interval",  # epochs of a few batches
        "ignore:.*treespec, LeafSpec:DeprecationWarning",  # Lightning 2.6 on newer torch
        "ignore:.*treespec, LeafSpec:FutureWarning",
        "ignore:.*use of fork",  # loader workers of a process that has threads
        "ignore:.*Checkpoint directory .* exists and is not empty",  # resumed runs go on in their folder
    ):
        config.addinivalue_line("filterwarnings", warning)


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """Work in a folder of its own; leave no seed and no process group to the next test."""
    monkeypatch.chdir(tmp_path)
    for name in SEEDS:
        os.environ.pop(name, None)
    yield
    for name in SEEDS:
        os.environ.pop(name, None)
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()


@pytest.fixture(scope="session")
def run():
    """Run the command line in this process, on the CPU."""
    from drurank.cli import main

    def call(command, *words):
        os.environ.pop("PL_GLOBAL_SEED", None)
        main([command, *map(str, words), *QUIET])

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
    """Folder of a finished study, see studies.py."""
    from drurank.cli import main

    folder = tmp_path_factory.mktemp("undisturbed")
    main(["study", "run", "--config", str(written(folder / "s.yaml")), "--output", str(folder / "study")])
    return folder / "study"
