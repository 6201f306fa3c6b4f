"""What is known of a loader's worker that ended, from the error that it left."""

import multiprocessing
import os
import signal
import time

import pytest

from drurank.cli.endings import ending_of
from drurank.errors import InputError
from drurank.training.workers import end_of_worker


class Loader:
    """Reads from a worker as torch's loader does."""

    def __init__(self, worker):
        self._workers = [worker]

    def _try_get_data(self, error):
        raise error


@pytest.fixture
def error_of():
    """Gives the error that reads of a worker raise, which is sent a signal only then."""

    def call(error, number):
        worker = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
        worker.start()
        started.append(worker)
        if number is not None:
            os.kill(worker.pid, number)
        try:
            Loader(worker)._try_get_data(error)
        except (OSError, EOFError) as found:
            return found, worker.pid

    started = []
    yield call
    for worker in started:
        worker.kill()
        worker.join()


@pytest.mark.parametrize("error", [ConnectionResetError("reset"), ConnectionRefusedError("no"), EOFError()])
@pytest.mark.parametrize(
    ("number", "named", "said"),
    [
        (signal.SIGKILL, "Killed", "was killed, as when memory runs out"),
        (signal.SIGSEGV, "Segmentation", "ended with: Segmentation"),
    ],
)
def test_a_connection_that_breaks_before_the_end_is_told_is_of_the_worker(error_of, error, number, named, said):
    found, pid = error_of(error, number)
    died = end_of_worker(found)
    assert (died[1], died[2]) == (str(pid), named)
    ending = ending_of(found)
    assert isinstance(ending, InputError)
    assert str(ending).startswith(f"process {pid}, which loads rows, {said}; give a smaller --data.num_workers")


def test_an_error_of_ones_own_is_left_as_it_is(error_of):
    found, _ = error_of(ConnectionResetError("reset"), None)
    assert end_of_worker(found) is None, "the worker is there"
    assert ending_of(found) is found
    assert end_of_worker(ConnectionResetError("reset")) is None, "nothing was read from a worker"
    assert end_of_worker(error_of(PermissionError("no"), signal.SIGKILL)[0]) is None
