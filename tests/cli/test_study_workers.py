"""Worker processes of a study: how they are told to stop, and which device they see."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import endless_study
from drurank.cli.study_workers import device_of
from drurank.study import Plan
from drurank.study.queue import Queue
from studies import ERM, written


@pytest.fixture
def endless(tmp_path):
    """Starts a study that trains for ever; gives its process and its queue once it trains."""
    path = written(tmp_path / "s.yaml", candidates=ERM, seeds=[0])
    started = []

    def start(*words):
        # A shell's background job ignores interrupts, and so would all that it starts.
        process = subprocess.Popen(
            [sys.executable, endless_study.__file__, str(tmp_path), *words],
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        started.append(process)
        while not (tmp_path / "begun").is_file():
            assert process.poll() is None
            time.sleep(0.02)
        return process, Queue(tmp_path, Plan.read(path).digest)

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    ("to_all", "words"),
    [(False, []), (True, []), (False, ["deaf"]), (False, ["stone"])],
    ids=["first", "all", "deaf", "stone"],
)
def test_a_signal_ends_all_processes_and_fails_no_candidate(endless, tmp_path, stop, to_all, words):
    """Of Ctrl-C the workers get one signal from the terminal and another from the first process."""
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


def test_each_worker_sees_one_of_the_devices(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    assert [device_of(place)["CUDA_VISIBLE_DEVICES"] for place in range(3)] == ["3", "5", "3"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    assert device_of(1) == {}
