"""Files are written whole, through links, under any name that a file can have, and leave nothing behind."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from drurank import files
from drurank.files import begins_with, replace_file, replace_files, write_json
from runs import read_json


def write(text):
    return lambda path: path.write_text(text)


def test_a_link_is_followed(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/old.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("data/old.csv")
    (tmp_path / "of a link.csv").symlink_to("link.csv")
    (tmp_path / "dangling.csv").symlink_to("data/new.csv")
    replace_file(tmp_path / "of a link.csv", write("one"))
    replace_file(tmp_path / "dangling.csv", write("two"))
    assert all((tmp_path / name).is_symlink() for name in ("link.csv", "of a link.csv", "dangling.csv"))
    assert {file.name: file.read_text() for file in (tmp_path / "data").iterdir()} == {
        "old.csv": "one",
        "new.csv": "two",
    }


def test_a_link_that_leads_to_itself_is_named(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="loop"):
        replace_file(tmp_path / "loop", write(""))
    assert (tmp_path / "loop").is_symlink()


def test_a_pipe_is_written_to_and_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    replace_file(tmp_path / "pipe", write("through"))
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("name", ["x" * 254, "x" * 250 + ".csv", "ü" * 120 + ".json", "a"])
def test_any_name_that_a_file_can_have(tmp_path, name):
    write_json(tmp_path / name, [1])
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert read_json(tmp_path / name) == [1]


KILLED = """
import sys, time
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from drurank.files import replace_file
def write(path):
    path.write_text("half")
    print("half", flush=True)
    time.sleep(60)
replace_file(Path(sys.argv[1]), write)
"""


def test_what_a_killed_process_left_goes_and_what_others_write_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_cleaned", set())
    (tmp_path / ".own.2024").write_text("of the user's")
    (tmp_path / ".1.drurank").mkdir()
    words = [sys.executable, "-c", KILLED, str(tmp_path / "out.csv"), os.path.dirname(os.path.dirname(files.__file__))]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "half\n"
        write_json(tmp_path / "other.json", 1)
        (left,) = set(tmp_path.iterdir()) - {tmp_path / name for name in (".own.2024", ".1.drurank", "other.json")}
        process.send_signal(signal.SIGKILL)
        process.wait()
    files.remove_leftovers(tmp_path)
    assert not left.exists()
    assert {path.name for path in tmp_path.iterdir()} == {".own.2024", ".1.drurank", "other.json"}


def test_the_first_write_into_a_folder_removes_leftovers(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_cleaned", set())
    (tmp_path / ".out.csv.123.drurank").write_text("half")
    write_json(tmp_path / "other.json", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["other.json"]


@pytest.mark.parametrize(
    ("content", "begins"),
    [
        ("a,b\n1,2\n", True),
        ('"a","b"\r\n', True),
        ("a,b", True),
        ("", False),
        ("1,2\na,b\n", False),
        ("a,b,c\n", False),
    ],
)
def test_head_of_a_table(tmp_path, content, begins):
    (tmp_path / "t.csv").write_bytes(content.encode())
    assert begins_with(tmp_path / "t.csv", "a,b") is begins
    assert not begins_with(tmp_path / "none.csv", "a,b")
    assert not begins_with(tmp_path, "a,b")


def test_files_that_belong_together_are_written_all_or_none(tmp_path):
    one, two = tmp_path / "new/one", tmp_path / "new/two"
    replace_files({one: write("1"), two: lambda beside: beside.write_text(f"{one.exists()}")})
    assert (one.read_text(), two.read_text()) == ("1", "False")
    with pytest.raises(OSError, match=r"No space.*two") as error:
        replace_files({one: write("other"), two: full})
    assert error.value.filename == str(two)
    assert (one.read_text(), two.read_text()) == ("1", "False")
    assert len([*one.parent.iterdir()]) == 2


def test_of_files_that_belong_together_none_stays_where_one_cannot_be_put(tmp_path):
    (tmp_path / "two/inner").mkdir(parents=True)
    with pytest.raises(OSError, match="two") as error:
        replace_files({tmp_path / "one": write("1"), tmp_path / "two": write("2"), tmp_path / "three": write("3")})
    assert error.value.filename == str(tmp_path / "two")
    assert [path.name for path in tmp_path.iterdir()] == ["two"]


@pytest.mark.parametrize("stop", range(4))
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")], ids=repr)
def test_files_that_are_replaced_together_are_the_earlier_ones_after_a_stop(tmp_path, monkeypatch, stop, error):
    for name in "acd":
        (tmp_path / name).write_text(f"old {name}")
    done, before = [], held(tmp_path)

    def stopped(method):
        def call(path, *words, **more):
            if len(done) == stop:
                done.append("stopped")
                raise error
            done.append(path)
            return method(path, *words, **more)

        return call

    writers = {tmp_path / name: write(f"new {name}") for name in "abc"}
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", stopped(Path.replace))
        patch.setattr(Path, "unlink", stopped(Path.unlink))
        with pytest.raises(type(error) if isinstance(error, OSError) else error):
            replace_files(writers, removed=[tmp_path / "d", tmp_path / "none"])
    assert "stopped" in done
    assert held(tmp_path) == before
    replace_files(writers, removed=[tmp_path / "d", tmp_path / "none"])
    assert held(tmp_path) == {"a": "new a", "b": "new b", "c": "new c"}


def held(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def full(path):
    raise OSError(28, "No space left on device")
