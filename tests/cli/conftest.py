"""A run that many tests read, and what a command prints."""

import shutil

import pytest

from drurank.cli import main
from runs import SELECT


@pytest.fixture(scope="session")
def done(tmp_path_factory, run, fit):
    """A run that was fitted and tested by each criterion; tests only read it."""
    rate = ["--model.optimizer", "AdamW", "--model.optimizer.lr", "0.01"]
    folder = fit(tmp_path_factory.mktemp("runs"), "--select", ",".join(SELECT), *rate)
    run("test", "--run", folder)
    return folder


@pytest.fixture
def copied(done, tmp_path):
    """A copy of that run, to go on with."""
    return shutil.copytree(done, tmp_path / "copied")


@pytest.fixture
def printed(capsys):
    """What a command prints that ends without running anything."""

    def call(*words):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main(list(words))
        assert stop.value.code in (0, None)
        return capsys.readouterr().out

    return call
