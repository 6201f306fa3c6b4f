"""Commands as the pages of the documentation write them, run in this process."""

import shlex
from pathlib import Path

from drurank.cli import main
from drurank.cli.study_checks import check_plan
from drurank.cli.study_run import SMALL_NETWORK, WORKER
from drurank.cli.study_workers import Workers
from drurank.cli.training import run as train
from drurank.study import Plan
from drurank.study.working import work


def commands(text):
    """The words of each command of a block of the shell."""
    return [shlex.split(line, comments=True) for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def after_program(words):
    """The words of a command of this program after its name; None of other programs."""
    name = next((name for name in ("cli.py", "drurank") if name in words), None)
    return None if name is None else words[words.index(name) + 1 :]


def ended(words):
    """What a command ends with: None where it did not say so."""
    try:
        main(words)
    except SystemExit as end:
        return end.code
    return None


class NoWorkers(Workers):
    """In the place of processes, which take seconds to start: this one checks and runs the candidates."""

    def __init__(self, words, logs, number):
        super().__init__(words, logs, 0)
        self.file, folder, *_, engine, size = words[words.index(WORKER) + 1 :]
        self.folder, self.size, self.largest = Path(folder), int(size), SMALL_NETWORK if engine == "auto" else None

    def check(self, shared):
        return check_plan(self.folder, Plan.read(self.file), shared)


def watch_nobody(queue, workers, number, stop):
    """In the place of ``watch``."""
    work(queue, workers.folder, Plan.read(workers.file), train, stop, workers.size, workers.largest)
