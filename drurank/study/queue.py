"""Who runs which candidate: a queue in a database, from which any number of workers take.

Each candidate is a trial of one Optuna study. A worker gives a sign of life every few seconds; the candidate of a dead
one goes back into the queue.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any
from uuid import uuid4

from filelock import FileLock

from drurank.errors import InputError
from drurank.study.candidates import Candidate, SearchTrial
from drurank.study.database import (
    HEARTBEAT,
    add_waiting,
    claim,
    database_of,
    errors_of_database,
    opened,
    optuna_installed,
    quiet,
    unusable,
)
from drurank.study.folder import QUEUE_ID_FILE, QUEUE_LOCK

GRACE = 30
"""Seconds without one after which its candidate goes back into the queue."""
SUSPECT = 2
"""Workers that have died with a candidate, from which on it is run alone, so that it takes no others with it."""
KEY, REASON, WORKER, ALONE = "key", "reason", "worker", "alone"
NOTED = {KEY: str, REASON: str, WORKER: str, ALONE: str | None}
"""What a trial notes, and of what kind."""
PAUSE = 1.0


class Queue:
    """The candidates of a plan: waiting, running or done.

    Args:
        folder: of the study.
        plan: digest of the plan; each has a queue of its own, so that no worker takes what only another plan has.
        storage: address of the database, as Optuna takes it; SQLite in the folder, if not given.
        grace: seconds without a sign of life after which a worker's candidate goes back.

    Attributes:
        owner: name of the folder's study in the database, which other studies may share.
        storage: Optuna's.

    Raises:
        InputError: if Optuna is not installed, or the database cannot be reached.
    """

    def __init__(self, folder: Path, plan: str, storage: str | None = None, grace: int = GRACE) -> None:
        optuna = optuna_installed()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        folder.mkdir(parents=True, exist_ok=True)
        self._optuna, self._lock = optuna, FileLock(folder / QUEUE_LOCK)
        # Two processes must not create the tables at the same time.
        with self._lock:
            name = folder / QUEUE_ID_FILE
            if not name.is_file():
                name.write_text(f"{folder.resolve().name}-{uuid4().hex[:8]}", encoding="utf-8")
            try:
                self.owner = name.read_text(encoding="utf-8")
            except ValueError as error:
                raise InputError(f"{name} is damaged; remove it: finished candidates stay finished") from error
            self._url = database_of(folder, storage)
            self.storage, self._study = opened(self._url, f"{self.owner}-{plan}", grace)

    def put(
        self,
        candidates: Sequence[Candidate | SearchTrial],
        again: Callable[[Candidate | SearchTrial, str], bool] | None = None,
    ) -> None:
        """Put those candidates into the queue that were never in it.

        Args:
            candidates: of the plan.
            again: whether to put back a known one, by its state as ``states`` gives it; none is, if not given.
        """
        with self._lock:
            states, lacking = self.states(), list[str]()
            for candidate in candidates:
                state = states.get(candidate.key)
                # A pruned one was put back by a worker that died while it did so.
                if state in (None, "PRUNED") or (again is not None and again(candidate, str(state))):
                    lacking.append(candidate.key)
            self._add(lacking)

    def _add(self, keys: Sequence[str], noted: Mapping[str, Any] | None = None) -> None:
        add_waiting(self.storage, self._study, [{KEY: key} for key in keys], noted or {})

    def take(self) -> tuple[int, str] | None:
        """Take a waiting candidate.

        Returns:
            Number of its trial in the queue, and its key; ``None`` if none waits.
        """
        return next(self.take_each(), None)

    def take_each(self) -> Iterator[tuple[int, str]]:
        """Take the waiting candidates, each as it is asked for; all trials are read once, at the first."""
        me = worker_name(os.getpid())
        with self._lock, quiet():
            self._optuna.storages.fail_stale_trials(self._study)  # and puts them back, see RETRIES
        for trial in self._trials():
            # On SQLite, which locks no row, two workers that ask at the same moment would get the same trial.
            with self._lock:
                taken = trial.state.name == "WAITING" and claim(self.storage, trial._trial_id, {WORKER: me})
            if taken:
                yield trial.number, str(trial.user_attrs[KEY])

    @contextmanager
    def alive(self, numbers: Collection[int]) -> Iterator[None]:
        """Give signs of life of the worker of these trials within this block; a trial that is taken out has none."""
        trials, stop = {number: self._trial_id(number) for number in numbers}, Event()

        def beat() -> None:
            while True:
                for number in [*numbers]:
                    # The database may be out of reach for a moment only.
                    with suppress(*errors_of_database()):
                        self.storage.record_heartbeat(trials[number])
                if stop.wait(self.storage.get_heartbeat_interval()):
                    return

        thread = Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join(HEARTBEAT)  # the database may be out of reach

    def end(self, number: int, reason: str | None = None) -> None:
        """Note that a trial is done, or, with a reason, that it failed."""
        trial = self._trial(number)
        if trial.state.is_finished():
            return  # its worker was taken for dead, and another one has it
        if reason is None:
            self._study.tell(number, 0.0, skip_if_finished=True)
            return
        with suppress(self._optuna.exceptions.UpdateFinishedTrialError):
            self.storage.set_trial_user_attr(trial._trial_id, REASON, reason)
        self._study.tell(number, state=self._optuna.trial.TrialState.FAIL, skip_if_finished=True)

    def note_alone(self, number: int, why: str | None) -> None:
        """Note why a trial that was to train with others trained alone; ``None`` if it did not."""
        with suppress(self._optuna.exceptions.UpdateFinishedTrialError):
            self.storage.set_trial_user_attr(self._trial_id(number), ALONE, why)

    def put_back(self, number: int) -> None:
        """Let another worker take what this one has to leave."""
        trial = self._trial(number)
        if not trial.state.is_finished():
            self._add([trial.user_attrs[KEY]], trial.system_attrs)  # which say how many workers died with it
            self._study.tell(number, state=self._optuna.trial.TrialState.PRUNED, skip_if_finished=True)

    def is_suspect(self, number: int) -> bool:
        """Whether so many workers have died with this candidate that it may be what killed them."""
        history = self._optuna.storages.RetryHeartbeatStaleTrialCallback.retry_history
        with quiet():
            return len(history(self._trial(number))) >= SUSPECT

    def put_back_from(self, workers: Collection[str]) -> None:
        """Let others take what these workers were running when they were killed; see ``worker_name``."""
        for trial in self._trials():
            if trial.state.name == "RUNNING" and trial.user_attrs.get(WORKER) in workers:
                self.put_back(trial.number)

    def states(self) -> dict[str, str]:
        """Key of each candidate to its state by its last trial: WAITING, RUNNING, COMPLETE, FAIL or PRUNED."""
        found: dict[str, str] = {}
        for trial in self._trials():
            found[trial.user_attrs[KEY]] = trial.state.name
        return found

    def reasons(self) -> dict[str, str]:
        """Key of each candidate whose last trial failed to the reason."""
        last = {trial.user_attrs[KEY]: trial for trial in self._trials()}
        return {
            key: str(trial.user_attrs.get(REASON, "its worker died"))
            for key, trial in last.items()
            if trial.state.name == "FAIL"
        }

    def alone(self) -> dict[str, str | None]:
        """Key of each candidate that was to train with others to what ``note_alone`` said of its last trial."""
        return {trial.user_attrs[KEY]: trial.user_attrs[ALONE] for trial in self._trials() if ALONE in trial.user_attrs}

    def count(self) -> Counter[str]:
        """Number of candidates by state."""
        return Counter(self.states().values())

    def wait(self) -> bool:
        """Wait a little while others work; ``False`` when nothing waits or runs any more."""
        counts = self.count()
        if not counts["WAITING"] and not counts["RUNNING"]:
            return False
        time.sleep(PAUSE)
        return True

    def _trial(self, number: int) -> Any:
        """One trial; for ``Study.trials`` Optuna copies all of them."""
        return self.storage.get_trial(self._trial_id(number))

    def _trial_id(self, number: int) -> int:
        return int(self.storage.get_trial_id_from_study_id_trial_number(self._study._study_id, number))

    def _trials(self) -> list[Any]:
        found = [trial for trial in self._study.get_trials(deepcopy=False) if KEY in trial.user_attrs]
        for trial in found:
            for name, kind in NOTED.items():
                value = trial.user_attrs.get(name, "")
                if not isinstance(value, kind):
                    raise unusable(self._url, f"the {name} of candidate {trial.number} is {ascii(value)[:80]}")
        return found


def worker_name(process: int) -> str:
    """What a queue calls the worker of a process on this machine."""
    return f"{os.uname().nodename}-{process}"
