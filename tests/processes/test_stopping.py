"""Two processes of a run: a signal to one or to all, a process or a worker that is killed, an error on one rank."""

import os
import re
import signal
import time

import pytest
import torch

from kill import OWN, Case, process, wait_until
from runs import FIT
from warm import children, is_there

SECONDS = 20
"""That an end may take on a busy machine; Lightning's takes 1,800."""
TWO = ["--trainer.devices", "2", "--trainer.strategy", "ddp", "--trainer.callbacks", "kill.Paced"]


@pytest.fixture
def ended(tmp_path):
    """Begins a run, calls a function with its process once an epoch is kept; gives its exit status and lines."""

    def call(words, how, *, anew=False, **environment):
        case = Case("DRU", 2000, words=words)
        last = tmp_path / "version_0/checkpoints/last.ckpt"
        with process([*case.start(tmp_path), *OWN], tmp_path / "log", pace=0.2, anew=anew, **environment) as running:
            wait_until(last.is_file, running)
            how(running.pid)
            status = running.wait(SECONDS)
            limit = time.monotonic() + SECONDS
            while is_there(running.pid) and time.monotonic() < limit:
                time.sleep(0.05)
            assert not is_there(running.pid), "a process is left"
        said = (tmp_path / "log").read_text()
        assert "Traceback" not in said
        if last.is_file():
            torch.load(last, weights_only=True)
        return status, [line for line in said.splitlines() if line.startswith(("stopped by", "error: "))]

    return call


def second(pid):
    """The process of rank 1, which is the first child."""
    return min(children(pid))


def test_a_signal_to_one_rank_ends_all_processes_with_a_sentence_each(ended, tmp_path):
    """To all of them, and with workers of loaders: ``make test-kill``."""
    status, said = ended(TWO, lambda pid: os.kill(second(pid), signal.SIGTERM))
    assert status == 143
    last = tmp_path / "version_0/checkpoints/last.ckpt"
    assert sorted("(rank 1)" in line for line in said) == [False, True]
    for line in said:
        assert line.startswith("stopped by SIGTERM in epoch ")
        assert line.endswith(f": go on with --ckpt_path {last}")


def test_an_error_on_one_rank_ends_all_with_its_sentence(ended):
    """The other rank is started anew, as outside of tests."""
    words = [*TWO[:-1], "kill.Refused"]
    status, said = ended(words, lambda pid: None, anew=True, REFUSED_RANK="1")
    assert status == 2
    assert said == ["error: rank 1 is refused"]


WITH_WORKERS = ["--data.num_workers", "1", "--trainer.callbacks", "kill.ToWorkers"]


def test_a_worker_of_a_loader_that_is_killed_gives_a_sentence(tmp_path):
    words = [*FIT, *WITH_WORKERS, *OWN, "--trainer.default_root_dir", tmp_path]
    with process(words, tmp_path / "log", WORKERS_GET="SIGKILL") as running:
        assert running.wait(100) == 2
    said = (tmp_path / "log").read_text()
    assert "Traceback" not in said
    assert (
        "which loads rows, was killed, as when memory runs out; give a smaller --data.num_workers"
        in (said.splitlines()[-1])
    )


def test_a_signal_to_a_run_and_to_its_workers_is_a_signal_to_the_run(ended, tmp_path):
    """As schedulers send it; a worker that ends raises an error in the process that reads from it."""
    status, (said,) = ended(WITH_WORKERS, lambda pid: None, WORKERS_GET="SIGTERM", RUN_GETS="SIGTERM")
    assert status == 143
    assert re.match(r"stopped by SIGTERM in epoch \d+: ", said)
    assert said.endswith(f": go on with --ckpt_path {tmp_path}/version_0/checkpoints/last.ckpt")
