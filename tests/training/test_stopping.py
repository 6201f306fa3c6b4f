"""How a process says that it ends; tests/processes/test_stopping.py has the processes."""

import logging

import pytest

from drurank.training.stopping import Stopping


def test_a_sentence_that_an_error_cut_off_is_said_the_next_time_and_once(caplog):
    """As torch raises one where a loader's worker ends, wherever the process is."""
    stopping, raised = Stopping(), []

    def sentence():
        raised.append(1)
        if len(raised) == 1:
            raise RuntimeError("DataLoader worker (pid 3) is killed by signal: Terminated.")
        return "stopped: go on from last.ckpt"

    stopping.will_say(sentence)
    with caplog.at_level(logging.INFO, "lightning.pytorch.utilities.rank_zero"):
        with pytest.raises(RuntimeError):
            stopping.say()
        stopping.say()
        stopping.say()
    assert [record.getMessage() for record in caplog.records] == ["stopped: go on from last.ckpt"]
