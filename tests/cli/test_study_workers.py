"""Worker processes of a study: how they are told to stop, and which device they see."""

import os
import re
import signal
import time
from contextlib import ExitStack

import pytest

import endless_study
from drurank.cli.study_workers import device_of
from drurank.study import Plan
from drurank.study.queue import Queue
from runs import ROOT
from studies import ERM, written
from warm import Program


@pytest.fixture
def endless(tmp_path):
    """Starts a study that trains for ever; gives its process and its queue once it trains."""
    path = written(tmp_path / "s.yaml", candidates=ERM, seeds=[0])

    def start(*words):
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        process = stack.enter_context(
            Program([endless_study.__file__, tmp_path, *words], tmp_path / "log", env=environment)
        )
        while not (tmp_path / "begun").is_file():
            assert process.poll() is None
            time.sleep(0.02)
        return process, Queue(tmp_path, Plan.read(path).digest)

    with ExitStack() as stack:
        yield start


@pytest.mark.parametrize(
    ("stop", "to_all", "words"),
    [
        (signal.SIGINT, False, []),
        (signal.SIGTERM, True, []),
        (signal.SIGTERM, False, ["deaf"]),
        (signal.SIGINT, False, ["stone"]),
    ],
    ids=["first", "all", "deaf", "stone"],
)
def test_a_signal_ends_all_processes_and_fails_no_candidate(endless, tmp_path, stop, to_all, words):
    """Of Ctrl-C the workers get one signal from the terminal and another from the first process.

    The other signal to the first, and to all, is sent to a study that trains in test_study.py.
    """
    process, queue = endless(*words)
    if to_all:
        os.killpg(process.pid, stop)
    else:
        process.send_signal(stop)
    assert process.wait(100) == 128 + stop
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)  # the workers are of its group
    assert list(queue.states().values()) == ["WAITING"]


def test_workers_end_with_the_first_process_that_is_killed(endless):
    process, queue = endless("portable")
    process.kill()
    process.wait()
    limit = time.monotonic() + 30
    while time.monotonic() < limit:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.05)
    else:
        raise AssertionError("a worker is left")
    assert list(queue.states().values()) == ["WAITING"]


def cells_of(table):
    """Columns of the last row of a table on the terminal."""
    names, *_, row = [line for line in table.splitlines() if "│" in line or "┃" in line][-2:]
    return dict(zip(*([cell.strip() for cell in re.split("[│┃]", line)[1:-1]] for line in (names, row)), strict=True))


def test_what_a_worker_had_that_is_killed_waits_once_all_have_ended(endless, tmp_path):
    process, queue = endless()
    (trial,) = queue._trials()
    os.kill(int(trial.user_attrs["worker"].rpartition("-")[2]), signal.SIGKILL)
    assert process.wait(100) == 0
    assert list(queue.states().values()) == ["WAITING"]
    shown = cells_of((tmp_path / "log").read_text())
    assert (shown["taken"], shown["waiting"], shown["of"]) == ("0", "1", "1")


def test_each_worker_sees_one_of_the_devices(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    assert [device_of(place)["CUDA_VISIBLE_DEVICES"] for place in range(3)] == ["3", "5", "3"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    assert device_of(1) == {}
