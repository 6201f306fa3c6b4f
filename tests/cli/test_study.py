"""study on the command line: commands, processes and signals."""

import os
import re
import shutil
import signal
import sys
import time
from contextlib import ExitStack, suppress

import pytest

from drurank.cli import main
from drurank.study import Plan, Study, study_table
from drurank.study.queue import Queue
from studies import ERM, finish, manifests, without_times, words_of, written
from warm import Program, children, ended, groups_of, is_there


def test_the_commands_are_listed(capsys):
    for words in (["study"], ["study", "--help"]):
        main(words)
        said = capsys.readouterr().out
        for command in ("run", "table", "concordance", "compare", "export-best", "plot", "report"):
            assert re.search(rf"^  {command} +\w", said, re.MULTILINE)


def test_a_finished_study_is_not_run_again(undisturbed, capfd):
    before = {file: file.stat().st_mtime_ns for file in undisturbed.glob("candidates/*/manifest.json")}
    main(words_of(undisturbed.parent / "s.yaml", undisturbed))
    assert {file: file.stat().st_mtime_ns for file in undisturbed.glob("candidates/*/manifest.json")} == before
    assert "6 of 6 candidates are finished" in capfd.readouterr().out


def test_a_plan_that_is_refused_changes_no_table(undisturbed, tmp_path):
    shutil.copytree(undisturbed, tmp_path / "study")
    before = study_table(Study.load(tmp_path / "study"), "qdcg10").render("csv")
    path = written(tmp_path / "s.yaml", trainer={"max_epochz": 3})
    status, said = ended(["-m", "drurank", *words_of(path, tmp_path / "study")], tmp_path / "log")
    assert status == 2, said
    assert study_table(Study.load(tmp_path / "study"), "qdcg10").render("csv") == before


@pytest.mark.parametrize("command", ["predict", "validate", "test"])
def test_what_is_asked_of_a_checkpoint_of_a_study_writes_nothing_into_it(undisturbed, tmp_path, run, command):
    before = {file: file.stat().st_mtime_ns for file in undisturbed.rglob("*")}
    checkpoint = next(undisturbed.glob("candidates/DRU-*/version_0/checkpoints/worst.ckpt"))
    run(command, "--ckpt_path", checkpoint)
    assert {file: file.stat().st_mtime_ns for file in undisturbed.rglob("*")} == before
    if command != "validate":
        assert (tmp_path / "runs/version_0").is_dir()


def test_a_failed_candidate_is_recorded_with_its_reason_and_stops_no_other(tmp_path):
    rates = {"model": "ERM", "optimizer": "SGD", "model.optimizer.lr": [1e30, 0.01]}
    path = written(tmp_path / "s.yaml", candidates=[rates], seeds=[0], criteria=["worst"])
    finish(path, tmp_path / "study")
    status, said = ended(["-m", "drurank", *words_of(path, tmp_path / "study")], tmp_path / "log")
    assert status == 1, "nothing is left to run"
    failed = "ERM optimizer.lr=1e+30 optimizer=SGD"
    assert "1 of 2 candidates are finished" in said
    assert "--retry_failed" in said
    assert f"failed: {failed}, seed 0: " in said
    assert "nan" in said.rpartition("seed 0: ")[2]
    assert len(manifests(tmp_path / "study")) == 1
    assert f"Not finished: {failed}, seed 0." in study_table(Study.load(tmp_path / "study"), "worst").remarks


def in_process(path, folder, *words):
    """A program that runs a study in processes of its own."""
    return Program(["-m", "drurank", *words_of(path, folder), *words], path.with_suffix(".log"))


def wait_until(happened, process):
    """Wait for what a process that still runs brings about."""
    limit = time.monotonic() + 200
    while not happened():
        assert process.poll() is None
        assert time.monotonic() < limit
        time.sleep(0.05)


def test_killed_in_the_middle_and_run_again_it_is_the_undisturbed_study(undisturbed, tmp_path):
    path, folder = written(tmp_path / "s.yaml"), tmp_path / "study"
    with in_process(path, folder, "--workers", "2", "--grace", "3") as process:
        wait_until(lambda: manifests(folder), process)
        os.killpg(process.pid, signal.SIGKILL)
    killed = manifests(folder)
    assert 1 <= len(killed) < 6
    assert set(finish(path, folder, grace=3).states().values()) == {"COMPLETE"}
    found, should = manifests(folder), manifests(undisturbed)
    assert {key: without_times(m) for key, m in found.items()} == {key: without_times(m) for key, m in should.items()}
    assert {key: found[key] for key in killed} == killed
    one, other = (study_table(Study.load(root), "qdcg10").render("csv") for root in (folder, undisturbed))
    assert one == other


def test_two_started_apart_share_the_work(tmp_path, capsys):
    """One of them is this process, which joins when the other has taken its first."""
    path, folder = (
        written(tmp_path / "s.yaml", candidates=ERM, seeds=[0, 1, 2, 3], criteria=["worst"]),
        tmp_path / "study",
    )
    storage = f"sqlite:///{tmp_path / 'shared.db'}"

    def taken():
        return [key for log in folder.glob("logs/*") for key in re.findall("^== .*/(.*)$", log.read_text(), re.M)]

    with in_process(path, folder, "--storage", storage, "--engine", "single") as process:
        wait_until(taken, process)
        finish(path, folder, storage=storage)
        mine = re.findall("^== .*/(.*)$", capsys.readouterr().out, re.MULTILINE)
        assert process.wait(200) == 0
    assert sorted(mine + taken()) == sorted(manifests(folder))
    assert len(manifests(folder)) == 4
    assert mine


@pytest.fixture
def endless(tmp_path):
    """Gives the process of a study whose only candidate has ended an epoch, the groups of its processes, its queue."""
    groups = set()

    def start(**trainer):
        trainer = {"max_epochs": 5000, "accelerator": "cpu", **trainer}
        path = written(tmp_path / "s.yaml", candidates=ERM, seeds=[0], trainer=trainer)
        process = stack.enter_context(in_process(path, tmp_path / "study"))
        wait_until(lambda: list(tmp_path.glob("study/candidates/*/version_0/checkpoints/last.ckpt")), process)
        groups.update(groups_of(process.pid))
        return process, groups, Queue(tmp_path / "study", Plan.read(path).digest)

    with ExitStack() as stack:
        yield start
    for group in groups:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


@pytest.mark.parametrize(("stop", "to_all"), [(signal.SIGTERM, False), (signal.SIGINT, True)])
def test_a_signal_ends_all_processes_and_fails_no_candidate(endless, tmp_path, stop, to_all):
    """As a job is cancelled, and as Ctrl-C comes from a terminal; see test_study_workers.py for the other two."""
    process, groups, queue = endless()
    if to_all:
        os.killpg(process.pid, stop)
    else:
        process.send_signal(stop)
    assert process.wait(100) == 128 + stop
    assert not any(map(is_there, groups))
    assert list(queue.states().values()) == ["WAITING"]
    said = f"stopped by {stop.name}: 0 of 1 candidates are finished; the same command goes on\n"
    assert (tmp_path / "s.log").read_text().endswith(said)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells a process of its parent's end")
def test_the_processes_of_a_candidate_end_with_a_worker_that_is_killed(endless):
    process, groups, queue = endless(devices=2, strategy="ddp")
    assert len(groups) == 2, "that of the study and that of the candidate"
    (worker,) = children(process.pid)
    os.kill(worker, signal.SIGKILL)
    assert process.wait(100) == 1
    assert list(queue.states().values()) == ["WAITING"]
    limit = time.monotonic() + 100
    while any(map(is_there, groups)) and time.monotonic() < limit:
        time.sleep(0.2)
    assert not any(map(is_there, groups))
