"""Squares that are decoded in parallel."""

import threading

import numpy as np
import pytest

from drurank.errors import InputError
from drurank.images import pixels as pixels_module
from drurank.images.pixels import decoded_in_parallel


class Numbered:
    """Squares that hold their row, each decoded once two threads want one."""

    side = 2

    def __init__(self, together=1, broken=None):
        self.meeting, self.broken = threading.Barrier(together), broken

    def square(self, row):
        self.meeting.wait(timeout=20)
        if row == self.broken:
            raise InputError(f"row {row} is broken")
        return np.full((3, 2, 2), row, np.uint8)


def test_squares_come_in_the_order_of_the_rows():
    rows = np.array([9, 2, 7, 4, 5])
    pieces = list(decoded_in_parallel(Numbered(), rows, 2))
    assert [[int(square[0, 0, 0]) for square in piece] for piece in pieces] == [[9, 2], [7, 4], [5]]
    assert list(decoded_in_parallel(Numbered(), rows[:0], 2)) == []


def test_several_are_decoded_at_a_time(monkeypatch):
    monkeypatch.setattr(pixels_module.os, "cpu_count", lambda: 2)
    (piece,) = decoded_in_parallel(Numbered(together=2), np.arange(4), 4)  # each waits for another one
    assert len(piece) == 4


def test_a_broken_one_is_said():
    with pytest.raises(InputError, match="row 4 is broken"):
        list(decoded_in_parallel(Numbered(broken=4), np.arange(6), 2))
