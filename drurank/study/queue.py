"""Which candidate is whose: a queue in a database, from which any number of workers take.

Each candidate is a trial of one Optuna study. A worker says every few seconds that it is alive; what a dead one had
goes back into the queue.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
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
RETRIES = 5
"""How often the candidate of a dead worker goes back before it counts as failed: it may be what kills them."""
KEY, REASON = "key", "reason"
NAME = "queue.id"
"""File with the name of the study in the database, which other studies may share."""
PAUSE = 1.0


class Queue:
    """The candidates of a plan that wait, are being run, or are done.

    Args:
        folder: of the study.
        plan: digest of the plan, which has a queue of its own, so that what another one adds or leaves out is not
            taken here.
        storage: address of the database, as Optuna takes it; SQLite in the folder, if not given.
        grace: seconds without a sign of life after which a worker's candidate goes back.

    Attributes:
        owner: name of the folder's study in the database, which other studies may share.
        storage: Optuna's.

    Raises:
        InputError: if the database cannot be reached.
    """

    def __init__(self, folder: Path, plan: str, storage: str | None = None, grace: int = GRACE) -> None:
        import optuna  # here, since it is slow to import

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        folder.mkdir(parents=True, exist_ok=True)
        self._optuna, self._lock = optuna, FileLock(folder / "queue.lock")
        # Two processes that make the tables at once would fight over them.
        with self._lock:
            if not (folder / NAME).is_file():
                (folder / NAME).write_text(f"{folder.resolve().name}-{uuid4().hex[:8]}", encoding="utf-8")
            self.owner = (folder / NAME).read_text(encoding="utf-8")
            url = storage or f"sqlite:///{(folder / 'study.db').resolve()}"
            self.storage, self._study = _opened(url, f"{self.owner}-{plan}", grace)
        self._seen: set[int] = set()

    def put(
        self, candidates: Sequence[Candidate | Draw], again: Callable[[Candidate | Draw, str], bool] | None = None
    ) -> None:
        """Put candidates into the queue that were never in it.

        Args:
            candidates: those of the plan.
            again: whether one that is there, in a state as ``states`` gives it, is put back; none is, if not given.
        """
        with self._lock:
            states = self.states()
            for candidate in candidates:
                state = states.get(candidate.key)
                # Pruned is what was put back and lost on the way.
                if state in (None, "PRUNED") or (again is not None and again(candidate, str(state))):
                    self._add(candidate.key)

    def _add(self, key: str) -> None:
        waiting = self._optuna.trial.TrialState.WAITING
        self._study.add_trial(self._optuna.create_trial(state=waiting, user_attrs={KEY: key}))

    def take(self) -> tuple[int, str] | None:
        """Number of a trial and key of a candidate that waited and is now this worker's; ``None`` if none waits."""
        for trial in self._trials():
            # A worker that died before its first sign of life would never be missed.
            if trial.state.name == "RUNNING" and trial.number not in self._seen:
                self._seen.add(trial.number)
                self.storage.record_heartbeat(trial._trial_id)
        with quiet():
            self._optuna.storages.fail_stale_trials(self._study)
        while any(trial.state.name == "WAITING" for trial in self._trials()):
            with quiet():
                trial = self._study.ask()
            key = trial.user_attrs.get(KEY)
            if key is not None:
                self._seen.add(trial.number)
                self.storage.record_heartbeat(trial._trial_id)
                return trial.number, str(key)
            # Another worker was quicker, and Optuna made one up.
            self._study.tell(trial, state=self._optuna.trial.TrialState.PRUNED)
        return None

    @contextmanager
    def alive(self, number: int) -> Iterator[None]:
        """Say that the worker of a trial is alive, as long as this goes on."""
        from sqlalchemy.exc import SQLAlchemyError

        trial_id, stop = self._study.trials[number]._trial_id, Event()

        def beat() -> None:
            while True:
                # A database that cannot be reached for a moment is no reason to be silent for ever.
                with suppress(SQLAlchemyError):
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
            self._study.tell(number, 0.0, skip_if_finished=True)
            return
        with suppress(self._optuna.exceptions.UpdateFinishedTrialError):
            self.storage.set_trial_user_attr(trial._trial_id, REASON, reason)
        self._study.tell(number, state=self._optuna.trial.TrialState.FAIL, skip_if_finished=True)

    def put_back(self, number: int) -> None:
        """Let another worker have what this one cannot go on with."""
        trial = self._study.trials[number]
        if not trial.state.is_finished():
            self._add(trial.user_attrs[KEY])
            self._study.tell(number, state=self._optuna.trial.TrialState.PRUNED, skip_if_finished=True)

    def states(self) -> dict[str, str]:
        """Key of each candidate to its state by its last trial: WAITING, RUNNING, COMPLETE, FAIL or PRUNED."""
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


def _opened(url: str, name: str, grace: int) -> tuple[Any, Any]:
    """The database, with tables made where it has none, and the study in it."""
    import optuna
    from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback
    from sqlalchemy.exc import SQLAlchemyError

    try:
        with quiet():
            storage = RDBStorage(
                url,
                engine_kwargs={"connect_args": {"timeout": 60}} if url.startswith("sqlite") else None,
                heartbeat_interval=min(HEARTBEAT, max(grace // 3, 1)),
                grace_period=grace,
                heartbeat_stale_trial_callback=RetryHeartbeatStaleTrialCallback(max_retry=RETRIES),
            )
            return storage, optuna.create_study(study_name=name, storage=storage, load_if_exists=True)
    except (SQLAlchemyError, ImportError) as error:
        said = " ".join(str(error).split()).partition("(Background")[0].strip()
        kind = url.partition(":")[0]  # the rest may hold a password
        instead = (
            "where the file is damaged, remove it: what is finished stays so"
            if kind == "sqlite"
            else "give an address as postgresql://user@host/name, of a server that runs, and install its driver "
            "(psycopg for postgresql, mysqlclient for mysql)"
        )
        raise InputError(f"the {kind} database of the study cannot be used: {said}; {instead}") from error
