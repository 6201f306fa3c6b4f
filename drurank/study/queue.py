"""Which candidate is whose: a queue in a database, from which any number of workers take.

Each candidate is a trial of one Optuna study. A worker says every few seconds that it is alive; what a dead one had
goes back into the queue.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from filelock import FileLock

from drurank.study.plan import Candidate

HEARTBEAT = 5
"""Seconds between two signs of life of a worker."""
GRACE = 30
"""Seconds without one after which its candidate goes back into the queue."""
KEY, REASON = "key", "reason"
PAUSE = 1.0


class Queue:
    """The candidates of a study that wait, are being run, or are done.

    Args:
        folder: of the study.
        storage: address of the database, as Optuna takes it; SQLite in the folder, if not given.
        grace: seconds without a sign of life after which a worker's candidate goes back.
    """

    def __init__(self, folder: Path, storage: str | None = None, grace: int = GRACE) -> None:
        import optuna  # here, since it is slow to import
        from optuna.storages import RDBStorage, RetryFailedTrialCallback

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        folder.mkdir(parents=True, exist_ok=True)
        self._optuna, self._lock = optuna, FileLock(folder / "queue.lock")
        url = storage or f"sqlite:///{(folder / 'study.db').resolve()}"
        # Two processes that make the tables at once would fight over them.
        with self._lock:
            self._storage: Any = RDBStorage(
                url,
                engine_kwargs={"connect_args": {"timeout": 60}} if url.startswith("sqlite") else None,
                heartbeat_interval=min(HEARTBEAT, max(grace // 3, 1)),
                grace_period=grace,
                heartbeat_stale_trial_callback=RetryFailedTrialCallback(),
            )
            self._study = optuna.create_study(
                study_name=folder.resolve().name, storage=self._storage, load_if_exists=True
            )

    def put(self, candidates: list[Candidate], *, again: bool = False) -> None:
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
        self._optuna.storages.fail_stale_trials(self._study)
        while any(trial.state.name == "WAITING" for trial in self._trials()):
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
                self._storage.record_heartbeat(trial_id)
                if stop.wait(self._storage.get_heartbeat_interval()):
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
        states = self._optuna.trial.TrialState
        if reason is not None:
            self._storage.set_trial_user_attr(self._study.trials[number]._trial_id, REASON, reason)
            self._study.tell(number, state=states.FAIL)
            return
        self._study.tell(number, 0.0)

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
