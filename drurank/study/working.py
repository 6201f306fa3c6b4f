"""A worker: takes candidates from the queue and runs them, until none is left or a signal tells it to stop."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from drurank.errors import InputError
from drurank.signals import first_of
from drurank.study.calling import LENGTH, Command
from drurank.study.candidates import Candidate, SearchTrial
from drurank.study.folder import folder_of, write_trial
from drurank.study.plan import Plan
from drurank.study.queue import Queue
from drurank.study.runs import run_candidate
from drurank.study.searching import candidate_of, tell
from drurank.terminal import say

LOOK = 0.5
"""Seconds between two looks at whether the first process is there."""
PATIENCE, ASKED = 10, 3
"""Seconds that a worker has to end when it is told to, and how often it is told: see ``StopSignals``."""


class StopSignals:
    """Keeps which signal told this process to stop, and interrupts it only where that does no harm.

    Python runs a handler between any two instructions. An exception that is raised there can be lost, in a finaliser or
    where a library catches everything, or can cut short a transaction with the database, which then raises an error of
    its own. So one is raised only within ``interrupting``, and once more for the next signal should the first be lost.

    Args:
        signals: those that tell the process to stop, from entering to leaving the ``with`` block.

    Attributes:
        status: exit status of the first signal; ``None`` before.
    """

    def __init__(self, *signals: signal.Signals) -> None:
        self.status: int | None = None
        self._signals, self._before, self._interrupts = signals, dict[int, Any](), False

    def __enter__(self) -> StopSignals:
        self._before = {number: signal.signal(number, self._handle) for number in self._signals}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: object) -> None:
        # From a terminal come two; the first decides the status.
        self.status = self.status or 128 + first_of(number)
        if self._interrupts:
            raise SystemExit(self.status)

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Raise ``SystemExit`` in this block as soon as a signal comes, or has come."""
        self._interrupts = True
        try:
            if self.status is not None:
                raise SystemExit(self.status)
            yield
        finally:
            try:
                self._interrupts = False
            finally:
                self._interrupts = False  # a signal may have been raised before the line above

    @contextmanager
    def held(self) -> Iterator[None]:
        """Raise nothing in this block, within an ``interrupting`` one, but right after it if a signal has come."""
        before, self._interrupts = self._interrupts, False
        try:
            yield
        finally:
            self._interrupts = before
        if before and self.status is not None:
            raise SystemExit(self.status)


def end_with_parent() -> None:
    """Have this process be told to stop once the one that started it has ended, however that ended."""
    parent = os.getppid()

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        for _ in range(ASKED):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(PATIENCE)
        os._exit(128 + signal.SIGTERM)

    threading.Thread(target=look, daemon=True, name="drurank-parent").start()


def work(
    queue: Queue,
    study: Path,
    plan: Plan,
    command: Command,
    stop: StopSignals,
    stack_size: int = 1,
    largest: int | None = None,
) -> None:
    """Take candidates and run them until none is left.

    Args:
        queue: of the plan.
        study: folder of the study.
        plan: of the study.
        command: what fits and tests.
        stop: signals that end the work.
        stack_size: how many candidates are taken at once, to be trained together where they are alike.
        largest: most parameters of a network that trains together with others; any number, if not given.

    Raises:
        InputError: if the queue has a candidate of no plan.
        SystemExit: if a signal came; the candidate that was being run is then back in the queue.
    """
    entries = {entry.key: entry for entry in plan.candidates}
    run = partial(run_candidate, study, plan, command=command)
    while stop.status is None:
        taken: dict[int, Candidate | SearchTrial] = {}
        for number, key in queue.take_each():
            if key not in entries:
                raise InputError(
                    f"the database of {study} has the candidate {key!r:.80}, which is not of this plan; if it is "
                    "damaged, remove it: finished candidates stay finished"
                )
            alone = isinstance(entries[key], SearchTrial)  # what it proposes depends on those before it
            if stack_size > 1 and queue.is_suspect(number):
                if taken:
                    queue.put_back(number)  # for the next round, or another worker
                    break
                alone = True
            taken[number] = entries[key]
            if alone or len(taken) == stack_size:
                break
        together = {number: entry for number, entry in taken.items() if isinstance(entry, Candidate)}
        for number in taken.keys() - together.keys() if len(together) > 1 else taken:
            _run_taken(queue, number, study, taken[number], run, stop)
        if len(together) > 1:
            were_alike = run_stack(queue, study, together, run, stop, largest)
            stack_size = stack_size if were_alike else 1  # or others would wait for what this worker holds
        if not taken and not queue.wait():
            return
    raise SystemExit(stop.status)


def _run_taken(
    queue: Queue,
    number: int,
    study: Path,
    entry: Candidate | SearchTrial,
    run: Callable[[Candidate], Mapping[str, Any]],
    stop: StopSignals,
) -> None:
    try:
        with queue.alive([number]):
            candidate = candidate_of(queue, entry)
            if isinstance(entry, SearchTrial):
                write_trial(study, entry, candidate)
            _announce(study, candidate)
            with stop.interrupting():
                manifest = run(candidate)
    except Exception as error:
        if stop.status is not None:  # a library may have turned the interruption into another error
            queue.put_back(number)
            raise SystemExit(stop.status) from error
        _note_failure(queue, number, error)
        tell(queue, entry, None)
    except BaseException:
        # Once there are no more signs of life: of two writers at once SQLite refuses one, however long it would wait.
        queue.put_back(number)
        raise
    else:
        tell(queue, entry, manifest)
        queue.end(number)


def run_stack(
    queue: Queue,
    study: Path,
    taken: Mapping[int, Candidate],
    run: Callable[[Candidate], object],
    stop: StopSignals,
    largest: int | None = None,
) -> bool:
    """Run candidates side by side, each to its end; those that are alike train their epochs together.

    Args:
        queue: of the plan.
        study: folder of the study.
        taken: the candidates, by the numbers of their trials.
        run: fits and tests one.
        stop: signals that end the work.
        largest: most parameters of a network that trains together with others; any number, if not given.

    Returns:
        Whether any of them trained together.

    Raises:
        SystemExit: if a signal came; the candidates that were not finished are then back in the queue.
    """
    from drurank.stacked.engine import Fit, run_together  # here, since torch is slow to import

    left = [*taken]

    def ended(number: int, error: BaseException | None) -> None:
        if error is not None and (stop.status is not None or not isinstance(error, Exception)):
            return  # an interruption, after which it is put back
        with stop.held():
            left.remove(number)
            if error is None:
                if fits[number].member is not None:
                    queue.note_alone(number, fits[number].alone)
                queue.end(number)
            else:
                _note_failure(queue, number, error)

    def begin(candidate: Candidate) -> object:
        _announce(study, candidate)
        return run(candidate)

    # Each holds its folder once it has begun. Two workers that begin some of the same in another order might wait for
    # each other for ever.
    ordered = sorted(taken.items(), key=lambda one: one[1].key)
    fits = {number: Fit(partial(begin, candidate), partial(ended, number), largest) for number, candidate in ordered}
    try:
        with queue.alive(left), stop.interrupting():
            return run_together([*fits.values()])
    except BaseException as error:
        for number in left:
            queue.put_back(number)
        if stop.status is not None:
            raise SystemExit(stop.status) from error
        raise


def _announce(study: Path, candidate: Candidate) -> None:
    say(f"== {candidate.name}: {folder_of(study, candidate)}")
    sys.stdout.flush()


def _note_failure(queue: Queue, number: int, error: BaseException) -> None:
    reason = " ".join(f"{type(error).__name__}: {error}".split())[:LENGTH]
    say(reason)
    sys.stdout.flush()
    queue.end(number, reason)
