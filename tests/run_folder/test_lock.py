"""One process at a time writes to a run's folder."""

import os
import signal
import subprocess
import sys

import pytest

from drurank.errors import InputError
from drurank.run_folder import lock
from runs import SMALL

pytestmark = pytest.mark.skipif(lock.fcntl is None, reason="this system has no such lock")
HOLDS = """
import os, sys, time
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from drurank.run_folder.lock import hold
hold(Path(sys.argv[1]), "trains")
if os.fork() == 0:  # as a worker of a loader, which outlives it
    os.close(1)
    time.sleep(60)
print(os.getpid(), flush=True)
time.sleep(60)
"""


@pytest.fixture
def other(tmp_path):
    """Another process that holds a folder, and a child of it that outlives it."""
    words = [sys.executable, "-c", HOLDS, str(tmp_path / "run"), os.getcwd()]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
    yield int(process.stdout.readline())
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_a_folder_is_held_by_one_process_and_free_as_soon_as_that_is_killed(other, tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(InputError, match=rf"{folder} is in use: process {other} on \S+ trains there; wait until"):
        lock.hold(folder, "tests")
    os.kill(other, signal.SIGKILL)
    for _ in range(1000):
        try:
            lock.hold(folder, "tests")
            break
        except InputError:
            continue
    assert (folder / lock.LOCK_FILE).read_text().startswith(f"process {os.getpid()} on ")
    lock.release(folder)
    assert list(folder.iterdir()) == []


def test_what_was_made_for_a_lock_goes_with_it_and_what_was_written_stays(tmp_path):
    lock.hold(tmp_path / "a/b/c", "trains")
    lock.hold(tmp_path / "a/b/c", "trains")  # the same process
    (tmp_path / "a/kept").touch()
    lock.release_all()
    assert [path.name for path in tmp_path.rglob("*")] == ["a", "kept"]
    lock.release(tmp_path / "a")  # held by nobody


HELD = {
    "a resume": (".", lambda run: ["fit", "--ckpt_path", run / "checkpoints/last.ckpt"]),
    "a test": ("test", lambda run: ["test", "--run", run]),
    "a version that is named": ("../named", lambda run: ["fit", "--model", "ERM", *SMALL, *named(run.parent)]),
}


def named(root):
    logger = ["--trainer.logger", "CSVLogger", "--trainer.logger.save_dir", root]
    return [*logger, "--trainer.logger.name", "", "--trainer.logger.version", "named"]


@pytest.fixture(scope="module")
def finished(fit, tmp_path_factory):
    return fit(tmp_path_factory.mktemp("finished"), epochs=1)


@pytest.mark.parametrize("held", HELD)
def test_what_would_write_where_another_process_does_is_refused_and_leaves_all_as_it_was(
    refused, finished, held, monkeypatch
):
    """The lock is of this process, which a fit inside of it would be let in by."""
    place, words = HELD[held]
    folder = finished / place
    with monkeypatch.context() as later:
        lock.hold(folder, "trains")
        later.setattr(lock, "_held", {})
        half = finished / ".config.yaml.17"
        half.touch()
        before = {path: path.stat().st_mtime_ns for path in finished.parent.rglob("*") if path.is_file()}
        said = refused(*words(finished))
        assert f"is in use: process {os.getpid()} on " in said
        assert {path: path.stat().st_mtime_ns for path in finished.parent.rglob("*") if path.is_file()} == before
        half.unlink()
    lock.release(folder)


@pytest.mark.parametrize("kind", ["link", "dangling", "hard link", "pipe", "folder"])
def test_what_is_in_the_place_of_a_lock_is_not_written_to(tmp_path, kind):
    (tmp_path / "run").mkdir()
    diary, place = tmp_path / "diary.txt", tmp_path / "run" / lock.LOCK_FILE
    diary.write_text("dear diary")
    make = {
        "link": lambda: place.symlink_to(diary),
        "dangling": lambda: place.symlink_to(tmp_path / "new"),
        "hard link": lambda: os.link(diary, place),
        "pipe": lambda: os.mkfifo(place),
        "folder": place.mkdir,
    }
    make[kind]()
    with pytest.raises(InputError, match=rf"{place} is a link, or no file, and is not written to; remove it"):
        lock.hold(tmp_path / "run", "trains")
    assert diary.read_text() == "dear diary"
    assert not (tmp_path / "new").exists()
