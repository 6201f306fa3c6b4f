"""Work in turns, and what interrupts it."""

import sys
import threading

import pytest

from drurank.stacked.turns import Turn


class Work:
    """Pauses again and again; notes where it was told to end."""

    def __init__(self, between=lambda: None):
        self.turns, self.ended, self.between = 0, None, between
        self.turn = Turn(self)

    def __call__(self):
        sys.stdout = self  # as a fit has an output of its own
        try:
            while True:
                self.turns += 1
                self.between()
                self.turn.pause()
        except BaseException as error:
            self.ended = error
            raise


class Interrupted(threading.Event):
    """An event of which a wait ends by an error, as by a signal's, once another event is set; or it is set itself."""

    def __init__(self, once=None):
        super().__init__()
        self.once = once

    def wait(self, timeout=None):
        super().wait() if self.once is None else self.once.wait()
        raise SystemExit(143)


def test_work_is_done_in_turns_with_globals_of_its_own():
    works, mine = [Work(), Work()], sys.stdout
    for number in (1, 2, 3):
        for work in works:
            work.turn.go_on()
            assert sys.stdout is mine
            assert (work.turns, work.turn.over) == (number, False)
    for work in works:
        work.turn.end(error := KeyboardInterrupt())
        assert work.turn.over
        assert work.ended is work.turn.error is error
    assert sys.stdout is mine


@pytest.mark.parametrize("after", [True, False], ids=["after", "within"])
def test_an_interrupted_turn_ends_the_work_wherever_that_is(after):
    """What waits for a turn that is over already would wait for ever."""
    mine, begun = sys.stdout, threading.Event()

    def look():
        begun.set()
        while not after:
            work.turn.end_if_told()

    work = Work(look)
    work.turn._back = Interrupted(None if after else begun)
    with pytest.raises(SystemExit) as stop:
        work.turn.go_on()
    assert begun.is_set()
    assert work.turn.over
    assert work.ended is stop.value
    assert sys.stdout is mine
    work.turn.end(KeyboardInterrupt())  # it has ended
    assert work.ended is stop.value


def test_work_that_has_not_begun_ends_without_being_done():
    work = Work()
    work.turn.end(KeyboardInterrupt())
    assert (work.turns, work.ended) == (0, None)
