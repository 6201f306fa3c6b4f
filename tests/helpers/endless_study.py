"""A study whose only candidate trains for ever without torch, so that it starts at once: FOLDER [KIND] [work].

It writes ``begun`` into the folder as soon as it trains. One that is ``deaf`` loses the first exception that tells it
to stop, and a ``stone`` every one. A ``portable`` one is as where the system tells no process of its parent's end.
"""

import signal
import sys
import time
from pathlib import Path

from drurank.cli import study_workers
from drurank.study import Plan
from drurank.study.queue import Queue
from drurank.study.working import StopSignals, end_with_parent, work

WORK = "work"


def main(words):
    """Be the first process, or a worker."""
    if "portable" in words:
        study_workers.PRCTL = None
    folder, loses = Path(words[0]), 1000 if "stone" in words else 1 if "deaf" in words else 0
    study_workers.PATIENCE = 0.3 if "stone" in words else 2

    def train(words):
        lost = 0
        while True:
            (folder / "begun").touch()
            try:
                time.sleep(0.01)
            except SystemExit:
                lost += 1
                if lost > loses:
                    raise

    plan = Plan.read(folder / "s.yaml")
    with StopSignals(signal.SIGTERM, signal.SIGINT) as stop:
        queue = Queue(folder, plan.digest)
        if WORK in words:
            end_with_parent()
            with stop.interrupting():
                study_workers.wait_to_begin(int(words[-1]), lambda shared: [])
            work(queue, folder, plan, train, stop)
            return
        queue.put(plan.candidates)
        with study_workers.Workers([sys.executable, __file__, *words, WORK], folder / "logs", 1) as workers:
            study_workers.watch(queue, workers, 1, stop)


if __name__ == "__main__":
    main(sys.argv[1:])
