"""The database of a study's queue: Optuna's tables, in SQLite or on a server, and what its errors are called."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from drurank.errors import InputError
from drurank.files import refuse_pipe
from drurank.study.folder import DATABASE_FILE
from drurank.study.schema import refuse_computed

HEARTBEAT = 5
"""Seconds between two signs of life of a worker."""
RETRIES = 5
"""How often the candidate of a dead worker goes back before it counts as failed: it may be what kills them."""
OF_SEVERAL = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
"""Ends a journal of SQLite's that names another file, which SQLite removes once several databases are rolled back."""
OF_ROWS = (ValueError, LookupError, RuntimeError, TypeError, AttributeError)
"""What odd rows make of Optuna and SQLAlchemy: an unknown state, JSON nested too deep, a row that is missing."""


def database_of(folder: Path, storage: str | None) -> str:
    """Address of the database: the given one, or that of SQLite in the study's folder."""
    return storage or f"sqlite:///{(folder / DATABASE_FILE).resolve()}"


def optuna_installed() -> Any:
    """The package ``optuna``.

    Raises:
        InputError: if it is not installed.
    """
    try:
        import optuna  # here, since it is slow to import, and optional
    except ImportError as error:
        raise InputError(
            f"running a study needs a package that is not installed ({error}): pip install 'drurank[study]'"
        ) from error
    return optuna


def import_storage() -> None:
    """Import what the database needs, while another process has work to do: it takes half a second."""
    import_module("alembic.command")
    import_module("optuna.storages._rdb.storage")


@contextmanager
def quiet() -> Iterator[None]:
    """Silence Optuna's warnings about experimental features, and about heartbeats outside its own loop."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(is (an )?experimental|supposed to be used with Study.optimize)")
        yield


def opened(url: str, name: str, grace: int) -> tuple[Any, Any]:
    """The database, its tables created if missing, and Optuna's study in it."""
    import optuna
    from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback
    from sqlalchemy.engine import make_url

    with naming_database(url), quiet():
        refuse_journal_of_several(url)
        options = {"connect_args": {"timeout": 60}} if url.startswith("sqlite") else {}
        if (address := make_url(url)).get_backend_name() == "sqlite":
            refuse_computed(address, options)
        storage = RDBStorage(
            url,
            engine_kwargs=options,
            heartbeat_interval=min(HEARTBEAT, max(grace // 3, 1)),
            grace_period=grace,
            heartbeat_stale_trial_callback=RetryHeartbeatStaleTrialCallback(max_retry=RETRIES),
        )
        return storage, optuna.create_study(study_name=name, storage=storage, load_if_exists=True)


def refuse_journal_of_several(url: str) -> None:
    """Refuse a database of SQLite's with a journal that names a file, as ours never does: SQLite would remove that.

    Args:
        url: of the database, of any kind.

    Raises:
        InputError: naming the journal.
    """
    from sqlalchemy.engine import make_url

    address = make_url(url)
    if address.get_backend_name() != "sqlite" or not address.database:
        return
    for end in ("-journal", "-wal"):
        journal = Path(os.path.realpath(address.database) + end)
        refuse_pipe(journal, "remove it: finished candidates stay finished")
        if journal.is_file() and _end_of(journal, len(OF_SEVERAL)) == OF_SEVERAL:
            raise InputError(
                f"{journal} names another file, which SQLite would remove, as no journal of a study does; remove the "
                "journal, and do not run what else came with it unless you trust it"
            )


def _end_of(file: Path, size: int) -> bytes:
    with file.open("rb") as content:
        content.seek(-min(size, file.stat().st_size), os.SEEK_END)
        return content.read(size)


def add_waiting(storage: Any, study: Any, user_attrs: Sequence[Mapping[str, Any]], noted: Mapping[str, Any]) -> None:
    """Add waiting trials in one transaction: with one for each, as Optuna has it, some hundred take seconds.

    Args:
        storage: Optuna's.
        study: Optuna's.
        user_attrs: those of each trial.
        noted: attributes that Optuna gives to each.
    """
    from optuna.storages._rdb.models import StudyModel, TrialModel, TrialSystemAttributeModel, TrialUserAttributeModel
    from optuna.storages._rdb.storage import _create_scoped_session
    from optuna.trial import TrialState

    if not user_attrs:
        return
    with _create_scoped_session(storage.scoped_session) as session:
        StudyModel.find_or_raise_by_id(study._study_id, session, for_update=True)
        trials = [TrialModel(study_id=study._study_id, state=TrialState.WAITING) for _ in user_attrs]
        session.add_all(trials)
        session.flush()  # From here on nobody else adds any, so that they can be numbered.
        before = trials[0].count_past_trials(session)
        for place, (trial, attrs) in enumerate(zip(trials, user_attrs, strict=True)):
            trial.number = before + place
            every = [(TrialUserAttributeModel, attrs), (TrialSystemAttributeModel, noted)]
            session.add_all(
                model(trial_id=trial.trial_id, key=key, value_json=json.dumps(value))
                for model, values in every
                for key, value in values.items()
            )


def claim(storage: Any, trial: int, user_attrs: Mapping[str, Any]) -> bool:
    """Let a waiting trial run, with a first sign of life, in one transaction; ``False`` if it does not wait any more.

    Args:
        storage: Optuna's.
        trial: its id.
        user_attrs: that it then has too.
    """
    from optuna.storages._rdb.models import TrialHeartbeatModel, TrialModel, TrialUserAttributeModel
    from optuna.storages._rdb.storage import _create_scoped_session
    from optuna.trial import TrialState

    with _create_scoped_session(storage.scoped_session) as session:
        found = TrialModel.find_or_raise_by_id(trial, session, for_update=True)
        if found.state != TrialState.WAITING:
            return False
        found.state, found.datetime_start = TrialState.RUNNING, datetime.now()
        session.add(TrialHeartbeatModel(trial_id=trial))
        session.flush()
        for key, value in user_attrs.items():  # which one that was put back has of before
            storage._set_trial_attr_without_commit(session, TrialUserAttributeModel, trial, key, value)
    return True


def errors_of_database() -> tuple[type[Exception], ...]:
    """What is raised where the database cannot be used: SQLAlchemy's errors, or one of Optuna's in their place."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    return SQLAlchemyError, StorageInternalError


@contextmanager
def naming_database(url: str) -> Iterator[None]:
    """Name the database in an error of using it.

    Raises:
        InputError: in place of one of ``errors_of_database``, its driver, or what its rows hold.
    """
    of_database = errors_of_database()
    known: tuple[type[Exception], ...] = (*of_database, ImportError)
    try:
        yield
    except known as error:
        cause = error.__cause__ if isinstance(error, of_database) else None  # of Optuna's, which names none
        raise unusable(url, str(cause or error)) from error
    except OF_ROWS as error:
        if not _is_of_row(error):
            raise
        raise unusable(url, str(error)) from error


def unusable(url: str, why: str) -> InputError:
    """The error for a database that cannot be used, or whose rows cannot."""
    said = " ".join(why.split()).partition("(Background")[0].strip()
    kind = url.partition(":")[0]  # the rest may hold a password
    where = f" in {Path(url.removeprefix('sqlite:///')).parent}" if kind == "sqlite" else ""
    instead = (
        "if the file is damaged, remove it: finished candidates stay finished"
        if kind == "sqlite"
        else "give the address of a running server, as postgresql://user@host/name, and install its driver "
        "(psycopg for postgresql, mysqlclient for mysql)"
    )
    return InputError(f"the {kind} database of the study{where} cannot be used: {said[:300]}; {instead}")


def _is_of_row(error: Exception) -> bool:
    """Whether what a row holds is not what SQLAlchemy, or Optuna, can read."""
    trace, names = error.__traceback__, list[str]()
    while trace is not None:
        names.append(trace.tb_frame.f_globals.get("__name__", ""))
        trace = trace.tb_next
    return any(name.startswith(("sqlalchemy.", "optuna.storages.")) for name in names)
