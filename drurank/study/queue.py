"""Which candidate is whose: a queue in a database, from which any number of workers take.

Each candidate is a trial of one Optuna study. A worker says every few seconds that it is alive; what a dead one had
goes back into the queue.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any
from uuid import uuid4

from filelock import FileLock

from drurank.errors import InputError
from drurank.study.candidates import Candidate, Draw

HEARTBEAT = 5
"""Seconds between two signs of life of a worker."""
GRACE = 30
"""Seconds without one after which its candidate goes back into the queue."""
KEY, REASON = "key", "reason"
NAME = "queue.id"
"""File with the name of the study in the database, which other studies may share."""
PAUSE = 1.0


class Queue:
    """The candidates of a study that wait, are being run, or are done.

    Args:
        folder: of the study.
        storage: address of the database, as Optuna takes it; SQLite in the folder, if not given.
        grace: seconds without a sign of life after which a worker's candidate goes back.

    Attributes:
        name: of the study in the database, the same for all that work on the folder.
        storage: Optuna's.

    Raises:
        InputError: if the database cannot be reached.
    """

    def __init__(self, folder: Path, storage: str | None = None, grace: int = GRACE) -> None:
        import optuna  # here, since it is slow to import

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        folder.mkdir(parents=True, exist_ok=True)
        self._optuna, self._lock = optuna, FileLock(folder / "queue.lock")
        # Two processes that make the tables at once would fight over them.
        with self._lock:
            if not (folder / NAME).is_file():
                (folder / NAME).write_text(f"{folder.resolve().name}-{uuid4().hex[:8]}", encoding="utf-8")
            self.name = (folder / NAME).read_text(encoding="utf-8")
            self.storage: Any = _opened(storage or f"sqlite:///{(folder / 'study.db').resolve()}", grace)
            self._study = optuna.create_study(study_name=self.name, storage=self.storage, load_if_exists=True)

    def put(self, candidates: list[Candidate | Draw], *, again: bool = False) -> None:
        """Put candidates into the queue that were never in it.

        Args:
            candidates: those of the plan.
            again: also put back those that failed.
        """
        with self._lock:
            states = self.states()
            for candidate in candidates:
                state = states.get(candidate.key)
                if state is None or (again and state == "FAIL"):
                    self._study.add_trial(
                        self._optuna.create_trial(
                            state=self._optuna.trial.TrialState.WAITING, user_attrs={KEY: candidate.key}
                        )
                    )

    def take(self) -> tuple[int, str] | None:
        """Number of a trial and key of a candidate that waited and is now this worker's; ``None`` if none waits."""
        with quiet():
            self._optuna.storages.fail_stale_trials(self._study)
        while any(trial.state.name == "WAITING" for trial in self._trials()):
            with quiet():
                trial = self._study.ask()
            key = trial.user_attrs.get(KEY)
            if key is not None:
                return trial.number, str(key)
            # Another worker was quicker, and Optuna made one up.
            self._study.tell(trial, state=self._optuna.trial.TrialState.PRUNED)
        return None

    @contextmanager
    def alive(self, number: int) -> Iterator[None]:
        """Say that the worker of a trial is alive, as long as this goes on."""
        trial_id, stop = self._study.trials[number]._trial_id, Event()

        def beat() -> None:
            while True:
                self.storage.record_heartbeat(trial_id)
                if stop.wait(self.storage.get_heartbeat_interval()):
                    return

        thread = Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def end(self, number: int, reason: str | None = None) -> None:
        """Note that a trial is done, or, with a reason, that it failed."""
        trial = self._study.trials[number]
        if trial.state.is_finished():
            return  # its worker was taken for dead, and another one has it
        if reason is None:
            self._study.tell(number, 0.0)
            return
        self.storage.set_trial_user_attr(trial._trial_id, REASON, reason)
        self._study.tell(number, state=self._optuna.trial.TrialState.FAIL)

    def states(self) -> dict[str, str]:
        """Key of each candidate to its state: WAITING, RUNNING, COMPLETE or FAIL, by the last trial of it."""
        found: dict[str, str] = {}
        for trial in self._trials():
            found[trial.user_attrs[KEY]] = trial.state.name
        return found

    def reasons(self) -> dict[str, str]:
        """Key of each candidate whose last trial failed to why it did."""
        last = {trial.user_attrs[KEY]: trial for trial in self._trials()}
        return {
            key: str(trial.user_attrs.get(REASON, "its worker died"))
            for key, trial in last.items()
            if trial.state.name == "FAIL"
        }

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

    def _trials(self) -> list[Any]:
        return [trial for trial in self._study.get_trials(deepcopy=False) if KEY in trial.user_attrs]


@contextmanager
def quiet() -> Iterator[None]:
    """Without Optuna's words on what it calls experimental, and on heartbeats outside its own loop."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(is (an )?experimental|supposed to be used with Study.optimize)")
        yield


def _opened(url: str, grace: int) -> Any:
    """The database, with tables made where it has none."""
    from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback
    from sqlalchemy.exc import SQLAlchemyError

    try:
        with quiet():
            return RDBStorage(
                url,
                engine_kwargs={"connect_args": {"timeout": 60}} if url.startswith("sqlite") else None,
                heartbeat_interval=min(HEARTBEAT, max(grace // 3, 1)),
                grace_period=grace,
                heartbeat_stale_trial_callback=RetryHeartbeatStaleTrialCallback(),
            )
    except (SQLAlchemyError, ImportError) as error:
        said = " ".join(str(error).split()).partition("(Background")[0].strip()
        kind = url.partition(":")[0]  # the rest may hold a password
        raise InputError(
            f"the {kind} database of --storage cannot be used: {said}; give an address as "
            "postgresql://user@host/name, of a server that runs, and install its driver (psycopg for postgresql, "
            "mysqlclient for mysql)"
        ) from error
