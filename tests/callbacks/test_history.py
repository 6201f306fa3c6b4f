"""The file of weights of a run that goes on."""

import csv
import tracemalloc

import pytest

from drurank.callbacks.history import COLUMNS, _copy_before
from drurank.errors import InputError


def _write(file, rows):
    with file.open("w", newline="", encoding="utf-8") as lines:
        csv.writer(lines).writerows([COLUMNS, *rows])


def _row(epoch, name):
    return [str(epoch), name, "1", "0.5", "0", "1.0", "1.0"]


def test_rows_of_epochs_that_are_trained_again_go_and_so_does_a_torn_one(tmp_path):
    kept = [_row(0, 'a, "b"'), _row(0, "two\nlines"), _row(1, "é")]
    _write(tmp_path / "old", [*kept, _row(2, "a")])
    with (tmp_path / "old").open("a") as lines:
        lines.write("1,torn,1")
    _copy_before(2, tmp_path / "old", tmp_path / "new")
    with (tmp_path / "new").open(newline="", encoding="utf-8") as lines:
        assert list(csv.reader(lines)) == [list(COLUMNS), *kept]


def test_file_is_not_held_in_memory(tmp_path):
    _write(tmp_path / "old", (_row(0, f"group {number}") for number in range(20_000)))
    tracemalloc.start()
    try:
        _copy_before(1, tmp_path / "old", tmp_path / "new")
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()
    assert (tmp_path / "new").read_bytes() == (tmp_path / "old").read_bytes()


@pytest.mark.parametrize("damage", [b"\xff", "²,a,1,1,1,1,1\r\n".encode()])
def test_damaged_file_is_named(tmp_path, damage):
    _write(tmp_path / "old", [_row(0, "a")])
    with (tmp_path / "old").open("ab") as content:
        content.write(damage)
    with pytest.raises(InputError, match=r"old is damaged: .* move it away"):
        _copy_before(1, tmp_path / "old", tmp_path / "new")
