"""A signal before a run or the candidates of a study begin ends every command with its status and one sentence."""

import logging
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

import signalled
from drurank import signals
from drurank.signals import EarlySignals, first_in, forget, is_early
from drurank.training.stopping import STOPPING
from runs import QUIET, ROOT, SMALL
from studies import ERM, written
from warm import Program, is_there

NUMBERS = [signal.SIGTERM, signal.SIGINT]


@pytest.fixture(autouse=True)
def heeded():
    """SIGINT is not ignored, as it is where a shell started the tests in the background; programs inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


TABLE = ["--data", "Table", "--data.path", "t.csv", "--data.label", "y", "--data.group", "g", "--data.split", "s"]
READ, BYTES = "drurank.tabular.several:read_table", "drurank.cli.limits:refuse_bytes"
MOMENTS = {
    "fit, imports": ("drurank.cli.training", ["fit", "--model", "DRU", *SMALL, *QUIET]),
    "fit, words": ("drurank.cli:check", ["fit", "--model", "DRU", *SMALL, *QUIET]),
    "fit, table": (READ, ["fit", "--model", "DRU", *TABLE, *QUIET]),
    "fit, checks": ("drurank.cli.group_cli:check_fit", ["fit", "--model", "DRU", *SMALL, *QUIET]),
    "validate, options": ("drurank.cli.training:with_config_of_run", ["validate", "--run", "{run}", *QUIET]),
    "test, checks": ("drurank.cli.group_cli:check_evaluation", ["test", "--run", "{run}", *QUIET]),
    "predict, checks": ("drurank.cli.group_cli:check_evaluation", ["predict", "--run", "{run}", *QUIET]),
    "inspect, imports": ("drurank.cli.inspect", ["inspect", *TABLE]),
    "inspect, table": (READ, ["inspect", *TABLE]),
    "report, table": (
        "drurank.report.predictions:read_checked",
        ["report", "--predictions", "t.csv", "--label", "y", "--prediction", "x", "--group", "g"],
    ),
    "split, table": (READ, ["split", "--path", "t.csv", "--label", "y", "--group", "g", "--output", "o.csv"]),
    "study, check": (signalled.CHECK, ["study", "run", "--config", "s.yaml", "--output", "study"]),
    "study, table": ("drurank.cli.study_shown:study_table", ["study", "table", "--folder", "{study}"]),
}
"""When the signal comes, and the words."""


def told_once(said, number):
    return "Traceback" not in said and [line for line in said.splitlines() if line.startswith("stopped")] == [
        f"stopped by {number.name}"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(("moment", "words"), MOMENTS.values(), ids=MOMENTS)
def test_a_signal_before_anything_is_trained_ends_with_its_status_and_a_sentence(
    done, results, tmp_path, number, moment, words
):
    (tmp_path / "t.csv").write_text("g,y,s,x\n" + "a,0,train,1\nb,1,train,0\nc,0,ood_val,1\n" * 4)
    written(tmp_path / "s.yaml", candidates=ERM, seeds=[0])
    words = [number.name, moment, *(word.format(run=done, study=results) for word in words)]
    with Program([signalled.__file__, *words], tmp_path / "log") as program:
        assert program.wait(60) == 128 + number, (tmp_path / "log").read_text()
        limit = time.monotonic() + 20
        while is_there(program.pid) and time.monotonic() < limit:
            time.sleep(0.05)
        assert not is_there(program.pid), "a process is left"
    assert told_once((tmp_path / "log").read_text(), number)
    left = {path.name for path in tmp_path.iterdir()} - {"t.csv", "s.yaml", "log"}
    assert left == set(), "nothing had begun"


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_while_the_first_modules_are_imported_is_the_same(number):
    words = [sys.executable, signalled.__file__, number.name, "drurank.cli", "fit"]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 128 + number
    assert told_once(done.stderr, number)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("becomes", [ImportError("numpy failed to import"), SystemExit(2), None])
def test_whatever_a_library_makes_of_a_signal_it_decides_the_status(capfd, number, becomes):
    def turned():
        try:
            os.kill(os.getpid(), number)
            time.sleep(1)
        except BaseException as error:
            raise becomes or error from None

    with pytest.raises(SystemExit) as stop, EarlySignals():
        turned()
    assert stop.value.code == 128 + number
    assert told_once(capfd.readouterr().err, number)


ORDERS = [(signal.SIGTERM, signal.SIGINT), (signal.SIGINT, signal.SIGTERM)]


@pytest.mark.parametrize(("first", "second"), ORDERS)
def test_of_two_signals_the_first_decides(capfd, first, second):
    def both():
        try:
            os.kill(os.getpid(), first)
            time.sleep(1)
        finally:
            os.kill(os.getpid(), second)
            time.sleep(0.1)

    with pytest.raises(SystemExit) as stop, EarlySignals():
        both()
    assert stop.value.code == 128 + first
    assert told_once(capfd.readouterr().err, first)


@pytest.mark.parametrize(("first", "second"), ORDERS)
def test_of_two_signals_to_a_run_the_first_decides(caplog, first, second):
    caplog.set_level(logging.INFO, "lightning.pytorch.utilities.rank_zero")
    with suppress(SystemExit, KeyboardInterrupt), EarlySignals():
        STOPPING.begin()
        try:
            with pytest.raises(SystemExit if first == signal.SIGTERM else KeyboardInterrupt):
                os.kill(os.getpid(), first)
            os.kill(os.getpid(), second)  # as the run ends
            time.sleep(0.5)
            assert STOPPING.told == (first == signal.SIGTERM)
        finally:
            STOPPING.end()
    assert caplog.messages == ["stopped by SIGTERM"] * (first == signal.SIGTERM)


@pytest.mark.parametrize("first", [first for first, _ in ORDERS])
def test_once_the_program_ends_the_other_signal_has_nothing_left_to_end(first):
    before = {number: signal.getsignal(number) for number in NUMBERS}
    try:
        with suppress(SystemExit), EarlySignals(ends=True):
            os.kill(os.getpid(), first)
            time.sleep(1)
        expected = {number: signal.SIG_DFL if number == first else signal.SIG_IGN for number in NUMBERS}
        assert {number: signal.getsignal(number) for number in NUMBERS} == expected
        with EarlySignals(ends=True):
            pass
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_signals_are_taken_in_the_order_that_they_came_in():
    for came, first in ((b"\x0f\x02", 15), (b"\x02\x0f", 2), (b"\x11\x0f", 15)):
        with EarlySignals():
            assert first_in(came) == first
    forget()
    assert first_in(b"\x02\x0f") == 15, "whose SIGINT is somebody else's"
    forget()


@pytest.mark.parametrize("lost", [True, False])
def test_a_process_is_ended_late_only_while_the_signal_is_lost(monkeypatch, lost):
    ended = []
    monkeypatch.setattr(signals, "_end", ended.append)
    monkeypatch.setattr(signals, "PATIENCE", 0.3)
    with suppress(SystemExit), EarlySignals():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(1)
        except SystemExit:
            time.sleep(0.6 * lost)
    time.sleep(0.6)
    assert ended == [128 + signal.SIGTERM] * lost


def test_handlers_of_others_stay_and_ours_are_taken_back():
    before = [signal.getsignal(number) for number in NUMBERS]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as of a command that a shell runs in the background
    try:
        with EarlySignals():
            assert is_early(signal.getsignal(signal.SIGTERM))
            assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
            STOPPING.begin()
            assert not is_early(signal.getsignal(signal.SIGTERM)), "a run says where it goes on"
            STOPPING.end()
            assert is_early(signal.getsignal(signal.SIGTERM))
    finally:
        signal.signal(signal.SIGINT, before[1])
    assert [signal.getsignal(number) for number in NUMBERS] == before


@pytest.mark.parametrize("number", NUMBERS)
def test_a_forked_process_ends_as_it_would_by_itself(number):
    with EarlySignals():
        child = os.fork()
        if child == 0:
            with suppress(BaseException):
                os.kill(os.getpid(), number)
                time.sleep(5)
            os._exit(77)
        _, status = os.waitpid(child, 0)
    assert (os.WTERMSIG(status) if number == signal.SIGTERM else os.WEXITSTATUS(status)) == {15: 15, 2: 77}[number]
