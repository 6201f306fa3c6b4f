"""A worker: what it does with a candidate that fails, and with signals."""

import os
import signal

import pytest

from drurank.errors import InputError
from drurank.study import Plan
from drurank.study.queue import Queue
from drurank.study.working import StopSignals, work
from studies import ERM, written


@pytest.fixture
def queued(tmp_path):
    """Plan of two candidates, and its queue."""
    plan = Plan.read(written(tmp_path / "s.yaml", candidates=ERM))
    queue = Queue(tmp_path / "study", plan.digest)
    queue.put(plan.candidates)
    return plan, queue


def send(number):
    os.kill(os.getpid(), number)


def test_a_signal_raises_only_where_it_may_and_again_should_it_be_lost():
    before = signal.getsignal(signal.SIGTERM)
    with StopSignals(signal.SIGTERM, signal.SIGINT) as stop:
        assert stop.status is None
        with stop.interrupting():
            for number in (signal.SIGTERM, signal.SIGINT):
                with pytest.raises(SystemExit) as first:
                    send(number)
                assert first.value.code == 128 + signal.SIGTERM
        send(signal.SIGINT)  # nothing is interrupted here
        assert stop.status == 128 + signal.SIGTERM
        with pytest.raises(SystemExit), stop.interrupting():
            raise AssertionError("nothing begins after a signal")
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_before_a_candidate_is_taken_ends_the_work(queued, tmp_path):
    plan, queue = queued
    with StopSignals(signal.SIGTERM) as stop:
        send(signal.SIGTERM)
        with pytest.raises(SystemExit) as end:
            work(queue, tmp_path / "study", plan, None, stop)
    assert end.value.code == 128 + signal.SIGTERM
    assert set(queue.states().values()) == {"WAITING"}


@pytest.mark.parametrize("turned_into", [None, RuntimeError, KeyboardInterrupt])
def test_a_candidate_that_a_signal_interrupts_goes_back_whatever_a_library_makes_of_it(queued, tmp_path, turned_into):
    plan, queue = queued

    def train(words):
        try:
            send(signal.SIGINT)
        except SystemExit as error:
            if turned_into is not None:
                raise turned_into("of the library") from error
            raise

    with StopSignals(signal.SIGINT) as stop, pytest.raises((SystemExit, KeyboardInterrupt)):
        work(queue, tmp_path / "study", plan, train, stop)
    assert set(queue.states().values()) == {"WAITING"}
    assert queue.reasons() == {}


def test_a_candidate_that_fails_is_noted_with_its_reason_and_stops_no_other(queued, tmp_path):
    plan, queue = queued
    seeds = []

    def train(words):
        seeds.append(words[words.index("--seed_everything") + 1])
        raise InputError(f"seed {seeds[-1]} is bad\nbecause")

    work(queue, tmp_path / "study", plan, train, StopSignals())
    assert seeds == ["0", "1"]
    assert queue.reasons() == {
        candidate.key: f"InputError: seed {candidate.seed} is bad because" for candidate in plan.candidates
    }
